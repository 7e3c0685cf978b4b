package mcp

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"govsvc/server/api"
)

// Error codes of JSON-RPC 2.0 (its section 5.1).
const (
	CodeParseError     = -32700
	CodeInvalidRequest = -32600
	CodeUnknownMethod  = -32601
	CodeInvalidParams  = -32602
)

// Error is an error of JSON-RPC. Its message is for the caller and repeats
// nothing of the input.
type Error struct {
	Code    int
	Message string
	Reason  api.Code // sent as data.code; "" if Code says it all
	Param   string   // sent as data.param; "" if no parameter is at fault
}

func (e *Error) Error() string { return strconv.Itoa(e.Code) + ": " + e.Message }

// NewError gives a refusal of the API the form of JSON-RPC.
func NewError(code int, refusal *api.Error) *Error {
	return &Error{Code: code, Message: refusal.Message, Reason: refusal.Code, Param: refusal.Param}
}

// BadParam returns the error for a parameter of a method.
func BadParam(param, message string) *Error {
	return &Error{Code: CodeInvalidParams, Message: message, Reason: api.InvalidParameter, Param: param}
}

// Response returns the response with the error to the request of that id; nil is
// a request whose id is not known.
func (e *Error) Response(id []byte) []byte {
	b := append(appendStart(nil, id), `,"error":{"code":`...)
	b = strconv.AppendInt(b, int64(e.Code), 10)
	b = appendString(append(b, `,"message":`...), e.Message)
	if e.Reason != "" {
		b = appendString(append(b, `,"data":{"code":`...), string(e.Reason))
		if e.Param != "" {
			b = appendString(append(b, `,"param":`...), e.Param)
		}
		b = append(b, '}')
	}
	return append(b, "}}"...)
}

// ToolResult returns the result of tools/call with an envelope of the API, as
// structured content and as text.
func ToolResult(envelope []byte) []byte {
	b := make([]byte, 0, 2*len(envelope)+len(envelope)/2+128)
	b = append(b, `{"content":[{"type":"text","text":`...)
	b = append(appendString(b, envelope), `}],"structuredContent":`...)
	return append(append(b, envelope...), '}')
}

// ToolFailure returns the result of tools/call with an error for the model to
// read. It has no structured content, which would have to match the tool's
// output schema.
func ToolFailure(text string) []byte {
	b := append([]byte(nil), `{"content":[{"type":"text","text":`...)
	return append(appendString(b, text), `}],"isError":true}`...)
}

// response returns the response with a result, given as JSON.
func response(id, result []byte) []byte {
	b := make([]byte, 0, len(id)+len(result)+48)
	b = append(appendStart(b, id), `,"result":`...)
	return append(append(b, result...), '}')
}

// appendStart appends the start of a response. The id is sent back byte for
// byte; nil is null.
func appendStart(b, id []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	if id == nil {
		return append(b, "null"...)
	}
	return append(b, id...)
}

// appendString appends a JSON string.
func appendString[text ~string | ~[]byte](b []byte, s text) []byte {
	b, _ = jsontext.AppendQuote(b, s) // invalid UTF-8 is replaced; there is none here
	return b
}
