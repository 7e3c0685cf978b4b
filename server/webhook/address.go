package webhook

import "net/netip"

// private are the ranges that are refused: those of IANA's registries of
// special-purpose addresses that are not globally reachable (RFC 6890 and its
// successors). Ranges that embed an IPv4 address are refused, too, because a
// gateway may translate them to any address.
var private = prefixes(
	"0.0.0.0/8",         // this network
	"10.0.0.0/8",        // private use
	"100.64.0.0/10",     // carrier-grade NAT; Alibaba's metadata
	"127.0.0.0/8",       // loopback
	"168.63.129.16/32",  // Azure's platform, on each of its hosts
	"169.254.0.0/16",    // link-local; the metadata of most clouds
	"172.16.0.0/12",     // private use
	"192.0.0.0/24",      // protocol assignments; Oracle's metadata
	"192.0.2.0/24",      // documentation
	"192.31.196.0/24",   // AS112
	"192.52.193.0/24",   // AMT
	"192.88.99.0/24",    // 6to4 relays
	"192.168.0.0/16",    // private use
	"192.175.48.0/24",   // AS112
	"198.18.0.0/15",     // benchmarking
	"198.51.100.0/24",   // documentation
	"203.0.113.0/24",    // documentation
	"224.0.0.0/4",       // multicast
	"240.0.0.0/4",       // reserved, and broadcast
	"2001::/23",         // protocol assignments: Teredo, benchmarking, ORCHID
	"2001:db8::/32",     // documentation
	"2002::/16",         // 6to4
	"2620:4f:8000::/48", // AS112
	"3fff::/20",         // documentation
)

// global is the public range of IPv6. It excludes the unspecified address,
// loopback, IPv4-compatible and -mapped addresses, NAT64 (64:ff9b::/96 and
// 64:ff9b:1::/48), discard, segment routing, unique-local, link-local, site-local,
// multicast and unassigned ranges.
var global = netip.MustParsePrefix("2000::/3")

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// Loopback are the addresses of the same machine, which `govsvc sandbox` and
// `govsvc webhooks trigger` allow.
var Loopback = prefixes("127.0.0.0/8", "::1/128")

// Public reports whether an address is on the public Internet.
func Public(address netip.Addr) bool {
	if !address.IsValid() || address.Zone() != "" || address.Is6() && !global.Contains(address) {
		return false
	}
	return !within(private, address)
}

func within(list []netip.Prefix, address netip.Addr) bool {
	for _, prefix := range list {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}
