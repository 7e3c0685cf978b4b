package transfer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// values reads one JSON value: an array of records, an API envelope whose data
// is records or a record, or a single record. Which of the objects it is shows
// at a member data, which no record has.
type values struct {
	in      *jsontext.Decoder
	bound   *bound
	step    func() (record []byte, err error) // nil, nil: no record yet
	line    int                               // of what was peeked at or read last
	gap     int                               // bytes before it, counted already
	begin   int                               // the line of the outermost object
	members []byte                            // of that object, if it may be a record
	data    bool                              // it is an envelope
}

func readValue(in *bufio.Reader) reader {
	limited := &bound{in: in}
	decoder := jsontext.NewDecoder(limited, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	v := &values{in: decoder, bound: limited, line: 1}
	v.step = v.outermost
	return v
}

func (v *values) next() (int, []byte, error) {
	for {
		record, err := v.step()
		switch {
		case err != nil:
			return v.line, nil, v.refuse(err)
		case len(record) > maxRecord:
			return v.line, nil, tooLong
		case record != nil:
			line := v.line
			v.line += bytes.Count(record, newline)
			return line, record, nil
		}
	}
}

var newline = []byte("\n")

// outermost reads the beginning of the value.
func (v *values) outermost() ([]byte, error) {
	switch v.peek() {
	case jsontext.KindBeginArray:
		v.step = v.element
	case jsontext.KindBeginObject:
		v.begin, v.step = v.line, v.member
	case jsontext.KindInvalid: // the end or an error, which is told below
	default:
		return nil, refusal("the source must hold records, an array of records or an envelope of the API")
	}
	_, err := v.in.ReadToken()
	return nil, err
}

// element reads a record of an array.
func (v *values) element() ([]byte, error) {
	if v.peek() != jsontext.KindEndArray {
		return v.in.ReadValue()
	}
	if v.step = v.end; v.data {
		v.step = v.member
	}
	_, err := v.in.ReadToken()
	return nil, err
}

// member reads a member of the outermost object.
func (v *values) member() ([]byte, error) {
	if v.peek() == jsontext.KindEndObject {
		v.step = v.end
		if _, err := v.in.ReadToken(); err != nil || v.data {
			return nil, err
		}
		return v.whole(), nil
	}
	name, err := v.in.ReadValue()
	if err != nil {
		return nil, err
	}
	if string(name) == `"data"` {
		return v.envelope()
	}
	if !v.data {
		v.members = append(append(append(v.members, ','), name...), ':')
	}
	v.peek()
	value, err := v.in.ReadValue()
	if v.line += bytes.Count(value, newline); !v.data {
		v.members = append(v.members, value...)
	}
	if len(v.members) > maxRecord {
		return nil, tooLong
	}
	return nil, err
}

// whole is the outermost object as a record: it has turned out to be one.
func (v *values) whole() []byte {
	v.line = v.begin
	if len(v.members) == 0 {
		return []byte("{}")
	}
	v.members[0] = '{'
	return append(v.members, '}')
}

// envelope reads what the API's envelopes hold.
func (v *values) envelope() ([]byte, error) {
	if v.data {
		return nil, refusal("the envelope has data twice")
	}
	v.data, v.members = true, nil
	switch v.peek() {
	case jsontext.KindBeginArray:
		v.step = v.element
		_, err := v.in.ReadToken()
		return nil, err
	case jsontext.KindBeginObject:
		return v.in.ReadValue()
	case jsontext.KindNull:
		_, err := v.in.ReadToken()
		return nil, err
	case jsontext.KindInvalid:
		_, err := v.in.ReadToken()
		return nil, err
	default:
		return nil, refusal("data must be a record or an array of records")
	}
}

// end makes sure that the value was the only one.
func (v *values) end() ([]byte, error) {
	v.peek()
	if _, err := v.in.ReadToken(); err != nil {
		return nil, err
	}
	return nil, refusal("there must be one JSON value with nothing after it; for one record a line use the format ndjson")
}

// over follows what can't be read on from.
func (v *values) over() ([]byte, error) { return nil, io.EOF }

// peek goes to the next token, counting lines, and lets a value of the largest
// size be read. Each call is followed by the reading of that token or value.
func (v *values) peek() jsontext.Kind {
	v.bound.left = maxRecord + bufferSlack
	kind := v.in.PeekKind()
	unread := v.in.UnreadBuffer()
	v.gap = len(unread) - len(bytes.TrimLeft(unread, space+",:"))
	v.line += bytes.Count(unread[:v.gap], newline)
	return kind
}

// refuse says what is wrong, and where if it isn't where the record starts.
func (v *values) refuse(err error) error {
	bad, syntax := errors.AsType[*jsontext.SyntacticError](err)
	var refused refusal
	switch {
	case errors.As(err, &refused):
	case syntax && errors.Is(err, io.ErrUnexpectedEOF):
		refused = "the JSON ends before its last array or object does"
	case syntax:
		refused = "the record is not valid JSON"
		unread := v.in.UnreadBuffer()
		if at := int(bad.ByteOffset - v.in.InputOffset()); at > v.gap && at <= len(unread) {
			if lines := bytes.Count(unread[v.gap:at], newline); lines > 0 {
				refused += refusal(fmt.Sprintf(" (on line %d)", v.line+lines))
			}
		}
	default:
		return err
	}
	v.step = v.over
	return refused + refusal(notRead)
}

const notRead = "; what follows was not read"

// bufferSlack is room for what a decoder reads ahead.
const bufferSlack = 64 << 10

// bound ends the reading of a value that does not fit into memory.
type bound struct {
	in   io.Reader
	left int
}

func (b *bound) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, tooLong
	}
	n, err := b.in.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
