package listener

import (
	"context"
	"crypto/tls"
	"errors"
	"log"
	"log/slog"
	"net/http"
	"time"
)

// Bounds on what one connection can hold.
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = 60 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 32 << 10 // beyond it, 431
	maxStreams        = 100      // requests at once on a connection of HTTP/2
	streamTimeout     = 30 * time.Second
)

// shutdownTimeout is how long running requests may continue after the context of
// Serve has ended.
const shutdownTimeout = 20 * time.Second

// Service is a handler that also works between requests. Run finishes that
// work and returns when its context ends.
type Service interface {
	http.Handler
	Run(ctx context.Context) error
}

// Serve serves connections until ctx ends. Then running requests end before the
// service's own work does, so that the work can store what they leave. Without
// secure it serves plain HTTP.
func Serve(ctx context.Context, l *Listener, secure *tls.Config, s Service, logger *slog.Logger) error {
	w := newWarnings(logger)
	defer w.start()() //nolint:contextcheck // it counts until the process ends
	web := &http.Server{
		Handler:           connectionHandler{s},
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams, WriteByteTimeout: streamTimeout},
		ErrorLog:          log.New(w, "", 0),
		// The service answers OPTIONS * like any other request.
		DisableGeneralOptionsHandler: true,
	}
	working, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	worked, served := make(chan error, 1), make(chan error, 1)
	go func() { worked <- s.Run(working) }()
	go func() { served <- l.serve(web, secure, refusalOf(s, secure != nil), w) }() //nolint:contextcheck // it ends with its listener

	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
		logger.Info("stopping: no new connections, running requests end")
		shutdown(ctx, web, logger)
	}
	stopWork()
	return errors.Join(err, <-worked)
}

// serve serves connections until web is shut down.
func (l *Listener) serve(web *http.Server, secure *tls.Config, refuse refusal, w *warnings) error {
	web.ConnState, web.ConnContext = l.connState, l.connContext
	stop := l.startProgressChecks()
	defer stop()
	if secure == nil {
		l.accepts = coalesceWrites(l.Listener)
		return web.Serve(http1Listener{l, refuse})
	}
	// Without coalesceWrites: TLS splits writes into records.
	handshakes := newTLSListener(l, secure, w, refuse)
	defer handshakes.Close() //nolint:errcheck // closed by the server already
	web.TLSConfig = handshakes.config
	serveHTTP2(web)
	return web.Serve(handshakes)
}

// shutdown lets running requests end, for at most shutdownTimeout.
func shutdown(ctx context.Context, web *http.Server, logger *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := web.Shutdown(ctx); err != nil {
		logger.Warn("running requests were cut off", "after", shutdownTimeout, "error", err)
		_ = web.Close() // the warning has reported it
	}
}

// connectionHandler is a service whose requests know their connection.
type connectionHandler struct{ Service }

// ServeHTTP serves a request on its connection.
func (h connectionHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := connectionOf(r.Context())
	switch {
	case c == nil:
		h.Service.ServeHTTP(w, r)
	case r.ProtoMajor > 1 && headBytes(r) > maxHeaderBytes && h.refuseHead(w, c):
	default:
		c.respond(h.Service, w, r)
	}
}

// StrictTransport is a service that tells browsers to use https alone for a year
// (RFC 6797).
type StrictTransport struct{ Service }

// strictTransport is the value of its header; shared, not to be changed.
var strictTransport = []string{"max-age=31536000"}

// ServeHTTP adds the header to each response.
func (s StrictTransport) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header()["Strict-Transport-Security"] = strictTransport
	s.Service.ServeHTTP(w, r)
}
