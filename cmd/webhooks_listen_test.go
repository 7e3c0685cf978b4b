package cmd_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

func TestWebhooksListen_PrintsWebhooks(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s, url, ca := c.listen()
	client := trustingFile(c, ca)
	const event = `{"id":"evt_1","type":"ping","data":{"text":"\u001b[31m <&> ` + "\u202e" + `"}}`
	for _, row := range []struct {
		name, method, body string
		status             int
		answer, printed    string
	}{
		{"an event", "POST", event, 200, "received, unverified\n", " ping unverified\n  event     evt_1\n  delivery  \n  answered  200\n  {\n    \"id\": \"evt_1\",\n" +
			"    \"type\": \"ping\",\n    \"data\": {\n      \"text\": \"\\u001b[31m <&>  \"\n    }\n  }\n"},
		{"the event again", "POST", event, 200, "received, unverified\n", "  event     evt_1 (seen 2 times)\n"},
		{"not JSON", "POST", "a\x1b[31m\nb", 200, "received, unverified\n", "  answered  200\n  \"a\\u001b[31m\\nb\"\n"},
		{"nothing", "POST", "", 200, "received, unverified\n", "  answered  200\n  \"\"\n"},
		{"another method", "GET", "", 405, "this is `govsvc webhooks listen`: it receives webhooks, by POST\n", ""},
		{"the longest", "POST", strings.Repeat("1", 4<<20), 200, "received, unverified\n", ""},
		{"too long", "POST", strings.Repeat("1", 4<<20+1), 413, "a webhook has at most 4194304 bytes\n", ""},
	} {
		before := len(s.stdout.String())
		r := c.do(client, c.request(row.method, url+"/any/path?x=1", "", strings.NewReader(row.body)))
		if r.status != row.status || r.body != row.answer {
			t.Errorf("%s: %d %q, want %d %q", row.name, r.status, r.body, row.status, row.answer)
		}
		if printed := s.stdout.String()[before:]; !strings.Contains(printed, row.printed) || row.status != 200 && printed != "" || strings.ContainsAny(printed, "\x1b\u202e") {
			t.Errorf("%s: printed %.500q, want %q", row.name, printed, row.printed)
		}
	}
	s.end()
	if s.stderr.String() != "" && !strings.Contains(s.stderr.String(), "TLS handshake error") {
		t.Errorf("stderr %s", s.stderr)
	}
}

// TestWebhooksListen_Forwards checks that a webhook is forwarded unchanged, and
// that the sender gets the target's response.
func TestWebhooksListen_Forwards(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	var seen atomic.Pointer[http.Request]
	var body atomic.Value
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		body.Store(string(text))
		seen.Store(r)
		w.Header().Set("Retry-After", "7")
		w.Header().Set("Location", "https://elsewhere.example.com/")
		w.WriteHeader(307)
		_, _ = io.WriteString(w, "later")
	}))
	t.Cleanup(target.Close)
	s, url, ca := c.listen("--secret", secret, "--forward-to", target.URL+"/hook?token=1")
	trigger := func(at, secret string) outcome {
		return c.run("webhooks", "trigger", "risk.created", "--url", at, "--secret", secret, "--webhook-ca", ca)
	}
	if o := trigger(url, secret); o.status != 1 || !strings.HasPrefix(o.stdout, "rejected: 307 in ") || !strings.Contains(o.stdout, "\nanswer: later\n") {
		t.Errorf("forwarded: %+v", o)
	}
	r := seen.Load()
	if r == nil || r.RequestURI != "/hook?token=1" || !strings.Contains(body.Load().(string), `"type":"risk.created"`) {
		t.Fatalf("the target got %+v, %v", r, body.Load())
	}
	for _, name := range []string{"X-Service-Signature", "X-Service-Event", "X-Service-Delivery", "Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"} {
		if r.Header.Get(name) == "" {
			t.Errorf("no %s: %v", name, r.Header)
		}
	}
	if r.Header.Get("Content-Type") != "application/json" || !strings.HasPrefix(r.Header.Get("User-Agent"), "govsvc/") || r.Header.Get("Accept-Encoding") != "" {
		t.Errorf("headers were changed: %v", r.Header)
	}
	seen.Store(nil)
	if o := trigger(url, "whsec_AAAA"); o.status != 1 || !strings.HasPrefix(o.stdout, "rejected: 401 in ") || seen.Load() != nil {
		t.Errorf("a bad signature: %+v, sent on %v", o, seen.Load())
	}
	target.Close()
	if o := trigger(url, secret); o.status != 1 || !strings.HasPrefix(o.stdout, "rejected: 502 in ") || !strings.Contains(o.stdout, "refused") {
		t.Errorf("unreachable: %+v", o)
	}
	s.end()
	for _, want := range []string{
		": " + target.URL + "/hook?token=1 answered 307 in ",
		" risk.created BAD SIGNATURE: X-Service-Signature does not match",
		": " + target.URL + "/hook?token=1 can't be reached: dial tcp ",
	} {
		if strings.Count(s.stdout.String(), want) != 1 {
			t.Errorf("no %q in %s", want, s.stdout)
		}
	}
}

// TestWebhooksListen_KeepsAuthority checks that a stored authority is used
// again.
func TestWebhooksListen_KeepsAuthority(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	path := c.dir + "/ca.pem"
	for range 2 {
		s, url, ca := c.listen("--ca", path, "--addr", "0.0.0.0:0")
		if ca != path || !strings.HasPrefix(url, "https://0.0.0.0:") {
			t.Errorf("%s, trust %s", url, ca)
		}
		before := c.read(path)
		_, port, _ := strings.Cut(strings.TrimPrefix(url, "https://"), ":")
		c.must("webhooks", "trigger", "ping", "--url", "https://localhost:"+port, "--secret", secret, "--webhook-ca", path)
		s.end()
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 || c.read(path) != before {
			t.Errorf("%v, %v, or another text", info.Mode(), err)
		}
	}
	certificate, _, _ := strings.Cut(c.read(path), "-----BEGIN PRIVATE")
	for name, text := range map[string]string{"empty": "", "without.key": certificate, "text": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"} {
		if got := c.refused(1, "webhooks", "listen", "--ca", c.file(name, text)); !strings.Contains(got, "does not contain a certificate authority that this command made; name a file that does not exist") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := c.refused(1, "webhooks", "listen", "--ca", c.dir+"/none/ca.pem"); !strings.Contains(got, "--ca: "+c.dir+"/none/ca.pem: no such") {
		t.Error(got)
	}
}

// TestWebhooksListen_EndsOnSignal checks that a signal ends the receiver with status
// 0 and that no file remains.
func TestWebhooksListen_EndsOnSignal(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		c := newCLI(t)
		tmp := newFolder(c, fmt.Sprintf("tmp-%d", signal))
		p := c.execute(tmp, "webhooks", "listen")
		p.line("trust ")
		p.end(signal)
		wantEmpty(t, tmp)
	}
}
