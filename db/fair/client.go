package fair

import "net/netip"

// ClientGroup returns what limits count as one client: an IPv4 address, or the
// /64 network of an IPv6 address, because one client may use all of that network.
// Any other text is returned unchanged.
func ClientGroup(address string) string {
	parsed, err := netip.ParseAddr(address)
	if err != nil || parsed.Unmap().Is4() {
		return address
	}
	network, err := parsed.WithZone("").Prefix(64)
	if err != nil {
		return address
	}
	return network.String()
}
