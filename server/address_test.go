package server_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"govsvc/server"
)

// TestAddressLimit_ForwardedFor allows each address one request. A second request of
// the same client is refused, whatever address its headers state.
func TestAddressLimit_ForwardedFor(t *testing.T) {
	t.Parallel()
	trusting := func(prefixes ...string) setting {
		return func(c *server.Config) {
			for _, prefix := range prefixes {
				c.TrustedProxies = append(c.TrustedProxies, netip.MustParsePrefix(prefix))
			}
		}
	}
	for _, test := range []struct {
		name    string
		trusted []string
		hops    []string // X-Forwarded-For of each request
		same    []bool   // whether the client is the same as before
	}{
		{"no proxy is trusted", nil, []string{"203.0.113.1", "203.0.113.2", ""}, []bool{false, true, true}},
		{"another proxy is trusted", []string{"10.0.0.0/8"}, []string{"203.0.113.1", "203.0.113.2"}, []bool{false, true}},
		{"each client has its own", []string{"127.0.0.0/8"}, []string{"203.0.113.1", "203.0.113.2", "203.0.113.1", "", "127.0.0.1"}, []bool{false, false, true, false, true}},
		{"what the client adds does not count", []string{"127.0.0.0/8"}, []string{"203.0.113.1", "198.51.100.7, 203.0.113.1", "127.0.0.1,203.0.113.1", "junk, 203.0.113.1"}, []bool{false, true, true, true}},
		{"proxies behind each other", []string{"127.0.0.0/8", "10.0.0.0/8"}, []string{"203.0.113.1, 10.1.1.1", "203.0.113.1,10.2.2.2 , 10.3.3.3", "203.0.113.2, 10.1.1.1"}, []bool{false, true, false}},
		{"junk counts as the proxy", []string{"127.0.0.0/8"}, []string{"junk", "203.0.113.1, junk", "203.0.113.1,", ""}, []bool{false, true, true, true}},
		{"with a port", []string{"127.0.0.0/8"}, []string{"203.0.113.1:4711", "203.0.113.1:4712", "[2001:db8::1]:80", "2001:db8::1"}, []bool{false, true, false, true}},
		{"IPv6 by network", []string{"127.0.0.0/8"}, []string{"2001:db8::1", "2001:db8::ffff:2", "2001:db8:0:1::1", "fe80::1%eth0"}, []bool{false, true, false, false}},
		{"IPv4 within IPv6", []string{"127.0.0.0/8"}, []string{"::ffff:203.0.113.1", "203.0.113.1"}, []bool{false, true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, withAnonymous(1), trusting(test.trusted...))
			for i, hops := range test.hops {
				r := row{name: hops, path: "/", header: header("X-Forwarded-For", hops)}
				if test.same[i] {
					r.status, r.code = 429, "rate_limit_exceeded"
				}
				s.ask(t, r)
			}
		})
	}
}

// TestSecure_TrustsOnlyProxies checks which requests count as sent over TLS. Only the
// header of a trusted proxy counts.
func TestSecure_TrustsOnlyProxies(t *testing.T) {
	t.Parallel()
	trusting := server.Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fe80::/10")}
	for _, test := range []struct {
		name, peer, proto string
		tls, want         bool
	}{
		{"plain", "203.0.113.1:1", "", false, false},
		{"TLS", "203.0.113.1:1", "", true, true},
		{"TLS, whatever is claimed", "203.0.113.1:1", "http", true, true},
		{"a client's claim", "203.0.113.1:1", "https", false, false},
		{"a proxy's word", "10.1.2.3:1", "https", false, true},
		{"a proxy's word, in capitals", "10.1.2.3:1", "HTTPS", false, true},
		{"a proxy within IPv6", "[::ffff:10.1.2.3]:1", "https", false, true},
		{"a proxy on a link", "[fe80::1%eth0]:1", "https", false, true},
		{"plain at the proxy", "10.1.2.3:1", "http", false, false},
		{"no word", "10.1.2.3:1", "", false, false},
		{"two proxies", "10.1.2.3:1", "https, http", false, true},
		{"two proxies, plain at the first", "10.1.2.3:1", "http, https", false, false},
		{"no address", "pipe", "https", false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			r.RemoteAddr = test.peer
			if test.proto != "" {
				r.Header.Set("X-Forwarded-Proto", test.proto)
			}
			if test.tls {
				r.TLS = &tls.ConnectionState{}
			}
			if got := trusting.Secure(r); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

// TestAudit_FullAddress checks that the audit log has the whole address of an
// IPv6 client, although limits count its network.
func TestAudit_FullAddress(t *testing.T) {
	t.Parallel()
	d := serveWrites(t, func(c *server.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	for _, address := range []string{"2001:db8::ffff:2", "203.0.113.9"} {
		w := write{path: "/risks", body: goodRisk, status: 201, header: header("X-Forwarded-For", address), idempotencyKey: address}
		d.check(t, w, d.send(t, w))
		d.checkRows(t, address, "SELECT event ->> '$.metadata.address' FROM audit_events ORDER BY seq DESC LIMIT 1", address)
	}
}
