package webhook_test

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/delivery"
	"govsvc/internal/testkit"
	"govsvc/server/webhook"
)

// anywhere resolves every name to a public address.
var anywhere = dns(func(string) ([]netip.Addr, error) { return []netip.Addr{netip.MustParseAddr("8.8.8.8")}, nil })

func public(t testing.TB, resolver webhook.Resolver, allow ...string) *webhook.Sender {
	t.Helper()
	return newSender(t, func(c *webhook.SenderConfig) {
		c.Resolver, c.Allow = resolver, nil
		for _, prefix := range allow {
			c.Allow = append(c.Allow, netip.MustParsePrefix(prefix))
		}
	})
}

func corpus(t testing.TB, name string) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var urls []string
	escapes := strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n", `\r`, "\r", `\0`, "\x00", `\u00ad`, "\u00ad", `\u200b`, "\u200b")
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line != "" && line[0] != '#' {
			urls = append(urls, escapes.Replace(line))
		}
	}
	return urls
}

// TestCheckURL_Hostile checks that every hostile URL is refused, although every name
// resolves to a public address. The error names the member.
func TestCheckURL_Hostile(t *testing.T) {
	t.Parallel()
	urls := corpus(t, "hostile.txt")
	if len(urls) < 100 {
		t.Fatalf("only %d URLs", len(urls))
	}
	sender := public(t, anywhere)
	for _, url := range urls {
		refused(t, "sender", url, sender.CheckURL(t.Context(), url))
		refused(t, "sandbox", url, webhook.Simulator{}.CheckURL(t.Context(), url))
		attempt := sender.Send(t.Context(), delivery.Receiver{URL: url, Secrets: []string{"whsec_AAAA"}}, "d", db.Message{ID: "evt_1"})
		if !attempt.Blocked || attempt.Status != 0 {
			t.Errorf("%q was not blocked when sent to: %+v", url, attempt)
		}
	}
}

func refused(t *testing.T, who, url string, err error) {
	t.Helper()
	var problem *db.Error
	if !errors.As(err, &problem) || problem.Code != db.Invalid {
		t.Errorf("%s: %q: %v, want a refusal", who, url, err)
		return
	}
	if problem.Param != "url" || !strings.HasPrefix(problem.Message, "url ") {
		t.Errorf("%s: %q: the refusal does not name url: %v", who, url, err)
	}
}

// TestCheckURL_Valid checks that valid URLs pass if their name resolves to public
// addresses. A URL is refused if any of the addresses is private.
func TestCheckURL_Valid(t *testing.T) {
	t.Parallel()
	for _, url := range corpus(t, "good.txt") {
		if err := public(t, anywhere).CheckURL(t.Context(), url); err != nil {
			t.Errorf("%q: %v", url, err)
		}
		if err := (webhook.Simulator{}).CheckURL(t.Context(), url); err != nil {
			t.Errorf("%q in the sandbox: %v", url, err)
		}
	}
	for _, answer := range []string{
		"127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fd00::1", "fe80::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "0.0.0.0",
		"8.8.8.8 10.0.0.1", "10.0.0.1 8.8.8.8", "2606:4700::1111 ::1",
	} {
		refused(t, answer, "https://example.com/", public(t, table(map[string]string{"example.com": answer})).CheckURL(t.Context(), "https://example.com/"))
	}
	refused(t, "no such name", "https://example.com/", public(t, table(nil)).CheckURL(t.Context(), "https://example.com/"))
}

// noDNS returns the errors of a DNS resolver that does not work.
func noDNS(host string) []error {
	return []error{
		os.ErrDeadlineExceeded,
		&net.DNSError{Err: "server misbehaving", Name: host, IsTemporary: true},
		&net.DNSError{Err: "i/o timeout", Name: host, IsTimeout: true},
		&net.DNSError{Err: "connection refused", Name: host},
	}
}

