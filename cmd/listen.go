package cmd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"govsvc/server"
)

// Bounds on what one connection can hold.
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = 60 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 32 << 10 // beyond it, 431
	maxStreams        = 100      // requests at once on a connection of HTTP/2
	stalledWrite      = 30 * time.Second
)

// defaultConnections is how many connections may be open at once, unless a flag
// has another number.
const defaultConnections = 4096

// endTimeout is how long running requests may go on after a signal.
const endTimeout = 20 * time.Second

// service is a handler with work of its own between requests; Run ends, its
// work done, when its ctx does.
type service interface {
	http.Handler
	Run(ctx context.Context) error
}

// entrance is where connections come in.
type entrance struct {
	connections *connections
	secure      *tls.Config // nil is plain HTTP
}

// serve serves connections until web is shut down.
func (e entrance) serve(web *http.Server, refuse refusal, w *warnings) error {
	web.ConnState, web.ConnContext = e.connections.changed, e.connections.context
	stop := e.connections.watching()
	defer stop()
	if e.secure == nil {
		e.connections.Listener = server.JoinWrites(e.connections.Listener)
		return web.Serve(plainHTTP1{e.connections, refuse})
	}
	// Without JoinWrites: TLS writes records of its own size.
	l := newHandshakes(e.connections, e.secure, w, refuse)
	defer l.Close() //nolint:errcheck // closed by the server already
	web.TLSConfig = l.config
	serveStreams(web)
	return web.Serve(l)
}

// scheme is how the addresses begin that lead here.
func (e entrance) scheme() string {
	if e.secure == nil {
		return "http://"
	}
	return "https://"
}

// strict is a service that tells browsers to come back by https alone, for a
// year (RFC 6797).
type strict struct{ service }

// strictTransport is the value of its header; shared, not to be changed.
var strictTransport = []string{"max-age=31536000"}

func (s strict) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header()["Strict-Transport-Security"] = strictTransport
	s.service.ServeHTTP(w, r)
}

// onConnection is a service whose requests know their connection.
type onConnection struct{ service }

func (s onConnection) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c := connectionOf(r.Context()); c != nil {
		if r.ProtoMajor > 1 && headBytes(r) > maxHeaderBytes && s.refuseHead(w, c) {
			return
		}
		c.respond(s.service, w, r)
		return
	}
	s.service.ServeHTTP(w, r)
}

// run serves connections until ctx ends. Then running requests end before the
// service's own work does, so that what they leave behind is stored.
func run(ctx context.Context, in entrance, s service, logger *slog.Logger) error {
	w := newWarnings(logger)
	defer w.counting()() //nolint:contextcheck // it counts until the process ends
	web := &http.Server{
		Handler:           onConnection{s},
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams, WriteByteTimeout: stalledWrite},
		ErrorLog:          log.New(w, "", 0),
		// The service answers OPTIONS * like any other request.
		DisableGeneralOptionsHandler: true,
	}
	working, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	worked, served := make(chan error, 1), make(chan error, 1)
	go func() { worked <- s.Run(working) }()
	go func() { served <- in.serve(web, refusalOf(s, in.secure != nil), w) }() //nolint:contextcheck // it ends with its listener

	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
		logger.Info("stopping: no new connections, running requests end")
		end(ctx, web, logger)
	}
	stopWork()
	return errors.Join(err, <-worked)
}

// end lets running requests end, for as long as is proper.
func end(ctx context.Context, web *http.Server, logger *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	if err := web.Shutdown(ctx); err != nil {
		logger.Warn("running requests were cut off", "after", endTimeout, "error", err)
		_ = web.Close() // what it could say has just been said
	}
}

// beside runs work beside main, from before it begins: the end of ctx ends both,
// and the end of either the other.
func beside(ctx context.Context, work, main func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	worked := make(chan error, 1)
	go func() {
		err := work(ctx)
		stop()
		worked <- err
	}()
	err := main(ctx)
	stop()
	return errors.Join(err, <-worked)
}

// together does several works at once, of which any may be nil: the end of one
// ends the others.
func together(works ...func(context.Context) error) func(context.Context) error {
	works = slices.DeleteFunc(works, func(work func(context.Context) error) bool { return work == nil })
	return func(ctx context.Context) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		ended := make(chan error, len(works))
		for _, work := range works {
			go func() {
				err := work(ctx)
				stop()
				ended <- err
			}()
		}
		var errs []error
		for range works {
			errs = append(errs, <-ended)
		}
		return errors.Join(errs...)
	}
}

// endedBySignal is err, unless that is but a signal that came early.
func endedBySignal(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// listen opens addr, which a flag has named.
func listen(ctx context.Context, flag, addr string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, cannotListen(flag, addr, err)
	}
	return listener, nil
}

func cannotListen(flag, addr string, err error) error {
	return fmt.Errorf("can't listen on %s: %w; choose another address with %s", addr, err, flag)
}

// reachable is where a listener can be reached, as HOST:PORT: the host as bound
// or, where that is every address, as given.
func reachable(given string, bound net.Addr) string {
	at, err := netip.ParseAddrPort(bound.String())
	if err != nil {
		return bound.String()
	}
	if !at.Addr().IsUnspecified() {
		return at.String()
	}
	host, _, _ := net.SplitHostPort(given)
	if host == "" {
		host = "localhost"
	}
	_, port, _ := net.SplitHostPort(bound.String())
	return net.JoinHostPort(host, port)
}
