package cmd

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"govsvc/server"
	"govsvc/server/api"
)

// redirectOff is the value of --redirect-addr without a redirect.
const redirectOff = "off"

// redirectAddress is an address to listen on, or "off".
type redirectAddress struct{ value *string }

func (v redirectAddress) Type() string   { return "HOST:PORT" }
func (v redirectAddress) String() string { return *v.value }

func (v redirectAddress) Set(text string) error {
	if text == redirectOff {
		*v.value = text
		return nil
	}
	return address(v).Set(text)
}

// redirect is a service that sends clients of plain HTTP to https. It also
// answers the challenges of an ACME authority (HTTP-01).
type redirect struct {
	*server.Server // answers what can't be redirected
	domains        []string
	challenges     http.Handler
}

// challengePath is below what an ACME authority fetches (RFC 8555, section 8.3).
const challengePath = "/.well-known/acme-challenge/"

// Run waits until ctx ends: the service's own work is that of the server.
func (s redirect) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func (s redirect) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close") // nothing reads the body
	}
	switch {
	case strings.HasPrefix(r.URL.Path, challengePath):
		s.challenges.ServeHTTP(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		s.RefuseWithoutKey(w, r, &api.Error{Code: api.MethodNotAllowed, Message: "this address only redirects GET and HEAD; send the request to " + s.target(r)}) //nolint:contextcheck // the context is that of the request
	default:
		w.Header().Set("Location", s.target(r))
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusPermanentRedirect)
	}
}

// target is the URL of the same resource by https: at the domain that the
// client named, or at the first one if that is not the service's.
func (s redirect) target(r *http.Request) string {
	host := strings.ToLower(r.Host)
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if !slices.Contains(s.domains, host) {
		host = s.domains[0]
	}
	to := url.URL{Scheme: "https", Host: host, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
	if !strings.HasPrefix(to.Path, "/") {
		to.Path, to.RawPath = "/", ""
	}
	return to.String()
}

// redirecting gives work that redirects clients of plain HTTP until its ctx
// ends; nil without --domain. An address that can't be listened on is a warning:
// the service works without it.
func (o serveOptions) redirecting(ctx context.Context, made certificates, handler *server.Server, logger *slog.Logger) func(context.Context) error {
	if made.challenges == nil || o.security.redirectAddr == redirectOff {
		return nil
	}
	addr := o.security.redirectAddr
	if addr == "" {
		host, _, _ := net.SplitHostPort(o.addr) // it was listened on already
		addr = net.JoinHostPort(host, "80")
	}
	listener, err := listen(ctx, "--redirect-addr", addr)
	if err != nil {
		logger.Warn("plain HTTP is not redirected to https; allow this process to listen there, name another address with --redirect-addr, or turn it off with --redirect-addr off",
			"address", addr, "error", err)
		return nil
	}
	challenges := made.challenges()
	in := entrance{connections: boundConnections(listener, *o.maxConnections, o.trustedProxies)}
	logger.Info("redirecting plain HTTP to https", "address", "http://"+reachable(addr, listener.Addr()))
	return func(ctx context.Context) error {
		if err := run(ctx, in, redirect{handler, o.security.domains, challenges}, logger); err != nil {
			return fmt.Errorf("the redirect to https: %w", err)
		}
		return nil
	}
}
