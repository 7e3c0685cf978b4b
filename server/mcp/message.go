package mcp

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Message is one JSON-RPC 2.0 message. Without an ID it needs no answer: it is a
// notification, or the client's response to a request.
type Message struct {
	ID     []byte // the bytes of the id in the request; nil without one
	Method string
	Params map[string]jsontext.Value // the members of params, unchanged; nil without any
}

// Limits on nested objects and arrays: the limit of a message, and the limit of package
// jsontext.
const (
	maxMessageDepth = 64
	maxReadDepth    = 10_000
)

// Decode reads a message. Its error is an *Error: -32700 if the body is not
// JSON, -32600 if it is not a message (specification, POST /mcp).
func Decode(body []byte) (Message, error) {
	m, err := readMembers(body)
	switch {
	case err == nil:
	case errors.Is(err, jsontext.ErrDuplicateName) && jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true)):
		return Message{}, invalid("a member is given twice")
	case errors.Is(err, errNotObject) && bytes.TrimLeft(body, " \t\r\n")[0] == '[':
		return Message{}, invalid("batches are not supported: send one message in a request")
	case errors.Is(err, errNotObject):
		return Message{}, invalid("a message must be an object")
	case depth(body) < maxReadDepth:
		return Message{}, &Error{Code: CodeParseError, Message: "the body is not one valid JSON value in UTF-8 with nothing after it"}
	}
	if depth(body) > maxMessageDepth {
		return Message{}, invalid("the message is nested too deeply")
	}
	if text, ok := unquote(m.jsonrpc); !ok || text != "2.0" {
		return Message{}, invalid(`jsonrpc must be "2.0"`)
	}
	if m.method == nil {
		return Message{}, m.checkResponse()
	}
	return m.call()
}

// members are the members of a message that have a meaning, as they were sent;
// nil where absent. Other members are allowed.
type members struct {
	jsonrpc, id, method, result, fault jsontext.Value

	hasParams bool
	params    map[string]jsontext.Value // nil if params is not an object
}

// readMembers reads the body strictly: valid UTF-8, no member twice at any
// depth, nothing after it. Its error is errNotObject for any other JSON value.
func readMembers(body []byte) (m members, err error) {
	in := &reader{jsontext.NewDecoder(bytes.NewBuffer(body)), body}
	if in.PeekKind() != jsontext.KindBeginObject {
		if _, err = in.ReadValue(); err == nil {
			if err = in.end(); err == nil {
				err = errNotObject
			}
		}
		return m, err
	}
	err = in.object(func(name string) (err error) {
		switch name {
		case "jsonrpc":
			m.jsonrpc, err = in.value()
		case "id":
			m.id, err = in.value()
		case "method":
			m.method, err = in.value()
		case "params":
			m.hasParams = true
			m.params, err = in.values()
		case "result":
			m.result, err = in.value()
		case "error":
			m.fault, err = in.value()
		default:
			_, err = in.value()
		}
		return err
	})
	if err == nil {
		err = in.end()
	}
	return m, err
}

// call checks a request or a notification.
func (m *members) call() (Message, error) {
	method, ok := unquote(m.method)
	if !ok {
		return Message{}, invalid("method must be a string")
	}
	notification := strings.HasPrefix(method, "notifications/")
	switch {
	case m.id != nil && !isID(m.id):
		return Message{}, errID
	case m.hasParams && m.params == nil:
		return Message{}, invalid("params must be an object, or left out")
	case m.result != nil || m.fault != nil:
		return Message{}, invalid("a message with a method can have neither a result nor an error")
	case m.id != nil && notification:
		return Message{}, invalid("a notification can't have an id")
	case m.id == nil && slices.Contains(methods, method):
		return Message{}, invalid("this method is a request, which must have an id")
	}
	return Message{ID: m.id, Method: method, Params: m.params}, nil
}

// checkResponse checks the client's response to a request. This server sends
// no requests, so a valid response has no effect.
func (m *members) checkResponse() error {
	body := m.result
	if body == nil {
		body = m.fault
	}
	switch {
	case body == nil:
		return invalid("method is required")
	case m.result != nil && m.fault != nil:
		return invalid("a response has a result or an error, not both")
	case body[0] != '{':
		return invalid("a result or an error must be an object")
	case !isID(m.id):
		return errID
	}
	return nil
}

func invalid(message string) error { return &Error{Code: CodeInvalidRequest, Message: message} }

var errID = invalid("id must be a string or an integer")

// isID reports whether a valid JSON value is a string or an integer, of any size.
func isID(value []byte) bool {
	if len(value) == 0 {
		return false
	}
	number := value[0] == '-' || value[0] >= '0' && value[0] <= '9'
	return value[0] == '"' || number && !bytes.ContainsAny(value, ".eE")
}

// unquote reads a JSON string; ok is false for any other value.
func unquote(value []byte) (text string, ok bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	unquoted, err := jsontext.AppendUnquote(nil, value)
	return string(unquoted), err == nil
}

var (
	errNotObject = errors.New("mcp: not an object")
	errTrailing  = errors.New("mcp: more than one value")
)

// reader returns values as slices of the data, because the decoder reuses its
// buffer.
type reader struct {
	*jsontext.Decoder
	data []byte
}

// object reads an object. It calls read at each member's value, which read has
// to read.
func (r *reader) object(read func(name string) error) error {
	if _, err := r.ReadToken(); err != nil {
		return err
	}
	for r.PeekKind() != jsontext.KindEndObject {
		name, err := r.ReadToken()
		if err != nil {
			return err
		}
		if err := read(name.String()); err != nil {
			return err
		}
	}
	_, err := r.ReadToken()
	return err
}

// value reads the next value.
func (r *reader) value() (jsontext.Value, error) {
	value, err := r.ReadValue()
	if err != nil {
		return nil, err
	}
	end := r.InputOffset()
	return r.data[end-int64(len(value)) : end], nil
}

// values reads the members of the next value; nil if it is not an object.
func (r *reader) values() (map[string]jsontext.Value, error) {
	if r.PeekKind() != jsontext.KindBeginObject {
		_, err := r.ReadValue()
		return nil, err
	}
	all := map[string]jsontext.Value{}
	return all, r.object(func(name string) (err error) {
		all[name], err = r.value()
		return err
	})
}

// end checks that nothing follows the value.
func (r *reader) end() error {
	switch _, err := r.ReadToken(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	return errTrailing
}

// depth returns how deeply objects and arrays are nested.
func depth(data []byte) int {
	deepest, level, inString := 0, 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest
}
