package cmd_test

import (
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"govsvc/server/openapi"
)

// TestSandbox_ServesPrintedKey checks that the printed key works at the printed
// address, and that no file remains.
func TestSandbox_ServesPrintedKey(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		c := newCLIWithoutFile(t)
		tmp := newFolder(c, "tmp")
		p := c.execute(tmp, "sandbox")
		p.line("try ")
		lines := strings.Split(p.stdout.String(), "\n")
		var values []string
		for i, prefix := range []string{"listening on ", "base URL ", "test key ", "try "} {
			value, ok := strings.CutPrefix(lines[i], prefix)
			if !ok {
				t.Fatalf("line %d: %q, want %q", i+1, lines[i], prefix)
			}
			values = append(values, value)
		}
		url, base, key, try := values[0], values[1], values[2], values[3]
		if base != url+"/api/v1" || !strings.HasPrefix(key, "gds_test_") {
			t.Errorf("printed %s", p.stdout)
		}
		if status, body := c.get(base+"/risks", key); status != 200 || !strings.Contains(body, "[SANDBOX]") {
			t.Errorf("GET /risks: %d %s", status, body)
		}
		if status, body := c.get(base+"/audit", key); status != 200 {
			t.Errorf("GET /audit: %d %s", status, body)
		}
		if made := c.post(base+"/webhooks/subscriptions", key, "1", `{"url":"https://127.0.0.1:9443/hook"}`); !strings.Contains(made, `"secret":"whsec_`) {
			t.Errorf("a subscription on loopback: %s", made)
		}
		if _, err := exec.LookPath("curl"); err == nil {
			got, err := exec.CommandContext(t.Context(), "sh", "-c", try).CombinedOutput()
			if err != nil || !strings.HasPrefix(string(got), `{"object":"list"`) {
				t.Errorf("%s: %v, %s", try, err, got)
			}
		}
		p.end(signal)
		wantEmpty(t, tmp)
		if exists(c.env["GOVSVC_DB"]) {
			t.Error("it made a data file")
		}
	}
}

// TestSandbox_LeavesNothingAfterError checks that no file remains after an error.
func TestSandbox_LeavesNothingAfterError(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = taken.Close() }()
	path, err := program()
	must(t, err)
	for name, row := range map[string]struct{ tmp, addr, want string }{
		"an address in use":            {newFolder(c, "tmp"), taken.Addr().String(), "choose another address with --addr"},
		"no place for temporary files": {c.file("file", ""), "127.0.0.1:0", "a folder for the sandbox: "},
	} {
		p := exec.CommandContext(t.Context(), path, "sandbox", "--addr", row.addr)
		p.Env = append(os.Environ(), "TMPDIR="+row.tmp)
		said, err := p.CombinedOutput()
		if p.ProcessState.ExitCode() != 1 || !strings.Contains(string(said), row.want) || strings.Count(string(said), "\n") != 1 {
			t.Errorf("%s: %v, %s", name, err, said)
		}
	}
	wantEmpty(t, c.dir+"/tmp")
}

func TestSandbox_PrintsJSON(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s := c.execute(os.TempDir(), "sandbox", "--json", "--log-format", "json")
	s.has("\n", 1)
	at := decode[struct {
		Message, URL, Key, Try string
		BaseURL                string `json:"base_url"`
		Scopes                 []string
	}](t, s.stdout.String())
	if at.Message != "listening on "+at.URL || at.BaseURL != at.URL+"/api/v1" || !strings.Contains(at.Try, at.Key) || !slices.Equal(at.Scopes, openapi.Scopes()) {
		t.Errorf("got %+v", at)
	}
	if status, body := c.get(at.BaseURL+"/scorecard", at.Key); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	s.end(syscall.SIGTERM)
	if got := s.stderr.String(); strings.Contains(got, at.Key) || !strings.Contains(got, `"msg":"serving the sandbox"`) || strings.Count(s.stdout.String(), "\n") != 1 {
		t.Errorf("log %s", got)
	}
}
