// Package webhook delivers events to the receivers that subscribed to them
// (contract, "Events"). It checks addresses (address.go, url.go, dial.go) and signs
// (sign.go). Its loop delivers the queue of the data file (deliver.go, queue.go,
// attempt.go, rate.go).
package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"govsvc/db"
	"govsvc/db/delivery"
)

// SenderConfig configures a Sender.
type SenderConfig struct {
	// Version is the version of the program, for the User-Agent header.
	Version string
	// Allow has the private addresses that receivers may have (--webhook-allow). If
	// it is not empty, receivers may also have names of the operator's network.
	Allow []netip.Prefix
	// Roots has additional root certificates for receivers, in PEM (--webhook-ca).
	Roots []byte
	// Rate is the maximum number of deliveries per second from the loop to one
	// receiving host (--webhook-rate); 0 means no limit.
	Rate int
	// Resolver resolves names; nil means the resolver of the system.
	Resolver Resolver
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Sender sends messages to receivers. It is safe for concurrent use.
type Sender struct {
	agent     string
	timeout   time.Duration // of an attempt
	now       func() time.Time
	guard     guard
	rates     *hostRates // nil is no limit
	transport *http.Transport
}

// sessionsKept is how many TLS sessions are kept, one for each host. A further connection to
// a host resumes its session. Its address and the validity of the certificate are checked
// again, but the receiver signs nothing.
const sessionsKept = 64

// Close closes the idle connections.
func (s *Sender) Close() { s.transport.CloseIdleConnections() }

// NewSender makes a Sender.
func NewSender(c SenderConfig) (*Sender, error) {
	rates := newHostRates(c.Rate, time.Now)
	s := &Sender{agent: Agent(c.Version), timeout: AttemptTimeout, now: c.Now, rates: rates, guard: guard{resolver: c.Resolver, rates: rates}}
	if s.now == nil {
		s.now = time.Now
	}
	if s.guard.resolver == nil {
		s.guard.resolver = net.DefaultResolver
	}
	for _, prefix := range c.Allow {
		s.guard.allow = append(s.guard.allow, unmapPrefix(prefix))
	}
	roots, err := rootPool(c.Roots)
	if err != nil {
		return nil, err
	}
	s.transport = s.guard.transport(&tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: roots, ClientSessionCache: tls.NewLRUClientSessionCache(sessionsKept),
	})
	return s, nil
}

// unmapPrefix converts a range of IPv4-mapped addresses to the IPv4 range.
func unmapPrefix(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}

// rootPool returns the system's root certificates and further ones. It returns nil,
// which means the system's certificates, if there are no further ones.
func rootPool(further []byte) (*x509.CertPool, error) {
	if len(further) == 0 {
		return nil, nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("the system's root certificates: %w", err)
	}
	if !roots.AppendCertsFromPEM(further) {
		return nil, errors.New("the file of --webhook-ca contains no certificate in PEM format")
	}
	return roots, nil
}

// resolveTimeout is the time limit for resolving a name in the check of a URL.
const resolveTimeout = 5 * time.Second

// CheckURL returns an error for a URL that a receiver may not have (specification,
// "Webhook subscription endpoints"). It resolves the name but does not connect.
func (s *Sender) CheckURL(ctx context.Context, url string) error {
	t, err := parseURL(url)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	_, err = s.guard.resolve(ctx, t)
	return resolveError(err)
}

func urlError(code db.Code, format string, args ...any) error {
	return &db.Error{Code: code, Param: "url", Message: fmt.Sprintf(format, args...)}
}

// Simulator replaces a Sender in the sandbox, which uses no network (contract,
// "Sandbox"). Every delivery succeeds.
type Simulator struct {
	// Allow is as in SenderConfig.
	Allow []netip.Prefix
}

// CheckURL returns an error for a URL that is not allowed. It does not resolve the name.
func (s Simulator) CheckURL(ctx context.Context, url string) error {
	t, err := parseURL(url)
	if err != nil {
		return err
	}
	if !t.address.IsValid() && !t.local {
		return nil
	}
	if !t.address.IsValid() && len(s.Allow) > 0 {
		return nil // a name of the operator's network, which is not resolved
	}
	g := guard{allow: s.Allow}
	_, err = g.resolve(ctx, t)
	return resolveError(err)
}

// Send returns a successful attempt.
func (s Simulator) Send(context.Context, delivery.Receiver, string, db.Message) delivery.Attempt {
	return delivery.Attempt{Status: 200}
}
