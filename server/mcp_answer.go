package server

import (
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"govsvc/server/api"
)

// Codes of JSON-RPC 2.0 (its section 5.1).
const (
	rpcParseError     = -32700
	rpcInvalidRequest = -32600
	rpcUnknownMethod  = -32601
	rpcInvalidParams  = -32602
)

// rpcError is an error of JSON-RPC. Its message is for the caller and repeats
// nothing of the input.
type rpcError struct {
	code    int
	message string
	kind    api.Code // sent as data.code; "" where JSON-RPC's code says it all
	param   string   // sent as data.param; "" where none is at fault
}

func (e *rpcError) Error() string { return strconv.Itoa(e.code) + ": " + e.message }

func asRPC(code int, refusal *api.Error) *rpcError {
	return &rpcError{code: code, message: refusal.Message, kind: refusal.Code, param: refusal.Param}
}

// appendTo appends the error and the end of the response.
func (e *rpcError) appendTo(b []byte) []byte {
	b = append(b, `,"error":{"code":`...)
	b = strconv.AppendInt(b, int64(e.code), 10)
	b = appendText(append(b, `,"message":`...), e.message)
	if e.kind != "" {
		b = appendText(append(b, `,"data":{"code":`...), string(e.kind))
		if e.param != "" {
			b = appendText(append(b, `,"param":`...), e.param)
		}
		b = append(b, '}')
	}
	return append(b, "}}"...)
}

// appendStart appends the start of a response to the request of that id, which
// goes back byte for byte; null without one.
func appendStart(b, id []byte) []byte {
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	if id == nil {
		return append(b, "null"...)
	}
	return append(b, id...)
}

// appendText appends a JSON string.
func appendText[text ~string | ~[]byte](b []byte, s text) []byte {
	b, _ = jsontext.AppendQuote(b, s) // invalid UTF-8 is replaced; there is none here
	return b
}

// errorAnswer answers a request that was read but can't be done.
func errorAnswer(id []byte, refusal *rpcError) api.Answer {
	return jsonAnswer(http.StatusOK, refusal.appendTo(appendStart(nil, id)))
}

// resultAnswer answers a request with a result, given as JSON.
func resultAnswer(id, result []byte) api.Answer {
	b := make([]byte, 0, len(id)+len(result)+48)
	b = append(appendStart(b, id), `,"result":`...)
	return jsonAnswer(http.StatusOK, append(append(b, result...), '}'))
}

// structuredResult is the result of tools/call with an envelope, as structured
// content and as text.
func structuredResult(envelope []byte) []byte {
	b := make([]byte, 0, 2*len(envelope)+len(envelope)/2+128)
	b = append(b, `{"content":[{"type":"text","text":`...)
	b = append(appendText(b, envelope), `}],"structuredContent":`...)
	return append(append(b, envelope...), '}')
}

// failedAnswer answers tools/call with an error of the tool, for a model to
// read. It has no structured content, since that would have to meet the tool's
// output schema.
func failedAnswer(id []byte, text string) api.Answer {
	b := append(appendStart(nil, id), `,"result":{"content":[{"type":"text","text":`...)
	return jsonAnswer(http.StatusOK, append(appendText(b, text), `}],"isError":true}}`...))
}
