package cmd_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"govsvc/cmd"
	"govsvc/internal/testkit"
)

// serving is a server under test.
type serving struct {
	url    string
	stop   func() // what a signal does
	ended  chan int
	stderr *testkit.LogBuffer
}

// serve starts a server on a free port of loopback, in this process.
func (c *cli) serve(flags ...string) *serving {
	c.t.Helper()
	ctx, stop := context.WithCancel(c.t.Context())
	s := &serving{stop: stop, ended: make(chan int, 1), stderr: &testkit.LogBuffer{}}
	stdout, w := io.Pipe()
	go func() {
		status := cmd.Run(ctx, append([]string{"serve", "--addr", "127.0.0.1:0"}, flags...), nil, w, s.stderr, c.lookup)
		_ = w.Close()
		s.ended <- status
	}()
	s.url = c.listening(stdout)
	return s
}

// listening reads the line that says that a server is ready.
func (c *cli) listening(stdout io.Reader) string {
	c.t.Helper()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "listening on ")
	if err != nil || !ok {
		c.t.Fatalf("first line %q, %v, want listening on …", line, err)
	}
	return url
}

// end stops the server and wants it to end in order.
func (c *cli) end(s *serving) {
	c.t.Helper()
	s.stop()
	select {
	case status := <-s.ended:
		if status != 0 {
			c.t.Errorf("status %d, want 0; log:\n%s", status, s.stderr)
		}
	case <-time.After(30 * time.Second):
		c.t.Fatal("it did not end")
	}
}

func (c *cli) get(url, key string) (int, string) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, url, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(key))
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestServe(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s := c.serve("--demo", "--log-format", "json")
	if !regexp.MustCompile(`^http://127\.0\.0\.1:\d+$`).MatchString(s.url) {
		t.Errorf("listening on %q", s.url)
	}
	risks := s.url + "/api/v1/risks"
	key := c.must("keys", "mint", "--name", "n", "--scope", "read:risks")
	test := c.must("keys", "mint", "--name", "n", "--scope", "read:risks", "--test")
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
	c.end(s)
	if log := s.stderr.String(); !strings.Contains(log, "loaded the demonstration data: ") || !strings.Contains(log, `"msg":"serving"`) {
		t.Errorf("log:\n%s", log)
	}
	if got := c.must("keys", "list", "--json"); strings.Contains(got, `"last_used_at": null`) {
		t.Errorf("the last use is not stored at the end: %s", got)
	}
}

func TestServeDemoOnData(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("import", c.file("signals.ndjson", signals))
	before := c.must("export")
	s := c.serve("--demo")
	c.end(s)
	if !strings.Contains(s.stderr.String(), "has records already: the demonstration data is not loaded\n") {
		t.Errorf("log:\n%s", s.stderr)
	}
	if after := c.must("export"); after != before {
		t.Errorf("the data changed: %s", after)
	}
}

func TestServeBaseURL(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s := c.serve("--base-url", "https://gov.example.com/", "--trusted-proxy", "10.0.0.0/8,::1", "--anonymous-rpm", "0")
	if _, body := c.get(s.url+"/api/v1/", ""); !strings.Contains(body, `"https://gov.example.com/api/v1`) {
		t.Errorf("index: %s", body)
	}
	c.end(s)
}

func TestServeAddressInUse(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s := c.serve()
	_, port, _ := strings.Cut(strings.TrimPrefix(s.url, "http://"), ":")
	if got := c.refused(1, "serve", "--addr", "127.0.0.1:"+port); !strings.Contains(got, "can't listen on 127.0.0.1:"+port) ||
		!strings.Contains(got, "choose another address with --addr") {
		t.Error(got)
	}
	c.end(s)
}

// TestOpenAPI: the command prints what the server serves, with the address and
// the contact of the service.
func TestOpenAPI(t *testing.T) {
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
		c.end(s)
	}
}

// builds is the folder of the program, for what only a process can show.
var builds string

// program builds it once, if a test asks for it.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(builds, "govsvc")
	build := exec.Command("go", "build", "-o", path, "govsvc") //nolint:noctx // outlives the test that asks first
	build.Stderr = os.Stderr
	return path, build.Run()
})

func TestMain(m *testing.M) {
	var err error
	if builds, err = os.MkdirTemp("", "govsvc-test-"); err != nil {
		panic(err)
	}
	status := m.Run()
	_ = os.RemoveAll(builds)
	os.Exit(status)
}

// running is a request whose body is being read by the server.
type running struct {
	body     *io.PipeWriter
	answered chan string // the status of the answer, or the error
}

// postRisk begins a request and returns once the server waits for its body.
func (c *cli) postRisk(url string) running {
	c.t.Helper()
	key := c.must("keys", "mint", "--name", "n", "--scope", "write:risks")
	begun := make(chan struct{})
	ctx := httptrace.WithClientTrace(c.t.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(begun) }})
	body, w := io.Pipe()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/v1/risks", body)
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(key))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", "once")
	request.Header.Set("Expect", "100-continue")
	r := running{w, make(chan string, 1)}
	go func() {
		client := http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}
		response, err := client.Do(request)
		if err != nil {
			r.answered <- err.Error()
			return
		}
		_ = response.Body.Close()
		r.answered <- response.Status
	}()
	select {
	case <-begun:
	case early := <-r.answered:
		c.t.Fatalf("the request ended early: %s", early)
	}
	return r
}

// TestSignal: a request that runs when the signal comes is answered, and new
// connections are refused meanwhile.
func TestSignal(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		c := newCLI(t)
		p := c.execute(os.TempDir(), "serve", "--addr", "127.0.0.1:0")
		url := p.line("listening on ")
		request := c.postRisk(url)
		must(t, p.process.Process.Signal(signal))
		c.waitUntilClosed(url)
		_, _ = io.WriteString(request.body, `{"title":"A running request","description":"It began before the signal.","severity":"LOW","likelihood":"RARE"}`)
		_ = request.body.Close()
		if got := <-request.answered; got != "201 Created" {
			t.Errorf("%v: the running request got %s", signal, got)
		}
		if err := p.process.Wait(); err != nil {
			t.Errorf("%v: %v, want exit status 0: %s", signal, err, p.stderr)
		}
		if got := c.must("export", "--type", "risk"); !strings.Contains(got, "A running request") {
			t.Errorf("%v: what was answered is not stored: %s", signal, got)
		}
	}
}

func TestSecondSignal(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	p := c.execute(os.TempDir(), "serve", "--addr", "127.0.0.1:0")
	url := p.line("listening on ")
	request := c.postRisk(url)
	_ = p.process.Process.Signal(syscall.SIGTERM)
	c.waitUntilClosed(url)
	began := time.Now()
	_ = p.process.Process.Signal(syscall.SIGTERM)
	if err := p.process.Wait(); err == nil || time.Since(began) > 15*time.Second {
		t.Errorf("%v after %v, want an end at once by the signal", err, time.Since(began))
	}
	_ = request.body.Close()
}

// waitUntilClosed waits until a server takes no new connections.
func (c *cli) waitUntilClosed(url string) {
	c.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for range 200 {
		request, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, url+"/healthz", nil)
		if err != nil {
			c.t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			return
		}
		_ = response.Body.Close()
		time.Sleep(10 * time.Millisecond)
	}
	c.t.Fatal("it still takes connections")
}
