package cmd_test

import (
	"encoding/json"
	"io"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestServe_AnswersRequests(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s := c.serve("--demo", "--log-format", "json")
	if !regexp.MustCompile(`^http://127\.0\.0\.1:\d+$`).MatchString(s.url) {
		t.Errorf("listening on %q", s.url)
	}
	risks := s.url + "/api/v1/risks"
	key := c.key("read:risks")
	test := c.testKey("read:risks")
	steps := []struct {
		what, url, key string
		status         int
		want           string
	}{
		{"alive", s.url + "/healthz", "", 200, ""},
		{"ready", s.url + "/readyz", "", 200, ""},
		{"no key", risks, "", 401, "missing_credential"},
		{"a key minted while it serves", risks, key, 200, `"object":"risk"`},
		{"a test key", risks, test, 200, "[SANDBOX]"},
		{"the index shows where it listens", s.url + "/api/v1/", "", 200, s.url + "/api/v1"},
	}
	for _, step := range steps {
		if status, body := c.get(step.url, step.key); status != step.status || !strings.Contains(body, step.want) {
			t.Errorf("%s: %d %s, want %d and %s", step.what, status, body, step.status, step.want)
		}
	}
	c.must("orgs", "set", "default", "--subscription", "past_due")
	if status, body := c.get(risks, key); status != 403 || !strings.Contains(body, "subscription_inactive") {
		t.Errorf("past due: %d %s, want 403", status, body)
	}
	c.must("orgs", "set", "default", "--subscription", "active")
	c.must("keys", "revoke", key[:len("gds_live_")+12])
	if status, body := c.get(risks, key); status != 401 || !strings.Contains(body, "invalid_api_key") {
		t.Errorf("revoked: %d %s, want 401", status, body)
	}
	s.end()
	if log := s.stderr.String(); !strings.Contains(log, "loaded the demonstration data: ") || !strings.Contains(log, `"msg":"serving"`) {
		t.Errorf("log:\n%s", log)
	}
	if got := c.must("keys", "list", "--json"); strings.Contains(got, `"last_used_at": null`) {
		t.Errorf("the last use is not stored at the end: %s", got)
	}
}

func TestServe_KeepsDataWithDemo(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("import", c.file("signals.ndjson", signals))
	before := c.must("export")
	s := c.serve("--demo")
	s.end()
	if !strings.Contains(s.stderr.String(), "already has records: the demonstration data is not loaded\n") {
		t.Errorf("log:\n%s", s.stderr)
	}
	if after := c.must("export"); after != before {
		t.Errorf("the data changed: %s", after)
	}
}

func TestServe_ShowsBaseURL(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s := c.serve("--base-url", "https://gov.example.com/", "--trusted-proxy", "10.0.0.0/8,::1", "--anonymous-rpm", "0")
	if _, body := c.get(s.url+"/api/v1/", ""); !strings.Contains(body, `"https://gov.example.com/api/v1`) {
		t.Errorf("index: %s", body)
	}
	s.end()
}

func TestServe_RefusesAddressInUse(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s := c.serve()
	_, port, _ := strings.Cut(strings.TrimPrefix(s.url, "http://"), ":")
	if got := c.refused(1, "serve", "--addr", "127.0.0.1:"+port); !strings.Contains(got, "can't listen on 127.0.0.1:"+port) ||
		!strings.Contains(got, "choose another address with --addr") {
		t.Error(got)
	}
	s.end()
}

// TestOpenAPI_EqualsServedDocument checks that the command prints the document that the
// server serves, with the address and the contact of the service.
func TestOpenAPI_EqualsServedDocument(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	printed := c.must("openapi")
	if plain := c.must("openapi", "--json"); plain != printed || !json.Valid([]byte(printed)) || strings.Count(printed, "\n") != 1 {
		t.Errorf("not one line of JSON, or another one with --json: %.200s", printed)
	}
	for _, row := range []struct{ serve, openapi []string }{
		{nil, nil},
		{[]string{"--base-url", "https://gov.example.com/", "--contact", "api@example.com"}, []string{"--base-url", "https://gov.example.com", "--contact", "api@example.com"}},
		{[]string{"--base-url", "https://gov.example.com"}, []string{"--base-url", "https://gov.example.com"}},
	} {
		s := c.serve(row.serve...)
		if row.openapi == nil {
			row.openapi = []string{"--base-url", s.url}
		}
		printed := c.must(append([]string{"openapi"}, row.openapi...)...)
		if status, served := c.get(s.url+"/api/v1/openapi.json", ""); status != 200 || strings.TrimSpace(served) != strings.TrimSpace(printed) {
			t.Errorf("%d, and the server's document is another one: %.200s", status, served)
		}
		if !strings.Contains(printed, `"servers":[{"url":"`+row.openapi[1]+`/api/v1"`) || strings.Contains(printed, `"contact":`) != (len(row.openapi) > 2) {
			t.Errorf("the document names another service than %v", row.openapi)
		}
		s.end()
	}
}

// TestServe_AnswersRunningRequestOnSignal checks that a request that runs when a signal
// arrives is answered, and that new connections are refused.
func TestServe_AnswersRunningRequestOnSignal(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		c := newCLI(t)
		p := c.execute(os.TempDir(), "serve", "--addr", "127.0.0.1:0")
		url := p.line("listening on ")
		request := beginPostRisk(c, url)
		must(t, p.Process.Signal(signal))
		awaitClosed(c, url)
		_, _ = io.WriteString(request.body, `{"title":"A running request","description":"It began before the signal.","severity":"LOW","likelihood":"RARE"}`)
		_ = request.body.Close()
		if got := <-request.answered; got != "201 Created" {
			t.Errorf("%v: the running request got %s", signal, got)
		}
		if err := p.Wait(); err != nil {
			t.Errorf("%v: %v, want exit status 0: %s", signal, err, p.stderr)
		}
		if got := c.must("export", "--type", "risk"); !strings.Contains(got, "A running request") {
			t.Errorf("%v: what was answered is not stored: %s", signal, got)
		}
	}
}

func TestServe_EndsOnSecondSignal(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	p := c.execute(os.TempDir(), "serve", "--addr", "127.0.0.1:0")
	url := p.line("listening on ")
	request := beginPostRisk(c, url)
	_ = p.Process.Signal(syscall.SIGTERM)
	awaitClosed(c, url)
	began := time.Now()
	_ = p.Process.Signal(syscall.SIGTERM)
	if err := p.Wait(); err == nil || time.Since(began) > 15*time.Second {
		t.Errorf("%v after %v, want an end at once by the signal", err, time.Since(began))
	}
	_ = request.body.Close()
}
