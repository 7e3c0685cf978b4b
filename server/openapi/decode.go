package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits of Decode. They keep the cost of an input in proportion to its length.
const (
	maxDepth  = 32 // levels of objects and arrays
	maxNumber = 64 // characters of a number
)

// Decode parses and validates one JSON value. It allows no text after the value, no
// repeated member, no invalid UTF-8, no NUL character and no infinite number. The value
// consists of map[string]any, []any, string, bool, json.Number and nil. It
// returns all errors, those of the JSON first, then in the order of the schema.
func (s *Schema) Decode(data []byte) (any, []ValidationError) {
	v, errs := s.parse(data)
	if v == nil && errs != nil {
		return nil, errs
	}
	if more := s.validate(v); more != nil {
		errs = append(errs, more...)
	}
	if errs != nil {
		return nil, errs
	}
	return v, nil
}

// Check validates a value that was not decoded from JSON, such as the fields of a
// form. The value consists of the types that Decode returns. Check returns a copy, in
// which integers have no fraction or exponent: 25 instead of 25.0.
func (s *Schema) Check(v any) (any, []ValidationError) {
	c := validator{subject: s.subject}
	v, err := c.copyValue(v, nil, 0)
	if err == nil {
		c.check(s.rule, v, nil)
	}
	if c.errs != nil {
		return nil, c.errs
	}
	return v, nil
}

// copyValue copies a value and records the errors that Decode would find in its JSON.
func (c *validator) copyValue(v any, at *location, depth int) (_ any, err error) {
	switch v := v.(type) {
	case string:
		return c.text(v, at), nil
	case json.Number:
		return c.number(v, at), nil
	case []any:
		if depth == maxDepth {
			return nil, c.tooDeep(at)
		}
		items := make([]any, len(v))
		here := location{parent: at, item: true}
		for i, item := range v {
			here.index = i
			if items[i], err = c.copyValue(item, &here, depth+1); err != nil {
				return nil, err
			}
		}
		return items, nil
	case map[string]any:
		if depth == maxDepth {
			return nil, c.tooDeep(at)
		}
		members := make(map[string]any, len(v))
		here := location{parent: at}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			here.name = name
			if members[name], err = c.copyValue(v[name], &here, depth+1); err != nil {
				return nil, err
			}
		}
		return members, nil
	}
	return v, nil
}

func (c *validator) tooDeep(at *location) error {
	c.addError(at, fmt.Sprintf("must not be nested more than %d levels deep", maxDepth))
	return errStop
}

func (s *Schema) validate(v any) []ValidationError {
	c := validator{subject: s.subject}
	c.check(s.rule, v, nil)
	return c.errs
}

// errStop ends the parsing of a value whose error is recorded already.
var errStop = errors.New("openapi: stop")

// decoder parses a value. It continues after errors that allow it.
type decoder struct {
	validator
	data     []byte
	buf      bytes.Buffer
	in       jsontext.Decoder
	interned internedStrings
	capacity int // expected number of members of the outermost object
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

func (s *Schema) parse(data []byte) (any, []ValidationError) {
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	d.validator = validator{subject: s.subject}
	d.interned, d.capacity = s.interned, len(s.rule.target().properties)
	// The decoder reads a bytes.Buffer in place, without a copy.
	d.data, d.buf = data, *bytes.NewBuffer(data)
	d.in.Reset(&d.buf, jsontext.AllowDuplicateNames(true))
	v, err := d.value(nil, 0)
	if err == nil {
		if _, err := d.in.ReadToken(); !errors.Is(err, io.EOF) {
			d.addError(nil, "must be one JSON value with nothing after it")
			v = nil
		}
	}
	d.data, d.buf = nil, bytes.Buffer{} // the pool must not keep the input
	return v, d.errs
}

func (d *decoder) value(at *location, depth int) (any, error) {
	switch kind := d.in.PeekKind(); kind {
	case '{', '[':
		if depth == maxDepth {
			return nil, d.tooDeep(at)
		}
		if _, err := d.in.ReadToken(); err != nil {
			return nil, d.syntax(at, err)
		}
		if kind == '{' {
			return d.object(at, depth+1)
		}
		return d.array(at, depth+1)
	default:
		raw, err := d.in.ReadValue()
		if err != nil {
			return nil, d.syntax(at, err)
		}
		return d.scalar(raw, at), nil
	}
}

func (d *decoder) scalar(raw []byte, at *location) any {
	switch raw[0] {
	case '"':
		return d.stringValue(raw, at)
	case 'n':
		return nil
	case 't':
		return true
	case 'f':
		return false
	default:
		return d.number(json.Number(raw), at)
	}
}

func (c *validator) number(n json.Number, at *location) any {
	if len(n) > maxNumber {
		c.addError(at, fmt.Sprintf("must be a number of at most %d characters", maxNumber))
		return json.Number("0")
	}
	if _, err := strconv.ParseFloat(string(n), 64); err != nil {
		c.addError(at, "must be a number in the range of a 64-bit float")
		return json.Number("0")
	}
	return n
}

func (c *validator) text(s string, at *location) string {
	if strings.IndexByte(s, 0) >= 0 {
		c.addError(at, "must not contain the NUL character")
	}
	return s
}

// stringValue returns a string in an interface. An interned string needs no
// allocation.
func (d *decoder) stringValue(raw []byte, at *location) any {
	inner := raw[1 : len(raw)-1]
	if word, ok := d.interned[string(inner)]; ok {
		return word
	}
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	unquoted, _ := jsontext.AppendUnquote(nil, raw) // valid: it has been read
	return d.text(string(unquoted), at)
}

func (d *decoder) object(at *location, depth int) (any, error) {
	hint := 0
	if depth == 1 {
		hint = d.capacity
	}
	members := make(map[string]any, hint)
	here := location{parent: at} // one allocation for all members
	for d.in.PeekKind() != '}' {
		raw, err := d.in.ReadValue()
		if err != nil {
			return nil, d.syntax(at, err)
		}
		name := d.stringValue(raw, at).(string)
		here.name = name
		if _, twice := members[name]; twice {
			d.addError(&here, "is given twice")
		}
		v, err := d.value(&here, depth)
		if err != nil {
			return nil, err
		}
		members[name] = v
	}
	if _, err := d.in.ReadToken(); err != nil {
		return nil, d.syntax(at, err)
	}
	return members, nil
}

func (d *decoder) array(at *location, depth int) (any, error) {
	items := []any{}
	here := location{parent: at, item: true}
	for d.in.PeekKind() != ']' {
		here.index = len(items)
		v, err := d.value(&here, depth)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
	if _, err := d.in.ReadToken(); err != nil {
		return nil, d.syntax(at, err)
	}
	return items, nil
}

// syntax records why the input is not JSON. The message contains no part of the input.
func (d *decoder) syntax(at *location, err error) error {
	if at == nil && errors.Is(err, io.EOF) && d.in.InputOffset() == 0 {
		d.addError(nil, "must not be empty")
		return errStop
	}
	var bad *jsontext.SyntacticError
	offset := d.in.InputOffset()
	if errors.As(err, &bad) {
		offset = bad.ByteOffset
	}
	if rest := d.data[min(offset, int64(len(d.data))):]; len(rest) > 0 {
		if r, size := utf8.DecodeRune(rest); r == utf8.RuneError && size == 1 {
			d.addError(at, "must be valid UTF-8")
			return errStop
		}
	}
	d.addError(at, fmt.Sprintf("is not valid JSON (at byte %d of the input)", offset))
	return errStop
}
