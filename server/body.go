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
func (x *request) readBody(op *route) ([]byte, error) {
	if op.Body == nil {
		return nil, nil
	}
	if err := x.checkMediaType(op); err != nil {
		return nil, err
	}
	body, err := x.readAll(op.MaxBody)
	if err == nil && len(body) > 0 && x.r.Header.Get("Content-Type") == "" {
		return nil, errMediaType
	}
	return body, err
}

// checkMediaType refuses a body of another type than JSON. Where a body may be
// left out, one of no bytes has no type: clients declare one by habit, as
// `curl -d ""` does.
func (x *request) checkMediaType(op *route) error {
	if op.BodyOptional && x.r.ContentLength == 0 {
		return nil
	}
	declared := x.r.Header.Get("Content-Type")
	if (declared != "" || !op.BodyOptional) && !isJSON(declared) {
		return errMediaType
	}
	if encoding := x.r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return &api.Error{Code: api.UnsupportedMediaType, Message: "the body must not be compressed; leave Content-Encoding out"}
	}
	return nil
}

// readAll reads the body, unless it is longer than limit.
func (x *request) readAll(limit int64) ([]byte, error) {
	if x.r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	size := x.r.ContentLength
	if size < 0 { // it is not known
		size = limit
	}
	if err := x.reserveBody(size); err != nil {
		return nil, err
	}
	x.fetched = true
	body, err := io.ReadAll(http.MaxBytesReader(x.bare(), x.r.Body, limit))
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
	bodyGrace     = 2 * time.Second
	bodyGraceSize = 8 << 20
)

// leaveBody reads what is left of a refused request's body, before it is
// answered. Many clients send everything before they read: closing on unread
// bytes would reset the connection, and they would never learn why they were
// refused. The body of one that sends slowly, to keep its place, is cut off, and
// its connection gives way meanwhile where there is no room.
func (x *request) leaveBody() {
	if x.r.ContentLength == 0 || x.r.ProtoMajor > 1 { // HTTP/2 ends a request without its connection
		return
	}
	endBody(x.w, bodyGrace)
	sent := x.fetched || x.r.Header.Get("Expect") == "" // else the client waits to be told to send it
	if !sent || x.r.ContentLength > bodyGraceSize {     // the latter is in vain
		return
	}
	limit.Yield(x.r.Context(), true)
	if _, err := io.CopyN(io.Discard, x.r.Body, bodyGraceSize); errors.Is(err, io.EOF) {
		limit.Yield(x.r.Context(), false)
	}
}

// dropBody has the connection end with the answer, and the rest of a request's
// body, which nobody will read, be none.
func dropBody(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	endBody(w, 0)
}

// endBody lets the rest of a request's body come for a time.
func endBody(w http.ResponseWriter, within time.Duration) {
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
func (x *request) bindQuery(op *route) (openapi.Values, error) {
	query, err := url.ParseQuery(x.r.URL.RawQuery)
	if err != nil {
		return nil, &api.Error{Code: api.InvalidParameter, Message: "the query is not well-formed; escape names and values"}
	}
	values, err := op.Query(query)
	if err != nil && len(query["cursor"]) == 1 && op.Parameter("cursor") != nil {
		err = cursorFault(err, query.Get("cursor"))
	}
	return values, err
}

// cursorFault turns a fault of a cursor that was given into invalid_cursor: a
// blank one or one with a NUL was not issued either. An empty one stays an
// invalid parameter, as any other empty value (contract, section 2).
func cursorFault(err error, cursor string) error {
	if cursor != "" && api.Refusal(err).Param == "cursor" {
		return db.ErrCursor
	}
	return err
}

// bind checks query and body against the document.
func (x *request) bind(op *route, body []byte) (api.Input, error) {
	in := api.Input{ID: strings.ToLower(x.r.PathValue("id"))}
	var err error
	if in.Query, err = x.bindQuery(op); err != nil {
		return in, err
	}
	if op.Body == nil || op.BodyOptional && len(body) == 0 {
		return in, nil
	}
	done, err := x.decoding(body)
	if err != nil {
		return in, err
	}
	defer done()
	value, faults := op.Body.Decode(body)
	if len(faults) > 0 {
		first := faults[0] // the others are not kept
		return in, &first
	}
	if x.caller.Test {
		value = op.Body.Mark(value, SandboxMarker)
	}
	in.Body, _ = value.(map[string]any) // the document has only objects as bodies
	return in, nil
}