// TestCheckURL_LookupFails checks that a DNS failure is reported as Unavailable, not as an
// invalid URL. A delivery that it stops waits for its next attempt.
func TestCheckURL_LookupFails(t *testing.T) {
	t.Parallel()
	for _, failure := range noDNS("example.com") {
		var mended atomic.Bool
		names := dns(func(string) ([]netip.Addr, error) {
			if mended.Load() {
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
			}
			return nil, failure
		})
		if err := public(t, names).CheckURL(t.Context(), "https://example.com/"); !db.Is(err, db.Unavailable) {
			t.Errorf("%v: %v, want Unavailable", failure, err)
		}
		clock := newClock()
		s := newHarness(t, clock, func(c *webhook.Config) {
			c.Sender = newSender(t, func(c *webhook.SenderConfig) { c.Resolver, c.Now = names, clock.Now })
		})
		r := testkit.NewReceiver(t, nil)
		s.subscribe(t, strings.Replace(r.URL, "127.0.0.1", "example.com", 1))
		s.enqueue(t, 1)
		if total := s.deliver(t); total != (webhook.Totals{Failed: 1}) {
			t.Errorf("%v: %+v, want one that is tried again", failure, total)
		}
		mended.Store(true)
		clock.Advance(5 * time.Second)
		if total := s.deliver(t); total != (webhook.Totals{Delivered: 1}) || len(r.Received()) != 1 {
			t.Errorf("%v: after DNS recovered: %+v, %d arrived", failure, total, len(r.Received()))
		}
	}
}

// TestCheckURL_AllowedNetworks checks that --webhook-allow permits addresses and the
// names that resolve to them.
func TestCheckURL_AllowedNetworks(t *testing.T) {
	t.Parallel()
	names := table(map[string]string{
		"localhost": "127.0.0.1", "db.internal": "10.0.0.7", "hooks.example.com": "10.0.0.8", "mixed.internal": "10.0.0.9 8.8.8.8",
		"example.com": "8.8.8.8", "metadata.google.internal": "169.254.169.254", "public.internal": "8.8.8.8",
	})
	loopback := []string{"127.0.0.0/8", "::1/128"}
	for _, row := range []struct {
		url   string
		allow []string
		fine  bool
	}{
		{"https://localhost:8443/", loopback, true},
		{"https://127.0.0.1/", loopback, true},
		{"https://[::1]/", loopback, true},
		{"https://[::ffff:127.0.0.1]/", loopback, true},
		{"https://2130706433/", loopback, false},
		{"https://10.0.0.7/", loopback, false},
		{"https://db.internal/", loopback, false},
		{"https://db.internal/", []string{"10.0.0.0/8"}, true},
		{"https://hooks.example.com/", []string{"10.0.0.0/8"}, true},
		{"https://hooks.example.com/", []string{"::ffff:10.0.0.0/104"}, true},
		{"https://mixed.internal/", []string{"10.0.0.0/8"}, false},
		{"https://public.internal/", []string{"10.0.0.0/8"}, false},
		{"https://metadata.google.internal/", []string{"10.0.0.0/8"}, false},
		{"https://example.com/", []string{"10.0.0.0/8"}, true},
		{"http://localhost/", loopback, false},
		{"https://user@localhost/", loopback, false},
	} {
		err := public(t, names, row.allow...).CheckURL(t.Context(), row.url)
		if (err == nil) != row.fine {
			t.Errorf("%s with %s: %v", row.url, row.allow, err)
		}
		if err != nil && strings.Contains(err.Error(), "10.0.0") {
			t.Errorf("%s: the error discloses an address: %v", row.url, err)
		}
	}
}

// FuzzURL checks that an accepted URL is https, has no user, and has a public
// address. An independent check decides which addresses are public.
func FuzzURL(f *testing.F) {
	for _, name := range []string{"hostile.txt", "good.txt"} {
		for _, url := range corpus(f, name) {
			f.Add(url)
		}
	}
	var asked string
	sender := public(f, dns(func(host string) ([]netip.Addr, error) {
		asked = host
		return anywhere(host)
	}))
	f.Fuzz(func(t *testing.T, url string) {
		asked = ""
		if sender.CheckURL(t.Context(), url) != nil {
			return
		}
		rest, ok := strings.CutPrefix(strings.ToLower(url), "https://")
		if !ok {
			t.Fatalf("%q is not https", url)
		}
		authority := rest[:strings.IndexAny(rest+"/", "/?#")]
		if strings.ContainsAny(authority, "@%\\ \t\r\n\x00") {
			t.Fatalf("%q passes with the authority %q", url, authority)
		}
		if asked != "" {
			if strings.Trim(asked, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" || !strings.Contains(asked, ".") || strings.HasSuffix(asked, ".localhost") {
				t.Fatalf("%q passes with the name %q", url, asked)
			}
			return
		}
		host := authority
		if at := strings.LastIndexByte(host, ':'); at > strings.LastIndexByte(host, ']') {
			host = host[:at]
		}
		address, err := netip.ParseAddr(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
		if err != nil || !address.IsGlobalUnicast() || address.IsPrivate() || address.Is4In6() {
			t.Fatalf("%q passes with the address %q", url, host)
		}
	})
}
