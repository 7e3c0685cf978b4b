package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"

	"govsvc/db"
)

// Resolver resolves host names; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Limits of a connection. Those of the whole attempt also apply.
const (
	dialTimeout    = 5 * time.Second // of one address, so that the next one is tried
	idleTimeout    = 20 * time.Second
	maxIdle        = workers // also to one host, which many subscriptions may name
	maxHeaderBytes = 16 << 10
)

var (
	errBlocked = errors.New("the receiver's address is not public")
	errLimited = errors.New("the rate of the receiving host is used up")
	errNoSuch  = errors.New("the receiver's name has no address")
)

// guard decides which addresses connections may be made to.
type guard struct {
	allow    []netip.Prefix
	resolver Resolver
	rates    *hostRates // nil is no limit
}

func (g *guard) permits(address netip.Addr) bool {
	address = address.Unmap()
	return Public(address) || within(g.allow, address)
}

// resolve returns the addresses of a target. All of them must be permitted, and
// those of a local name must be in the operator's own network. A name with a
// public and a private address is refused, because it is an attack.
func (g *guard) resolve(ctx context.Context, t target) ([]netip.Addr, error) {
	addresses := []netip.Addr{t.address}
	if !t.address.IsValid() {
		if t.local && len(g.allow) == 0 {
			return nil, errBlocked
		}
		var err error
		if addresses, err = g.lookup(ctx, t.host); err != nil {
			return nil, err
		}
	} else if t.address.Is4In6() && !within(g.allow, t.address.Unmap()) {
		return nil, errBlocked
	}
	for i, address := range addresses {
		addresses[i] = address.Unmap()
		if !g.permits(address) || t.local && !within(g.allow, address.Unmap()) {
			return nil, errBlocked
		}
	}
	return addresses, nil
}

func (g *guard) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	addresses, err := g.resolver.LookupNetIP(ctx, "ip", host)
	var problem *net.DNSError
	if errors.As(err, &problem) && problem.IsNotFound || err == nil && len(addresses) == 0 {
		return nil, errNoSuch
	}
	return addresses, err
}

// transport returns a transport whose connections are checked. It supports no
// proxy, redirect, cookie or compressed response.
func (g *guard) transport(trust *tls.Config) *http.Transport {
	return &http.Transport{
		Proxy:                  nil, // a proxy could connect to private addresses
		DialContext:            g.dial,
		TLSClientConfig:        trust,
		TLSHandshakeTimeout:    2 * dialTimeout,
		DisableCompression:     true,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdle,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		Protocols:              onlyHTTP1(),
	}
}

// onlyHTTP1 disables HTTP/2. A connection has one delivery at a time, so that a
// receiver that stalls delays only that one.
func onlyHTTP1() *http.Protocols {
	var p http.Protocols
	p.SetHTTP1(true)
	return &p
}

// dial connects to the host of a parsed URL. It resolves the name and connects to
// the address that it checked. The last check is of the address of the socket.
func (g *guard) dial(ctx context.Context, network, hostPort string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	t := target{host: strings.TrimSuffix(strings.ToLower(host), ".")}
	if address, err := netip.ParseAddr(t.host); err == nil {
		t.address = address
	} else {
		t.local = isLocal(t.host)
	}
	addresses, err := g.resolve(ctx, t)
	if err != nil {
		return nil, err
	}
	if !t.address.IsValid() {
		g.rates.learn(t.host, addresses)
	}
	dialer := net.Dialer{Timeout: dialTimeout, Control: g.control}
	for _, address := range addresses {
		if err = g.rates.admit(ctx, address); err != nil {
			return nil, err
		}
		var conn net.Conn
		if conn, err = dialer.DialContext(ctx, network, netip.AddrPortFrom(address, portNumber(port)).String()); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

func portNumber(text string) uint16 {
	n, _ := strconv.ParseUint(text, 10, 16) // parseURL has checked it
	return uint16(n)
}

// control refuses a socket whose address is not permitted. It is the last check
// before the connection.
func (g *guard) control(_, address string, _ syscall.RawConn) error {
	socket, err := netip.ParseAddrPort(address)
	if err != nil || !g.permits(socket.Addr()) {
		return errBlocked
	}
	return nil
}

// resolveError turns an error of resolve into a message for the caller of the API. It
// does not reveal what a name of the operator's network resolves to.
func resolveError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errBlocked):
		return invalidURL("url must lead to a public address: localhost, private, loopback, link-local and metadata addresses are refused")
	case errors.Is(err, errNoSuch):
		return invalidURL("url must have a host name that resolves to a public address; this one does not resolve")
	}
	return &db.Error{Code: db.Unavailable, Param: "url", Message: "the host name of url can't be looked up right now; nothing was done", Err: err}
}
