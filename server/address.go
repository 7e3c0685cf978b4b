package server

import (
	"net/http"
	"net/netip"
	"strings"

	"govsvc/db/fair"
)

// Proxies are the networks of the proxies whose X-Forwarded headers count.
type Proxies []netip.Prefix

// ClientGroup is what limits count as the client of a request; see
// fair.ClientGroup.
func (p Proxies) ClientGroup(r *http.Request) string { return fair.ClientGroup(p.ClientAddress(r)) }

// ClientAddress is the client's address: the peer's or, where the peer is a
// trusted proxy, the last in X-Forwarded-For that is not one.
func (p Proxies) ClientAddress(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	address := peer.Addr().Unmap()
	if p.trust(address) {
		hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		for i := len(hops) - 1; i >= 0 && p.trust(address); i-- {
			hop, ok := parseHop(strings.TrimSpace(hops[i]))
			if !ok {
				break
			}
			address = hop
		}
	}
	return address.WithZone("").String()
}

// Secure tells whether the client came over TLS: to this server, or to a
// trusted proxy that says so in X-Forwarded-Proto. Of several proxies in a row
// the first, which the client spoke to, stands first there.
func (p Proxies) Secure(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !p.trust(peer.Addr().Unmap()) {
		return false
	}
	first, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Proto"), ",")
	return strings.EqualFold(strings.TrimSpace(first), "https")
}

// parseHop reads an element of X-Forwarded-For; some proxies add a port.
func parseHop(text string) (netip.Addr, bool) {
	if address, err := netip.ParseAddr(text); err == nil {
		return address.Unmap(), true
	}
	with, err := netip.ParseAddrPort(text)
	return with.Addr().Unmap(), err == nil
}

func (p Proxies) trust(address netip.Addr) bool {
	for _, prefix := range p {
		if prefix.Contains(address.WithZone("")) { // a zone fits no prefix
			return true
		}
	}
	return false
}
