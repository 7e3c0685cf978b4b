package server

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"govsvc/db"
	"govsvc/server/api"
	"govsvc/server/limit"
	"govsvc/server/openapi"
)

// readBody reads the body of an operation that takes one. It checks the media
// type and the size that the document allows.
func (req *request) readBody(op *route) ([]byte, error) {
	if op.Body == nil {
		return nil, nil
	}
	if err := req.checkMediaType(op); err != nil {
		return nil, err
	}
	body, err := req.readAll(op.MaxBody)
	if err == nil && len(body) > 0 && req.r.Header.Get("Content-Type") == "" {
		return nil, errMediaType
	}
	return body, err
}

// checkMediaType refuses a body that is not JSON. If the body is optional, the
// type of an empty one is ignored, because `curl -d ""` and others declare one.
func (req *request) checkMediaType(op *route) error {
	if op.BodyOptional && req.r.ContentLength == 0 {
		return nil
	}
	declared := req.r.Header.Get("Content-Type")
	if (declared != "" || !op.BodyOptional) && !isJSON(declared) {
		return errMediaType
	}
	if encoding := req.r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return &api.Error{Code: api.UnsupportedMediaType, Message: "the body must not be compressed; leave Content-Encoding out"}
	}
	return nil
}

// readAll reads the body, and refuses one longer than limit.
func (req *request) readAll(limit int64) ([]byte, error) {
	if req.r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	size := req.r.ContentLength
	if size < 0 { // unknown
		size = limit
	}
	if err := req.reserveBody(size); err != nil {
		return nil, err
	}
	req.bodyRead = true
	body, err := io.ReadAll(http.MaxBytesReader(req.netWriter(), req.r.Body, limit))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return nil, tooLarge(limit)
	case err != nil:
		return nil, &api.Error{Code: api.InvalidParameter, Message: "the body is incomplete; send the request again", Err: err}
	}
	return body, nil
}

// Limits on reading the rest of a refused request's body.
const (
	drainTime  = 2 * time.Second
	drainBytes = 8 << 20
)

// drainBody reads the rest of a refused request's body before the response is
// sent. Many clients send everything before they read: to close a connection
// with unread bytes resets it, and the client never sees the response. A client
// that sends slowly is cut off. Until then its connection may be closed to make
// room for others.
func (req *request) drainBody() {
	if req.r.ContentLength == 0 || req.r.ProtoMajor > 1 { // HTTP/2 can end one request of a connection
		return
	}
	limitBodyTime(req.w, drainTime)
	// with Expect the client sends the body only after 100 Continue
	sent := req.bodyRead || req.r.Header.Get("Expect") == ""
	if !sent || req.r.ContentLength > drainBytes {
		return
	}
	limit.Yield(req.r.Context(), true)
	if _, err := io.CopyN(io.Discard, req.r.Body, drainBytes); errors.Is(err, io.EOF) {
		limit.Yield(req.r.Context(), false)
	}
}

// ignoreBody closes the connection after the response instead of reading the
// request's body.
func ignoreBody(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	limitBodyTime(w, 0)
}

// limitBodyTime sets the time within which the rest of a request's body must
// arrive.
func limitBodyTime(w http.ResponseWriter, within time.Duration) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(within)) // it fails only without a connection
}

var errMediaType = &api.Error{Code: api.UnsupportedMediaType, Message: "send the body as JSON, with the header Content-Type: application/json"}

func tooLarge(limit int64) error {
	return &api.Error{Code: api.PayloadTooLarge, Message: "the body is larger than the limit of this operation, " + strconv.FormatInt(limit, 10) + " bytes; send less at once"}
}

// isJSON reports whether a Content-Type is application/json in UTF-8.
func isJSON(contentType string) bool {
	media, parameters, err := mime.ParseMediaType(contentType)
	charset, given := parameters["charset"]
	return err == nil && media == "application/json" && (!given || strings.EqualFold(charset, "utf-8"))
}

// bindQuery parses the query and validates it against the document.
func (req *request) bindQuery(op *route) (openapi.Values, error) {
	query, err := url.ParseQuery(req.r.URL.RawQuery)
	if err != nil {
		return nil, &api.Error{Code: api.InvalidParameter, Message: "the query is malformed; percent-encode names and values"}
	}
	values, err := op.Query(query)
	if err != nil && len(query["cursor"]) == 1 && op.Parameter("cursor") != nil {
		err = cursorError(err, query.Get("cursor"))
	}
	return values, err
}

// cursorError turns a validation error of a cursor into invalid_cursor: a blank
// cursor or one with a NUL was not issued either. An empty one stays an
// invalid_parameter, as any other empty value (contract, section 2).
func cursorError(err error, cursor string) error {
	if cursor != "" && api.Refusal(err).Param == "cursor" {
		return db.ErrCursor
	}
	return err
}

// bind decodes the query and the body and validates them against the document.
func (req *request) bind(op *route, body []byte) (api.Input, error) {
	in := api.Input{ID: strings.ToLower(req.r.PathValue("id"))}
	var err error
	if in.Query, err = req.bindQuery(op); err != nil {
		return in, err
	}
	if op.Body == nil || op.BodyOptional && len(body) == 0 {
		return in, nil
	}
	done, err := req.reserveDecoding(body)
	if err != nil {
		return in, err
	}
	defer done()
	value, invalid := op.Body.Decode(body)
	if len(invalid) > 0 {
		first := invalid[0] // a copy, so that the others can be freed
		return in, &first
	}
	if req.caller.Test {
		value = op.Body.Mark(value, SandboxMarker)
	}
	in.Body, _ = value.(map[string]any) // every body in the document is an object
	return in, nil
}

// errNoBodyMemory refuses a request that waited too long for memory for its body.
var errNoBodyMemory = &api.Error{
	Code: api.ServiceUnavailable, Err: limit.ErrNoMemory,
	Message: "the service is reading too many large request bodies; try again in a moment",
}

// The memory that large request bodies take.
const (
	// smallBodyBytes is the size in bytes up to which a body needs no reservation.
	smallBodyBytes = 8 << 10
	// readFactor is the memory of a body while it is read, as a multiple of its size.
	readFactor = 2
	// decodeFactor is the memory of a body while it is decoded, as a multiple of its size.
	decodeFactor = 24
	// decodingBytes is the default size of Config.Decoding. Two of the largest
	// bodies fit.
	decodingBytes = 40 << 20
)

// reserveBody waits for memory for a body of that many bytes. The reservation
// lasts until the response is reserved.
func (req *request) reserveBody(size int64) error {
	if size <= smallBodyBytes {
		return nil
	}
	var err error
	req.memory, err = req.server.Responses.Reserve(req.r.Context(), req.budgetOwner(), readFactor*size)
	return asBodyMemory(err)
}

// reserveDecoding waits for memory to decode a body. The caller calls done after
// decoding, and must wait for nothing else before that.
func (req *request) reserveDecoding(body []byte) (done func(), err error) {
	if len(body) <= smallBodyBytes {
		return func() {}, nil
	}
	memory, err := req.server.Decoding.Reserve(req.r.Context(), req.budgetOwner(), decodeFactor*int64(len(body)))
	return memory.Release, asBodyMemory(err)
}

// asBodyMemory turns limit.ErrNoMemory into the refusal that the caller sees.
func asBodyMemory(err error) error {
	if errors.Is(err, limit.ErrNoMemory) {
		return errNoBodyMemory
	}
	return err
}
