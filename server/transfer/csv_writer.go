package transfer

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"govsvc/db/resource"
	"govsvc/server/openapi"
)

// reasonMember is a member of risks that is imported and not exported, because it
// belongs to one change.
const reasonMember = "severity_change_reason"

// csvWriter encodes the rows of a type's CSV.
type csvWriter struct {
	names   []string
	columns []*column
	index   map[string]int   // of the columns; -1 for a member without one
	values  []jsontext.Value // of the present record, by column
	line    []byte
	guarded bool // every formula gets a guard; see SheetWriter
}

// newCSVWriter returns a writer of the included members; nil includes all.
func newCSVWriter(document *openapi.Document, object string, included func(member string) bool) *csvWriter {
	of := &resourceSchema{Resource: resource.Find(object), schema: document.Record(object)}
	names := slices.DeleteFunc(Columns(document, object), func(name string) bool { return name == reasonMember })
	r := &csvWriter{index: map[string]int{}}
	for _, name := range names {
		r.index[name] = -1
		if included == nil || included(name) {
			r.index[name] = len(r.names)
			r.names, r.columns = append(r.names, name), append(r.columns, of.column(name))
		}
	}
	r.values = make([]jsontext.Value, len(r.names))
	return r
}

// encode returns the row of a record. It is valid until the next call.
func (r *csvWriter) encode(record []byte) ([]byte, error) {
	for i := range r.values {
		r.values[i] = r.values[i][:0]
	}
	decoder := jsontext.NewDecoder(bytes.NewBuffer(record))
	_, err := decoder.ReadToken()
	for err == nil && decoder.PeekKind() == jsontext.KindString {
		var name jsontext.Token
		if name, err = decoder.ReadToken(); err != nil {
			break
		}
		place, known := r.index[name.String()]
		if !known {
			return nil, fmt.Errorf("no column for the member %s", name.String())
		}
		var value jsontext.Value
		value, err = decoder.ReadValue()
		if place < 0 {
			continue
		}
		r.values[place] = append(r.values[place][:0], value...)
	}
	r.line = r.line[:0]
	for i, value := range r.values {
		if i > 0 {
			r.line = append(r.line, ',')
		}
		if len(value) > 0 {
			r.line = r.columns[i].appendCell(r.line, value, r.guarded)
		}
	}
	r.line = append(r.line, '\n')
	return r.line, err
}

// appendCell appends the cell of a member's value, valid JSON.
func (c *column) appendCell(to []byte, value jsontext.Value, guarded bool) []byte {
	text := []byte(value)
	switch value.Kind() {
	case jsontext.KindNull:
		return to
	case jsontext.KindString:
		text, _ = jsontext.AppendUnquote(nil, value) // valid
		if len(text) == 0 {
			return append(to, `""`...)
		}
		text = addGuard(text, guarded)
	case jsontext.KindBeginArray:
		if joined, ok := joinTexts(value); ok && c.isTextArray {
			text = addGuard(joined, guarded)
		}
	default: // as in JSON
	}
	return appendQuoted(to, text)
}

// joinTexts joins the texts of an array, unless Import would read others.
func joinTexts(value jsontext.Value) (joined []byte, ok bool) {
	decoder := jsontext.NewDecoder(bytes.NewReader(value))
	_, _ = decoder.ReadToken()
	for n := 0; decoder.PeekKind() == jsontext.KindString; n++ {
		token, err := decoder.ReadToken()
		if err != nil {
			return nil, false
		}
		text := token.String()
		if text == "" || strings.TrimSpace(text) != text || strings.Contains(text, ";") || n == 0 && text[0] == '[' {
			return nil, false
		}
		if n > 0 {
			joined = append(joined, ';')
		}
		joined = append(joined, text...)
	}
	return joined, len(joined) > 0 && decoder.PeekKind() == jsontext.KindEndArray
}

// appendQuoted appends a text, in quotation marks if it needs them (RFC 4180).
func appendQuoted(to, text []byte) []byte {
	if !bytes.ContainsAny(text, ",\"\r\n") && bytes.Equal(text, bytes.TrimSpace(text)) {
		return append(to, text...)
	}
	to = append(to, '"')
	for _, b := range text {
		if b == '"' {
			to = append(to, '"')
		}
		to = append(to, b)
	}
	return append(to, '"')
}
