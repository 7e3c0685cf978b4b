package server

import (
	"context"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"govsvc/server/metrics"
)

// responseRecorder is the writer of an answer that metrics or the access log want to
// know of.
type responseRecorder struct {
	http.ResponseWriter
	started   time.Time
	status    int // 0: nothing was sent
	bytes     int64
	operation string // of the API, "" where the request reached none
	requestID string
	keyID     string // of a valid key
	address   string // of the client
}

// WriteHeader notes the status of the answer.
func (o *responseRecorder) WriteHeader(status int) {
	if o.status < http.StatusOK { // informational ones come before it
		o.status = status
	}
	o.ResponseWriter.WriteHeader(status)
}

func (o *responseRecorder) Write(p []byte) (int, error) {
	if o.status < http.StatusOK {
		o.status = http.StatusOK
	}
	n, err := o.ResponseWriter.Write(p)
	o.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController and package net/http find what they know.
func (o *responseRecorder) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// netWriter is the writer of net/http itself, which learns by its own methods that a
// body was too large.
func (req *request) netWriter() http.ResponseWriter {
	if req.recorder != nil {
		return req.recorder.ResponseWriter
	}
	return req.w
}

// observe answers a request and tells of it.
func (s *Server) observe(w http.ResponseWriter, r *http.Request) {
	o := &responseRecorder{ResponseWriter: w, started: time.Now()}
	defer s.logRequest(o, r) // also of one that is cut off
	s.handler.ServeHTTP(o, r)
}

func (s *Server) logRequest(o *responseRecorder, r *http.Request) {
	took := time.Since(o.started)
	s.Metrics.Operation(metricName(o, r)).Done(o.status, took)
	if !s.AccessLog {
		return
	}
	if r.Method == http.MethodHead {
		o.bytes = 0 // net/http takes the body and sends none
	}
	if o.address == "" {
		o.address = Proxies(s.TrustedProxies).ClientAddress(r)
	}
	fields := []slog.Attr{
		slog.String("method", r.Method), slog.String("path", loggedPath(r.URL.Path)), slog.Int("status", o.status),
		slog.Int64("bytes", o.bytes), slog.Duration("duration", took), slog.String("address", o.address),
	}
	for _, field := range []struct{ name, value string }{{"operation", o.operation}, {"request_id", o.requestID}, {"key_id", o.keyID}} {
		if field.value != "" {
			fields = append(fields, slog.String(field.name, field.value))
		}
	}
	s.Logger.LogAttrs(context.WithoutCancel(r.Context()), slog.LevelInfo, "request", fields...)
}

// metricName is the name that a request is counted under.
func metricName(o *responseRecorder, r *http.Request) string {
	switch path := r.URL.Path; {
	case o.operation != "":
		return o.operation
	case path == Base || strings.HasPrefix(path, Base+"/"):
		return metrics.None
	case path == "/healthz" || path == "/readyz":
		return metrics.Health
	}
	return metrics.Page
}

// maxLoggedPath bounds what a log line has of a path, in bytes.
const maxLoggedPath = 200

// secretInPath is a key or signing secret that somebody put into a path, with all
// that follows.
var secretInPath = regexp.MustCompile(`(?s)((?:gds|gov)_(?:live|test)_|whsec_).+`)

// loggedPath is a path for the log. A query is never part of it: it may hold what
// is secret.
func loggedPath(path string) string {
	path = secretInPath.ReplaceAllString(path, "$1…")
	if len(path) <= maxLoggedPath {
		return path
	}
	cut := maxLoggedPath
	for cut > 0 && !utf8.RuneStart(path[cut]) {
		cut--
	}
	return path[:cut] + "…"
}
