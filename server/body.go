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

	"govsvc/server/api"
)

// readBody reads the body of an operation that takes one: of the right media
// type, and no longer than the document allows.
func (x *exchange) readBody(op *route) ([]byte, error) {
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

func (x *exchange) checkMediaType(op *route) error {
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
func (x *exchange) readAll(limit int64) ([]byte, error) {
	if x.r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
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

// bodyGrace is how long the rest of a body is waited for that came with a
// refused request, so that the connection can be used again.
const bodyGrace = time.Second

// leaveBody lets a refused request be answered before its body has come whole:
// a client might send it slowly, to keep its place. Without a valid key the
// connection ends with the answer.
func (x *exchange) leaveBody() {
	switch {
	case x.r.ContentLength == 0:
	case x.caller == nil:
		dropBody(x.w)
	default:
		readUntil(x.w, time.Now().Add(bodyGrace))
	}
}

// dropBody has the connection end with the answer, and the rest of the
// request's body, which would be read before that, be none.
func dropBody(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	readUntil(w, time.Now())
}

func readUntil(w http.ResponseWriter, end time.Time) {
	_ = http.NewResponseController(w).SetReadDeadline(end) // else there is no connection to be kept
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

// bind checks query and body against the document.
func (x *exchange) bind(op *route, body []byte) (api.Input, error) {
	in := api.Input{ID: strings.ToLower(x.r.PathValue("id"))}
	query, err := url.ParseQuery(x.r.URL.RawQuery)
	if err != nil {
		return in, &api.Error{Code: api.InvalidParameter, Message: "the query is not well-formed; escape names and values"}
	}
	if in.Query, err = op.Query(query); err != nil {
		return in, err
	}
	if op.Body == nil || op.BodyOptional && len(body) == 0 {
		return in, nil
	}
	value, faults := op.Body.Decode(body)
	if len(faults) > 0 {
		return in, &faults[0]
	}
	if x.caller.Test {
		value = op.Body.Mark(value, SandboxMarker)
	}
	in.Body, _ = value.(map[string]any) // the document has only objects as bodies
	return in, nil
}
