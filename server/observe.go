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

// responseRecorder records a response for the metrics and the access log.
type responseRecorder struct {
	http.ResponseWriter
	started   time.Time
	status    int // 0: nothing was sent
	bytes     int64
	operation string // of the API; "" if the request reached none
	requestID string
	keyID     string // of a valid key
	address   string // of the client
}

// WriteHeader records the status of the response.
func (o *responseRecorder) WriteHeader(status int) {
	if o.status < http.StatusOK { // informational statuses come before the final one
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

// Unwrap returns the writer of net/http for http.ResponseController.
func (o *responseRecorder) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// netWriter returns the writer of net/http itself. http.MaxBytesReader needs it
// to close the connection after a body that is too large.
func (req *request) netWriter() http.ResponseWriter {
	if req.recorder != nil {
		return req.recorder.ResponseWriter
	}
	return req.w
}

// observe answers a request, counts it and logs it.
func (s *Server) observe(w http.ResponseWriter, r *http.Request) {
	o := &responseRecorder{ResponseWriter: w, started: time.Now()}
	defer s.logRequest(o, r) // also of a request that is aborted
	s.handler.ServeHTTP(o, r)
}

// logRequest adds a request to the metrics and the access log.
func (s *Server) logRequest(o *responseRecorder, r *http.Request) {
	took := time.Since(o.started)
	s.Metrics.Operation(metricName(o, r)).Done(o.status, took)
	if !s.AccessLog {
		return
	}
	if r.Method == http.MethodHead {
		o.bytes = 0 // net/http discards the body
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

// metricName returns the name that a request is counted under.
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

// maxLoggedPath is the maximum length of a path in the log in bytes.
const maxLoggedPath = 200

// secretInPath matches a key or signing secret that was put into a path by
// mistake, and all that follows it.
var secretInPath = regexp.MustCompile(`(?s)((?:gds|gov)_(?:live|test)_|whsec_).+`)

// loggedPath returns a path for the log, without secrets. The query is never
// logged, because it may hold secrets, too.
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
