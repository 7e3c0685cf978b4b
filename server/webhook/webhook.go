// Package webhook brings events to the receivers that subscribed to them: it
// decides which addresses may be reached (address.go, url.go, dial.go), signs
// (sign.go), sends (send.go), and runs the loop that delivers what is queued,
// attempt after attempt (deliver.go, queue.go, schedule.go). What it builds on
// is the contract's section "Events".
package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"govsvc/db"
)

// SenderConfig says how receivers are reached.
type SenderConfig struct {
	// Version is the program's, for User-Agent.
	Version string
	// Allow are addresses that may be reached although they are not public
	// (--webhook-allow). It admits names of the operator's network, too.
	Allow []netip.Prefix
	// Roots are further roots for receivers' certificates, in PEM
	// (--webhook-ca).
	Roots []byte
	// Rate is how many deliveries a second the loop makes to one receiving host
	// (--webhook-rate); 0 is no limit.
	Rate int
	// Resolver looks names up; nil is the system's.
	Resolver Resolver
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// NewSender makes the way to receivers.
func NewSender(c SenderConfig) (*Sender, error) {
	rates := newHostRates(c.Rate, time.Now)
	s := &Sender{agent: Agent(c.Version), now: c.Now, rates: rates, guard: guard{resolver: c.Resolver, rates: rates}}
	if s.now == nil {
		s.now = time.Now
	}
	if s.guard.resolver == nil {
		s.guard.resolver = net.DefaultResolver
	}
	for _, prefix := range c.Allow {
		s.guard.allow = append(s.guard.allow, plain(prefix))
	}
	roots, err := trusted(c.Roots)
	if err != nil {
		return nil, err
	}
	s.transport = s.guard.transport(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots})
	return s, nil
}

// plain writes a range of IPv4-mapped addresses as the IPv4 range it is.
func plain(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}

// trusted are the system's roots and further ones; nil is the system's alone.
func trusted(further []byte) (*x509.CertPool, error) {
	if len(further) == 0 {
		return nil, nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("the system's root certificates: %w", err)
	}
	if !roots.AppendCertsFromPEM(further) {
		return nil, errors.New("the file of --webhook-ca holds no certificate in PEM")
	}
	return roots, nil
}

// resolveTimeout bounds the look-up for a check of a URL.
const resolveTimeout = 5 * time.Second

// CheckURL refuses a URL that deliveries may not go to (specification, Webhook
// subscription endpoints). It dials nothing.
func (s *Sender) CheckURL(ctx context.Context, url string) error {
	t, err := parseURL(url)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	_, err = s.guard.resolve(ctx, t)
	return checked(err)
}

func refusal(code db.Code, format string, args ...any) error {
	return &db.Error{Code: code, Param: "url", Message: fmt.Sprintf(format, args...)}
}

// Simulator stands in for a Sender where no network may be reached: the
// sandbox's (contract, "Sandbox"). What would be sent is delivered.
type Simulator struct {
	// Allow is that of SenderConfig.
	Allow []netip.Prefix
}

// CheckURL refuses what can be refused without a look-up.
func (s Simulator) CheckURL(ctx context.Context, url string) error {
	t, err := parseURL(url)
	if err != nil {
		return err
	}
	if !t.address.IsValid() && !t.local {
		return nil
	}
	if !t.address.IsValid() && len(s.Allow) > 0 {
		return nil // a name of the operator's network, which is not looked up
	}
	g := guard{allow: s.Allow}
	_, err = g.resolve(ctx, t)
	return checked(err)
}

// Send answers as a receiver that is well.
func (s Simulator) Send(context.Context, db.Receiver, string, db.Message) db.Attempt {
	return db.Attempt{Status: 200}
}
