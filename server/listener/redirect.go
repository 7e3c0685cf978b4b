package listener

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Redirect is a service that redirects clients of plain HTTP to https. It also
// answers the challenges of an ACME authority (HTTP-01).
type Redirect struct {
	Refuser
	// RefuseMethod answers a request that can't be redirected, with 405 and a
	// message.
	RefuseMethod func(w http.ResponseWriter, r *http.Request, message string)
	Domains      []string
	Challenges   http.Handler
}

// challengePath is the path below which an ACME authority fetches challenges
// (RFC 8555, section 8.3).
const challengePath = "/.well-known/acme-challenge/"

// Run waits until ctx ends: there is no work between requests.
func (s Redirect) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// ServeHTTP redirects GET and HEAD.
func (s Redirect) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close") // nothing reads the body
	}
	switch {
	case strings.HasPrefix(r.URL.Path, challengePath):
		s.Challenges.ServeHTTP(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		s.RefuseMethod(w, r, "this address only redirects GET and HEAD; send the request to "+s.target(r))
	default:
		w.Header().Set("Location", s.target(r))
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusPermanentRedirect)
	}
}

// target returns the URL of the same resource by https. Its host is the domain that the
// client named, or the first domain if the service does not have that one.
func (s Redirect) target(r *http.Request) string {
	host := strings.ToLower(r.Host)
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if !slices.Contains(s.Domains, host) {
		host = s.Domains[0]
	}
	to := url.URL{Scheme: "https", Host: host, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
	if !strings.HasPrefix(to.Path, "/") {
		to.Path, to.RawPath = "/", ""
	}
	return to.String()
}
