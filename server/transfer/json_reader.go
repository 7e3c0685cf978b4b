package transfer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonReader reads one JSON value: an array of records, an envelope of the API or a
// single record. An envelope has a member data, which no record has.
type jsonReader struct {
	in      *jsontext.Decoder
	source  *boundedReader
	step    func() (record []byte, err error) // nil, nil: no record yet
	line    int                               // of the last token
	gap     int                               // bytes before that token, whose lines are counted
	begin   int                               // the line of the outermost object
	members []byte                            // of that object, which may be a record
	data    bool                              // that object is an envelope
}

func newJSONReader(in *bufio.Reader) recordReader {
	limited := &boundedReader{in: in}
	decoder := jsontext.NewDecoder(limited, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	r := &jsonReader{in: decoder, source: limited, line: 1}
	r.step = r.outermost
	return r
}

func (r *jsonReader) next() (int, []byte, error) {
	for {
		record, err := r.step()
		switch {
		case err != nil:
			return r.line, nil, r.refuse(err)
		case len(record) > maxRecord:
			return r.line, nil, tooLong
		case record != nil:
			line := r.line
			r.line += bytes.Count(record, newline)
			return line, record, nil
		}
	}
}

var newline = []byte("\n")

// outermost reads the beginning of the value.
func (r *jsonReader) outermost() ([]byte, error) {
	switch r.peek() {
	case jsontext.KindBeginArray:
		r.step = r.element
	case jsontext.KindBeginObject:
		r.begin, r.step = r.line, r.member
	case jsontext.KindInvalid: // the end or an error, which ReadToken returns
	default:
		return nil, sourceError("the source must contain records, an array of records or an envelope of the API")
	}
	_, err := r.in.ReadToken()
	return nil, err
}

// element reads a record of an array.
func (r *jsonReader) element() ([]byte, error) {
	if r.peek() != jsontext.KindEndArray {
		return r.in.ReadValue()
	}
	if r.step = r.end; r.data {
		r.step = r.member
	}
	_, err := r.in.ReadToken()
	return nil, err
}

// member reads a member of the outermost object.
func (r *jsonReader) member() ([]byte, error) {
	if r.peek() == jsontext.KindEndObject {
		r.step = r.end
		if _, err := r.in.ReadToken(); err != nil || r.data {
			return nil, err
		}
		return r.whole(), nil
	}
	name, err := r.in.ReadValue()
	if err != nil {
		return nil, err
	}
	if string(name) == `"data"` {
		return r.envelope()
	}
	if !r.data {
		r.members = append(append(append(r.members, ','), name...), ':')
	}
	r.peek()
	value, err := r.in.ReadValue()
	if r.line += bytes.Count(value, newline); !r.data {
		r.members = append(r.members, value...)
	}
	if len(r.members) > maxRecord {
		return nil, tooLong
	}
	return nil, err
}

// whole returns the outermost object, which is a record.
func (r *jsonReader) whole() []byte {
	r.line = r.begin
	if len(r.members) == 0 {
		return []byte("{}")
	}
	r.members[0] = '{'
	return append(r.members, '}')
}

// envelope reads the data of an envelope.
func (r *jsonReader) envelope() ([]byte, error) {
	if r.data {
		return nil, sourceError("the envelope has data twice")
	}
	r.data, r.members = true, nil
	switch r.peek() {
	case jsontext.KindBeginArray:
		r.step = r.element
		_, err := r.in.ReadToken()
		return nil, err
	case jsontext.KindBeginObject:
		return r.in.ReadValue()
	case jsontext.KindNull:
		_, err := r.in.ReadToken()
		return nil, err
	case jsontext.KindInvalid:
		_, err := r.in.ReadToken()
		return nil, err
	default:
		return nil, sourceError("data must be a record or an array of records")
	}
}

// end checks that nothing follows the value.
func (r *jsonReader) end() ([]byte, error) {
	r.peek()
	if _, err := r.in.ReadToken(); err != nil {
		return nil, err
	}
	return nil, sourceError("there must be one JSON value with nothing after it; for one record on each line use the format ndjson")
}

// done returns the step after an error that ends the source.
func (r *jsonReader) done() ([]byte, error) { return nil, io.EOF }

// peek moves to the next token, counts lines and allows a value of the maximum
// size. The caller reads that token or value next.
func (r *jsonReader) peek() jsontext.Kind {
	r.source.left = maxRecord + bufferSlack
	kind := r.in.PeekKind()
	unread := r.in.UnreadBuffer()
	r.gap = len(unread) - len(bytes.TrimLeft(unread, space+",:"))
	r.line += bytes.Count(unread[:r.gap], newline)
	return kind
}

// refuse returns the error for the user. It has a line if that differs from the line of
// the record.
func (r *jsonReader) refuse(err error) error {
	bad, syntax := errors.AsType[*jsontext.SyntacticError](err)
	var refused sourceError
	switch {
	case errors.As(err, &refused):
	case syntax && errors.Is(err, io.ErrUnexpectedEOF):
		refused = "the JSON ends before its last array or object does"
	case syntax:
		refused = "the record is not valid JSON"
		unread := r.in.UnreadBuffer()
		if at := int(bad.ByteOffset - r.in.InputOffset()); at > r.gap && at <= len(unread) {
			if lines := bytes.Count(unread[r.gap:at], newline); lines > 0 {
				refused += sourceError(fmt.Sprintf(" (on line %d)", r.line+lines))
			}
		}
	default:
		return err
	}
	r.step = r.done
	return refused + sourceError(notRead)
}

const notRead = "; what follows was not read"

// bufferSlack is what a decoder may read beyond a value.
const bufferSlack = 64 << 10

// boundedReader limits the size of a value.
type boundedReader struct {
	in   io.Reader
	left int
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, tooLong
	}
	n, err := b.in.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
