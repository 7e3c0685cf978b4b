package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"govsvc/db"
	"govsvc/server/api"
	"govsvc/server/limit"
)

// minCompress is the size in bytes of the smallest body that is compressed. A
// smaller one is sent in one packet with the headers anyway.
const minCompress = 1400

// send sends a success. Reads have a strong ETag, a hash of the bytes, which
// differs between encodings.
func (req *request) send(answer api.Response) {
	if req.read != nil {
		answer = req.read.Response
	} else {
		answer.Body = slices.Clip(answer.Body) // a stored response can be shared
		answer = withNewline(answer)
	}
	h := req.w.Header()
	req.limitHeaders()
	if answer.NextCursor != "" {
		h.Set("X-Next-Cursor", answer.NextCursor)
	}
	if answer.ContentType != "" {
		h.Set("Content-Type", answer.ContentType)
	}
	compressed := len(answer.Body) >= minCompress && acceptsGzip(req.r.Header.Values("Accept-Encoding"))
	if req.read != nil {
		tag := req.read.tag
		if compressed {
			h["ETag"] = []string{`"` + tag + `-gzip"`} // with the spelling of the specification
		} else {
			h["ETag"] = []string{`"` + tag + `"`}
		}
		if matchesTag(req.r.Header.Values("If-None-Match"), tag) {
			h.Del("Content-Type")
			req.w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	body := answer.Body
	if compressed {
		h.Set("Content-Encoding", "gzip")
		if req.read != nil {
			body = req.read.compressed()
		} else {
			body = compress(body)
		}
	}
	size := len(body)
	if req.read != nil && compressed {
		size += len(answer.Body) // which stays in memory as long
	}
	req.memory.Settle(int64(size))
	h.Set("Content-Length", strconv.Itoa(len(body)))
	req.w.WriteHeader(answer.Status)
	req.write(body)
}

// withNewline appends a line feed to a JSON body, for clients that print or
// append it line by line. Entity tag, length and compression include it.
func withNewline(answer api.Response) api.Response {
	if answer.ContentType == api.JSON {
		answer.Body = append(answer.Body, '\n')
	}
	return answer
}

func entityTag(body []byte) string {
	sum := sha256.Sum256(body)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// matchesTag reports whether If-None-Match names the tag of any encoding (RFC
// 9110, section 13.1.2).
func matchesTag(headers []string, tag string) bool {
	for _, header := range headers {
		for _, candidate := range strings.Split(header, ",") {
			candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
			if candidate == "*" || candidate == `"`+tag+`"` || candidate == `"`+tag+`-gzip"` {
				return true
			}
		}
	}
	return false
}

// acceptsGzip reports whether Accept-Encoding has gzip or *, with a weight above
// 0 (RFC 9110, section 12.5.3).
func acceptsGzip(headers []string) bool {
	star := false
	for _, header := range headers {
		for _, part := range strings.Split(header, ",") {
			coding, weight, _ := strings.Cut(part, ";")
			_, q, weighted := strings.Cut(strings.ToLower(strings.TrimSpace(weight)), "q=")
			value, err := strconv.ParseFloat(q, 64)
			wanted := !weighted || err == nil && value > 0
			switch strings.ToLower(strings.TrimSpace(coding)) {
			case "gzip", "x-gzip":
				return wanted
			case "*":
				star = wanted
			}
		}
	}
	return star
}

var compressors = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant
	}
	return w
}}

func compress(body []byte) []byte {
	var out bytes.Buffer
	w := compressors.Get().(*gzip.Writer)
	defer compressors.Put(w)
	w.Reset(&out)
	_, _ = w.Write(body) // a write to a buffer never fails
	_ = w.Close()
	return out.Bytes()
}

func (req *request) write(body []byte) {
	//nolint:gosec // JSON, with its media type and nosniff
	if _, err := req.w.Write(body); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		req.server.Logger.Debug("response not sent", "request_id", req.requestID, "error", err)
	}
}

// errorStatus is the status and the type that an error code is sent with.
type errorStatus struct {
	status    int
	errorType string
}

