package webhook_test

import (
	"net/netip"
	"testing"

	"govsvc/server/webhook"
)

// TestPublic checks the first and the last address of each range, and the addresses
// next to them.
func TestPublic(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		from, to      string // the range, both included
		below, beyond bool   // whether the neighbours are public
	}{
		{"0.0.0.0", "0.255.255.255", false, true},
		{"10.0.0.0", "10.255.255.255", true, true},
		{"100.64.0.0", "100.127.255.255", true, true},
		{"127.0.0.0", "127.255.255.255", true, true},
		{"168.63.129.16", "168.63.129.16", true, true},
		{"169.254.0.0", "169.254.255.255", true, true},
		{"172.16.0.0", "172.31.255.255", true, true},
		{"192.0.0.0", "192.0.0.255", true, true},
		{"192.0.2.0", "192.0.2.255", true, true},
		{"192.31.196.0", "192.31.196.255", true, true},
		{"192.52.193.0", "192.52.193.255", true, true},
		{"192.88.99.0", "192.88.99.255", true, true},
		{"192.168.0.0", "192.168.255.255", true, true},
		{"192.175.48.0", "192.175.48.255", true, true},
		{"198.18.0.0", "198.19.255.255", true, true},
		{"198.51.100.0", "198.51.100.255", true, true},
		{"203.0.113.0", "203.0.113.255", true, true},
		{"224.0.0.0", "255.255.255.255", true, false},
		{"::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false, true},
		{"2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", true, true},
		{"2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", true, true},
		{"2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true, true},
		{"2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff", true, true},
		{"3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", true, true},
		{"4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true, false},
	} {
		from, to := netip.MustParseAddr(row.from), netip.MustParseAddr(row.to)
		for address, want := range map[netip.Addr]bool{from: false, to: false, from.Prev(): row.below, to.Next(): row.beyond} {
			if got := webhook.Public(address); got != want {
				t.Errorf("%v (of %s to %s): public %v, want %v", address, row.from, row.to, got, want)
			}
		}
	}
	for _, address := range []string{"::ffff:8.8.8.8", "2606:4700::1%eth0", "64:ff9b::8.8.8.8", "::8.8.8.8"} {
		if webhook.Public(netip.MustParseAddr(address)) {
			t.Errorf("%s is public", address)
		}
	}
	if webhook.Public(netip.Addr{}) {
		t.Error("no address is public")
	}
}
