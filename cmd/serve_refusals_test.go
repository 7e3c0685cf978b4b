package cmd_test

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// send writes text to a server and reads the response, over TLS for an https
// URL.
func send(t *testing.T, url, text string) (*http.Response, string) {
	t.Helper()
	conn := dialFrom(t.Context(), url, "127.0.0.1")
	if conn == nil {
		t.Fatalf("can't connect to %s", url)
	}
	if strings.HasPrefix(url, "https") {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}) //nolint:gosec // not the subject
	}
	defer conn.Close() //nolint:errcheck // read to its end
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	go func() { _, _ = io.WriteString(conn, text) }() // the server may answer before it has read everything
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Errorf("%.60q: %v", text, err)
		return &http.Response{}, ""
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Errorf("%.60q: %v", text, err)
	}
	return response, string(body)
}

// unreadable are requests that package net/http refuses by itself.
var unreadable = []struct {
	name, text string
	status     int
	message    string
}{
	{"path", "GET /api/v1/risks/%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400, "the escapes in the path"},
	{"path of a page", "GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400, "the escapes in the path"},
	{"request line", "GET\r\n\r\n", 400, "the request line"},
	{"garbage", "\x01\x02\x03\x04\r\n\r\n", 400, "the request line"},
	{"header without a colon", "GET /healthz HTTP/1.1\r\nHost x\r\n\r\n", 400, "headers"},
	{"header with a space", "GET /healthz HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n", 400, "invalid header name"},
	{"no Host", "GET /healthz HTTP/1.1\r\n\r\n", 400, "missing required Host header"},
	{"bad Host", "GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n", 400, "malformed Host header"},
	{"value with a NUL", "GET /healthz HTTP/1.1\r\nHost: x\r\nA: \x00\r\n\r\n", 400, "headers"},
	{"Content-Length", "POST /api/v1/risks HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n", 400, "headers"},
	{"two lengths", "POST /api/v1/risks HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, "headers"},
	{"header of 1 MB", "GET /api/v1/risks HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", 1<<20) + "\r\n\r\n", 431, "32 KB"},
	{"transfer coding", "POST /api/v1/risks HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501, "Transfer-Encoding"},
	{"version 0.9", "GET /healthz HTTP/0.9\r\nHost: x\r\n\r\n", 505, "HTTP/1.1"},
	{"version 3.0", "GET /healthz HTTP/3.0\r\nHost: x\r\n\r\n", 505, "HTTP/1.1"},
	{"Expect", "POST /api/v1/risks HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\nContent-Length: 2\r\n\r\n{}", 417, "100-continue"},
}

// TestServe_RefusesBeforeRouting checks that requests that never reach a
// handler get the error envelope and the headers of all responses.
func TestServe_RefusesBeforeRouting(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	plain := c.serve("--access-log")
	secure, _ := serveTLS(c)
	for _, s := range []*server{plain, secure} {
		for _, row := range unreadable {
			response, body := send(t, s.url, row.text) //nolint:bodyclose // send reads it to its end
			wantRefusal(t, row.name, response, body, row.status, row.message)
			if got := response.Header.Get("Strict-Transport-Security"); (got != "") != (s == secure) {
				t.Errorf("%s: Strict-Transport-Security %q at %s", row.name, got, s.url)
			}
		}
	}
	response, body := send(t, "http"+strings.TrimPrefix(secure.url, "https"), "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") //nolint:bodyclose // send reads it to its end
	wantRefusal(t, "plain HTTP to https", response, body, 400, "https://")
	for _, target := range []string{"OPTIONS *", "CONNECT x:1"} {
		response, body = send(t, plain.url, target+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") //nolint:bodyclose // send reads it to its end
		if response.StatusCode != 404 || response.Header.Get("X-Request-Id") == "" || !strings.Contains(body, `"code":"not_found"`) {
			t.Errorf("%s: %d %s", target, response.StatusCode, body)
		}
	}
	plain.end()
	secure.end()
	if got := strings.Count(plain.stderr.String(), "status=431"); got != 1 {
		t.Errorf("the access log has %d lines with status 431, want 1", got)
	}
}

func wantRefusal(t *testing.T, name string, response *http.Response, body string, status int, message string) {
	t.Helper()
	var envelope struct {
		Error struct {
			Type, Code, Message string
			RequestID           string `json:"request_id"`
		}
	}
	err := json.Unmarshal([]byte(body), &envelope)
	h, e := response.Header, envelope.Error
	if err != nil || response.StatusCode != status || e.Type != "invalid_request_error" || e.Code != "invalid_parameter" || !strings.Contains(e.Message, message) ||
		e.RequestID == "" || e.RequestID != h.Get("X-Request-Id") || h.Get("Content-Type") != "application/json" || !response.Close {
		t.Errorf("%s: %d %v %s, want %d and %q", name, response.StatusCode, h, body, status, message)
	}
	for _, name := range []string{"Service-Version", "Service-Environment", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "X-Content-Type-Options", "Date"} {
		if h.Get(name) == "" {
			t.Errorf("%d: no header %s: %v", status, name, h)
		}
	}
}

// TestServe_RefusesInPipeline checks that a malformed request after a valid one
// is refused after the response to the valid one.
func TestServe_RefusesInPipeline(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s := c.serve()
	conn := c.dial(s.url, "127.0.0.1")
	_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /%zz HTTP/1.1\r\nHost: x\r\n\r\n")
	in := bufio.NewReader(conn)
	for _, want := range []int{200, 400} {
		response, err := http.ReadResponse(in, nil) //nolint:bodyclose // the connection is closed instead
		must(t, err)
		body, _ := io.ReadAll(response.Body)
		if response.StatusCode != want {
			t.Errorf("got %d, want %d", response.StatusCode, want)
		}
		if want == 400 {
			wantRefusal(t, "second", response, string(body), 400, "the escapes in the path")
		}
	}
	s.end()
}

// TestServe_CountsRefusals checks that unreadable requests count for their
// address.
func TestServe_CountsRefusals(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s := c.serve("--anonymous-rpm", "3")
	last := 0
	for range 6 {
		response, _ := send(t, s.url, "GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n") //nolint:bodyclose // send reads it to its end
		if last = response.StatusCode; last == 429 && response.Header.Get("Retry-After") == "" {
			t.Error("a 429 without Retry-After")
		}
	}
	if last != 429 {
		t.Errorf("the last of 6 requests got %d, want 429", last)
	}
	s.end()
}

// TestServe_LogsFailedHandshakesTogether checks that 3,000 failed handshakes make few lines
// in the log, and that these have the number.
func TestServe_LogsFailedHandshakesTogether(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s, _ := serveTLS(c, "--log-format", "json")
	const handshakes = 3000
	for i := range handshakes {
		conn := c.dial(s.url, "127.0.0.1")
		_, _ = io.WriteString(conn, "no TLS at all\r\n\r\n"[:10+i%4])
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		_, _ = io.Copy(io.Discard, conn) // until the server closes it
		_ = conn.Close()
	}
	s.end()
	lines, counted := 0, 0
	for line := range strings.Lines(s.stderr.String()) {
		var entry struct {
			Level, Msg, Address string
			Count               int
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Level != "WARN" {
			continue
		}
		lines++
		if counted += entry.Count; entry.Count == 0 {
			counted++
		}
		if entry.Address != "127.0.0.1" || entry.Msg != "TLS handshake failed" {
			t.Errorf("unexpected line %s", line)
		}
	}
	if lines > 30 || counted != handshakes {
		t.Errorf("%d lines about %d handshakes, want at most 30 about %d", lines, counted, handshakes)
	}
}

// TestServe_RefusesLongHeadsOfStreams checks that HTTP/2 has the same limit of a
// request's head.
func TestServe_RefusesLongHeadsOfStreams(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s, client := serveTLS(c)
	for size, want := range map[int]int{30_000: 200, 40_000: 431, 60_000: 431} {
		request := c.request(http.MethodGet, s.url+"/healthz", "", nil)
		request.Header.Set("X-Long", strings.Repeat("x", size))
		response, err := client.Do(request)
		must(t, err)
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.ProtoMajor != 2 || response.StatusCode != want {
			t.Errorf("a head of %d bytes: HTTP/%d %d, want %d", size, response.ProtoMajor, response.StatusCode, want)
		}
		if want == 431 {
			response.Close = true // HTTP/2 has no Connection header
			wantRefusal(t, "long head", response, string(body), 431, "32 KB")
		}
	}
	s.end()
}