// errorStatuses is the table of codes, statuses and types (contract, section 2).
var errorStatuses = map[api.Code]errorStatus{
	api.InvalidParameter:     {400, "invalid_request_error"},
	api.InvalidCursor:        {400, "invalid_request_error"},
	api.UnsupportedVersion:   {400, "invalid_request_error"},
	api.MissingCredential:    {401, "authentication_error"},
	api.InvalidAPIKey:        {401, "authentication_error"},
	api.TierRequired:         {403, "permission_error"},
	api.SubscriptionInactive: {403, "permission_error"},
	api.InsufficientScope:    {403, "permission_error"},
	api.OriginNotAllowed:     {403, "permission_error"},
	api.NotFound:             {404, "not_found_error"},
	api.MethodNotAllowed:     {405, "invalid_request_error"},
	api.IdempotencyKeyReused: {409, "idempotency_error"},
	api.IdempotencyInFlight:  {409, "idempotency_error"},
	api.ResourceConflict:     {409, "conflict_error"},
	api.PayloadTooLarge:      {413, "invalid_request_error"},
	api.UnsupportedMediaType: {415, "invalid_request_error"},
	api.RateLimitExceeded:    {429, "rate_limit_error"},
	api.InternalError:        {500, "api_error"},
	api.ServiceUnavailable:   {503, "api_error"},
}

type errorEnvelope struct {
	Error errorBody `json:"error"`
}

type errorBody struct {
	Type      string   `json:"type"`
	Code      api.Code `json:"code"`
	Message   string   `json:"message"`
	Param     string   `json:"param,omitempty"`
	RequestID string   `json:"request_id"`
}

// fail sends the error envelope.
func (req *request) fail(err error) {
	refusal := api.Refusal(err)
	known := errorStatuses[refusal.Code]
	h := req.w.Header()
	switch known.status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	}
	if known.status >= 500 {
		req.logFailure(refusal)
	}
	req.limitHeaders()
	req.drainBody()
	h.Set("Content-Type", api.JSON)
	body, err := api.EncodeJSON(errorEnvelope{errorBody{known.errorType, refusal.Code, refusal.Message, refusal.Param, req.requestID}})
	if err != nil {
		req.server.Logger.Error("error envelope", "error", err)
	}
	req.w.WriteHeader(known.status)
	req.write(append(body, '\n'))
}

// logFailure logs a failure as an error. If the client has left or must wait it
// is a debug message, because any client could fill the log with those.
func (req *request) logFailure(refusal *api.Error) {
	level := slog.LevelError
	if db.Is(refusal, db.Busy) || errors.Is(refusal, limit.ErrNoMemory) || errors.Is(refusal, context.Canceled) && req.r.Context().Err() != nil {
		level = slog.LevelDebug
	}
	key := ""
	if req.caller != nil {
		key = strings.TrimPrefix(req.caller.ActorID, "key:")
	}
	req.server.Logger.Log(req.r.Context(), level, "request failed", "request_id", req.requestID, "key_id", key, "method", req.r.Method, "path", loggedPath(req.r.URL.Path),
		"code", string(refusal.Code), "error", errors.Unwrap(refusal))
}

// errPanic is what the caller sees of a panic, an internal error. The log has
// the details.
var errPanic = errors.New("panic")

// recoverPanics answers a request whose handler panicked with a 500, and logs
// the stack.
func (s *Server) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { //nolint:contextcheck // the context is that of the request
			problem := recover()
			if problem == nil {
				return
			}
			if problem == http.ErrAbortHandler { //nolint:errorlint // a sentinel of net/http, compared as it documents
				panic(problem)
			}
			req := s.begin(w, r)
			s.Logger.Error("panic", "request_id", req.requestID, "panic", problem, "method", r.Method, "path", loggedPath(r.URL.Path), "stack", string(debug.Stack()))
			req.rateLimit = s.anonymous(s.addresses.Peek(req.address, s.addressRate()))
			req.fail(errPanic)
		}()
		next.ServeHTTP(w, r)
	})
}
