package server

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// message is one JSON-RPC 2.0 message: a request, or what needs no answer and has
// no id: a notification, or a response of the client.
type message struct {
	id     []byte // as it was sent, byte for byte; nil without one
	method string
	params []byte // an object; nil without any
}

// members are those of a message that mean something, as they were sent; nil
// where absent. Others are allowed.
type members struct {
	jsonrpc, id, method, params, result, fault []byte
}

func (m *members) take(name string, value []byte) {
	switch name {
	case "jsonrpc":
		m.jsonrpc = value
	case "id":
		m.id = value
	case "method":
		m.method = value
	case "params":
		m.params = value
	case "result":
		m.result = value
	case "error":
		m.fault = value
	}
}

// Levels of objects and arrays: what a message may have, and what is still
// read.
const (
	maxFrameDepth = 64
	maxReadDepth  = 10_000 // of jsontext
)

// decodeFrame reads a message. Its error is an *rpcError: -32700 where the body
// is not JSON, -32600 where it is no message (specification, POST /mcp).
func decodeFrame(body []byte) (message, error) {
	var m members
	err := eachMember(body, m.take)
	switch {
	case err == nil:
	case errors.Is(err, jsontext.ErrDuplicateName) && jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true)):
		return message{}, invalid("a member is given twice")
	case errors.Is(err, errNoObject) && bytes.TrimLeft(body, " \t\r\n")[0] == '[':
		return message{}, invalid("batches are not taken: send one message in a request")
	case errors.Is(err, errNoObject):
		return message{}, invalid("a message must be an object")
	case depth(body) < maxReadDepth:
		return message{}, &rpcError{code: rpcParseError, message: "the body is not one valid JSON value in UTF-8 with nothing after it"}
	}
	if depth(body) > maxFrameDepth {
		return message{}, invalid("the message is nested too deeply")
	}
	if text, ok := unquoted(m.jsonrpc); !ok || text != "2.0" {
		return message{}, invalid(`jsonrpc must be "2.0"`)
	}
	if m.method == nil {
		return m.response()
	}
	return m.call()
}

// call reads a request or a notification.
func (m *members) call() (message, error) {
	f := message{id: m.id, params: m.params}
	var ok bool
	if f.method, ok = unquoted(m.method); !ok {
		return f, invalid("method must be a string")
	}
	notification := strings.HasPrefix(f.method, "notifications/")
	switch {
	case m.id != nil && !isID(m.id):
		return f, errID
	case m.params != nil && m.params[0] != '{':
		return f, invalid("params must be an object, or left out")
	case m.result != nil || m.fault != nil:
		return f, invalid("a message with a method can have neither a result nor an error")
	case m.id != nil && notification:
		return f, invalid("a notification can't have an id")
	case m.id == nil && methods[f.method] != nil:
		return f, invalid("this method is a request, which must have an id")
	}
	return f, nil
}

// response checks the client's answer to a request that was never made.
func (m *members) response() (message, error) {
	body := m.result
	if body == nil {
		body = m.fault
	}
	switch {
	case body == nil:
		return message{}, invalid("method is required")
	case m.result != nil && m.fault != nil:
		return message{}, invalid("a response has a result or an error, not both")
	case body[0] != '{':
		return message{}, invalid("a result or an error must be an object")
	case !isID(m.id):
		return message{}, errID
	}
	return message{}, nil
}

func invalid(message string) error { return &rpcError{code: rpcInvalidRequest, message: message} }

var errID = invalid("id must be a string or an integer")

// isID tells whether a valid JSON value is a string or an integer, of any size.
func isID(value []byte) bool {
	if len(value) == 0 {
		return false
	}
	number := value[0] == '-' || value[0] >= '0' && value[0] <= '9'
	return value[0] == '"' || number && !bytes.ContainsAny(value, ".eE")
}

// unquoted reads a JSON string; not ok where the value is another.
func unquoted(value []byte) (string, bool) {
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	text, err := jsontext.AppendUnquote(nil, value)
	return string(text), err == nil
}

var errNoObject = errors.New("mcp: not an object")

// eachMember reads a JSON value strictly: valid UTF-8, no member twice at any
// depth, nothing after it. It hands out the members of the object that it has
// to be.
func eachMember(data []byte, take func(name string, value []byte)) error {
	in := jsontext.NewDecoder(bytes.NewBuffer(data))
	if in.PeekKind() != '{' {
		return noObject(in)
	}
	if _, err := in.ReadToken(); err != nil {
		return err
	}
	for in.PeekKind() != '}' {
		name, err := in.ReadToken()
		if err != nil {
			return err
		}
		member := name.String()
		value, err := in.ReadValue()
		if err != nil {
			return err
		}
		// The decoder may use its buffer anew, so the value is cut from the data.
		end := in.InputOffset()
		take(member, data[end-int64(len(value)):end])
	}
	if _, err := in.ReadToken(); err != nil {
		return err
	}
	return atEnd(in)
}

func noObject(in *jsontext.Decoder) error {
	if _, err := in.ReadValue(); err != nil {
		return err
	}
	if err := atEnd(in); err != nil {
		return err
	}
	return errNoObject
}

func atEnd(in *jsontext.Decoder) error {
	switch _, err := in.ReadToken(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	return errors.New("mcp: more than one value")
}

// depth is how deeply objects and arrays are nested at most.
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
