package server

import (
	"net/http"
	"net/netip"
	"strings"
)

// clientAddress is the client's address for limits: the peer's, or, where the
// peer is a trusted proxy, the last in X-Forwarded-For that is not one. IPv6
// clients count by their /64, which is what one of them has to itself.
func (s *Server) clientAddress(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	address := peer.Addr().Unmap()
	if s.trusted(address) {
		hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		for i := len(hops) - 1; i >= 0 && s.trusted(address); i-- {
			hop, ok := parseHop(strings.TrimSpace(hops[i]))
			if !ok {
				break
			}
			address = hop
		}
	}
	if address.Is6() {
		if network, err := address.WithZone("").Prefix(64); err == nil {
			return network.String()
		}
	}
	return address.String()
}

// parseHop reads an element of X-Forwarded-For; some proxies add a port.
func parseHop(text string) (netip.Addr, bool) {
	if address, err := netip.ParseAddr(text); err == nil {
		return address.Unmap(), true
	}
	with, err := netip.ParseAddrPort(text)
	return with.Addr().Unmap(), err == nil
}

func (s *Server) trusted(address netip.Addr) bool {
	for _, prefix := range s.TrustedProxies {
		if prefix.Contains(address.WithZone("")) { // a zone fits no prefix
			return true
		}
	}
	return false
}
