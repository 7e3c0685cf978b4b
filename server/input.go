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

// readBody reads the body of an operation that takes one: of the right media
// type, and no longer than the document allows.
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

// checkMediaType refuses a body of another type than JSON. Where a body may be
// left out, one of no bytes has no type: clients declare one by habit, as
// `curl -d ""` does.
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

// readAll reads the body, unless it is longer than limit.
func (req *request) readAll(limit int64) ([]byte, error) {
	if req.r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	size := req.r.ContentLength
	if size < 0 { // it is not known
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
		return nil, &api.Error{Code: api.InvalidParameter, Message: "the body did not arrive whole; send it again", Err: err}
	}
	return body, nil
}

// What is left of a body that nobody wants is read for so long, and so far.
const (
	drainTime  = 2 * time.Second
	drainBytes = 8 << 20
)

// drainBody reads what is left of a refused request's body, before it is
// answered. Many clients send everything before they read: closing on unread
// bytes would reset the connection, and they would never learn why they were
// refused. The body of one that sends slowly, to keep its place, is cut off, and
// its connection gives way meanwhile where there is no room.
func (req *request) drainBody() {
	if req.r.ContentLength == 0 || req.r.ProtoMajor > 1 { // HTTP/2 ends a request without its connection
		return
	}
	limitBodyTime(req.w, drainTime)
	sent := req.bodyRead || req.r.Header.Get("Expect") == "" // else the client waits to be told to send it
	if !sent || req.r.ContentLength > drainBytes {           // the latter is in vain
		return
	}
	limit.Yield(req.r.Context(), true)
	if _, err := io.CopyN(io.Discard, req.r.Body, drainBytes); errors.Is(err, io.EOF) {
		limit.Yield(req.r.Context(), false)
	}
}

// ignoreBody has the connection end with the answer, and the rest of a request's
// body, which nobody will read, be none.
func ignoreBody(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	limitBodyTime(w, 0)
}

// limitBodyTime lets the rest of a request's body come for a time.
func limitBodyTime(w http.ResponseWriter, within time.Duration) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(within)) // else there is no connection to be kept
}

var errMediaType = &api.Error{Code: api.UnsupportedMediaType, Message: "send the body as JSON, with the header Content-Type: application/json"}

func tooLarge(limit int64) error {
	return &api.Error{Code: api.PayloadTooLarge, Message: "the body is larger than the " + strconv.FormatInt(limit, 10) + " bytes that this operation takes"}
}

// isJSON tells whether a Content-Type is application/json in UTF-8.
func isJSON(contentType string) bool {
	media, parameters, err := mime.ParseMediaType(contentType)
	charset, given := parameters["charset"]
	return err == nil && media == "application/json" && (!given || strings.EqualFold(charset, "utf-8"))
}

// bindQuery checks the query against the document.
func (req *request) bindQuery(op *route) (openapi.Values, error) {
	query, err := url.ParseQuery(req.r.URL.RawQuery)
	if err != nil {
		return nil, &api.Error{Code: api.InvalidParameter, Message: "the query is not well-formed; escape names and values"}
	}
	values, err := op.Query(query)
	if err != nil && len(query["cursor"]) == 1 && op.Parameter("cursor") != nil {
		err = cursorError(err, query.Get("cursor"))
	}
	return values, err
}

// cursorError turns a fault of a cursor that was given into invalid_cursor: a
// blank one or one with a NUL was not issued either. An empty one stays an
// invalid parameter, as any other empty value (contract, section 2).
func cursorError(err error, cursor string) error {
	if cursor != "" && api.Refusal(err).Param == "cursor" {
		return db.ErrCursor
	}
	return err
}

// bind checks query and body against the document.
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
	value, faults := op.Body.Decode(body)
	if len(faults) > 0 {
		first := faults[0] // the others are not kept
		return in, &first
	}
	if req.caller.Test {
		value = op.Body.Mark(value, SandboxMarker)
	}
	in.Body, _ = value.(map[string]any) // the document has only objects as bodies
	return in, nil
}

// errNoBodyMemory refuses a request whose body found no room for too long.
var errNoBodyMemory = &api.Error{
	Code: api.ServiceUnavailable, Err: limit.ErrNoMemory,
	Message: "too many large bodies of requests are being read; try again in a moment",
}

// What large bodies of requests take in memory.
const (
	// smallBodyBytes is the size in bytes up to which a body needs no reservation.
	smallBodyBytes = 8 << 10
	// readFactor is what a body takes while it is read, in times its size.
	readFactor = 2
	// decodeFactor is what a body takes while it is decoded, in times its size.
	decodeFactor = 24
	// decodingBytes is the default size of Config.Decoding. Two of the largest
	// bodies fit.
	decodingBytes = 40 << 20
)

// reserveBody waits until the process has room for a body of so many bytes. The
// room is held until the response has its own.
func (req *request) reserveBody(size int64) error {
	if size <= smallBodyBytes {
		return nil
	}
	var err error
	req.memory, err = req.server.Responses.Reserve(req.r.Context(), req.budgetOwner(), readFactor*size)
	return asBodyMemory(err)
}

// reserveDecoding waits until the process has room to decode a body. The caller calls
// done when that has ended. Nothing that is reserved for it waits for others.
func (req *request) reserveDecoding(body []byte) (done func(), err error) {
	if len(body) <= smallBodyBytes {
		return func() {}, nil
	}
	room, err := req.server.Decoding.Reserve(req.r.Context(), req.budgetOwner(), decodeFactor*int64(len(body)))
	return room.Release, asBodyMemory(err)
}

func asBodyMemory(err error) error {
	if errors.Is(err, limit.ErrNoMemory) {
		return errNoBodyMemory
	}
	return err
}
