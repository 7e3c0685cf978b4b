package cmd_test

import (
	"net"
	"regexp"
	"strings"
	"testing"

	"govsvc/internal/testkit"
)

// wantLog waits until the log of a server matches, and returns the groups.
func (s *server) wantLog(t *testing.T, pattern string) []string {
	t.Helper()
	var found []string
	testkit.Eventually(t, func() bool {
		found = regexp.MustCompile(pattern).FindStringSubmatch(s.stderr.String())
		return found != nil
	}, "%s in the log:\n%s", pattern, s.stderr)
	return found
}

// domainFlags serve a domain whose authority can't be reached.
var domainFlags = []string{"--domain", "gov.example.com,www.example.com", "--acme-directory", "https://127.0.0.1:1/directory"}

// bothTried matches the log after requests for both certificates. Until then
// the server writes to the folder of the data file.
const bothTried = `(?s)no certificate yet.*no certificate yet`

// TestServe_RedirectsPlainHTTP checks that plain HTTP is redirected to https at one of
// the domains with --domain, and that nothing else is served.
func TestServe_RedirectsPlainHTTP(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	key := c.key("read:risks")
	s := c.serve(append(domainFlags, "--redirect-addr", "127.0.0.1:0", "--max-connections", "8")...)
	url := s.wantLog(t, `redirecting plain HTTP to https" address=(http://127\.0\.0\.1:\d+)`)[1]
	for _, row := range []struct {
		request  string
		status   int
		location string
	}{
		{"GET / HTTP/1.1\r\nHost: gov.example.com\r\n", 308, "https://gov.example.com/"},
		{"HEAD /risks HTTP/1.1\r\nHost: gov.example.com:80\r\n", 308, "https://gov.example.com/risks"},
		{"GET /api/v1/risks?limit=2&cursor=a%20b HTTP/1.1\r\nHost: WWW.example.com\r\n", 308, "https://www.example.com/api/v1/risks?limit=2&cursor=a%20b"},
		{"GET /a%2Fb//c HTTP/1.1\r\nHost: evil.example.net\r\n", 308, "https://gov.example.com/a%2Fb//c"},
		{"GET //evil.example.net/ HTTP/1.1\r\nHost: 192.0.2.1\r\n", 308, "https://gov.example.com//evil.example.net/"},
		{"GET http://evil.example.net/x HTTP/1.1\r\nHost: evil.example.net\r\n", 308, "https://gov.example.com/x"},
		{"GET /.well-known/acme-challenge/none HTTP/1.1\r\nHost: gov.example.com\r\n", 404, ""},
		{"POST /api/v1/risks HTTP/1.1\r\nHost: gov.example.com\r\nAuthorization: Bearer " + key + "\r\nContent-Length: 2\r\n", 405, ""},
		{"DELETE /api/v1/risks HTTP/1.1\r\nHost: gov.example.com\r\n", 405, ""},
		{"GET /%zz HTTP/1.1\r\nHost: gov.example.com\r\n", 400, ""},
	} {
		body := ""
		if strings.Contains(row.request, "Content-Length") {
			body = "{}"
		}
		response, text := send(t, url, row.request+"Connection: close\r\n\r\n"+body) //nolint:bodyclose // send reads it to its end
		if response.StatusCode != row.status || response.Header.Get("Location") != row.location {
			t.Errorf("%q: %d to %q, want %d to %q", row.request, response.StatusCode, response.Header.Get("Location"), row.status, row.location)
		}
		if row.status == 405 && (response.Header.Get("Allow") != "GET, HEAD" || !strings.Contains(text, `"method_not_allowed"`)) {
			t.Errorf("%q: %v %s", row.request, response.Header, text)
		}
	}
	var held []net.Conn // two for each address, as on the main listener
	for range 6 {
		held = append(held, c.dial(url, "127.0.0.1"))
	}
	if left := countOpen(held, 2); left > 2 {
		t.Errorf("%d connections of an address are open, want 2", left)
	}
	s.wantLog(t, bothTried)
	s.end()
}

// TestServe_StartsWithoutRedirect checks that the redirect can be turned off, and that an
// address in use is a warning that says what to do.
func TestServe_StartsWithoutRedirect(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s := c.serve(append(domainFlags, "--redirect-addr", "off")...)
	s.wantLog(t, bothTried)
	s.end()
	if strings.Contains(s.stderr.String(), "redirect") {
		t.Errorf("the log speaks of a redirect:\n%s", s.stderr)
	}
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	defer taken.Close() //nolint:errcheck // nothing was sent
	s = c.serve(append(domainFlags, "--redirect-addr", taken.Addr().String())...)
	s.wantLog(t, bothTried)
	s.wantLog(t, `level=WARN .*--redirect-addr off.*`+taken.Addr().String())
	s.end()
	if got := c.refused(2, "serve", "--redirect-addr", "off"); !strings.Contains(got, "--redirect-addr needs --domain") {
		t.Error(got)
	}
	if got := c.refused(2, append([]string{"serve", "--redirect-addr", "x"}, domainFlags...)...); !strings.Contains(got, "is not HOST:PORT") {
		t.Error(got)
	}
}
