package cmd_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"govsvc/cmd"
	"govsvc/internal/testkit"
)

// cli runs commands on a data file of its own.
type cli struct {
	t   *testing.T
	dir string
	env map[string]string
}

func newCLI(t *testing.T) *cli {
	t.Helper()
	dir := t.TempDir()
	return &cli{t, dir, map[string]string{"GOVSVC_DB": filepath.Join(dir, "govsvc.db")}}
}

// outcome is what one run came to.
type outcome struct {
	status         int
	stdout, stderr string
}

func (c *cli) run(args ...string) outcome { return c.runOn("", args...) }

func (c *cli) runOn(stdin string, args ...string) outcome {
	c.t.Helper()
	var stdout, stderr bytes.Buffer
	status := cmd.Run(c.t.Context(), args, strings.NewReader(stdin), &stdout, &stderr, c.lookup)
	return outcome{status, stdout.String(), stderr.String()}
}

func (c *cli) lookup(name string) (string, bool) {
	if name == "GOMEMLIMIT" { // a limit would be that of all tests of this process
		return "off", true
	}
	value, ok := c.env[name]
	return value, ok
}

// must runs a command that has to succeed, and returns its result.
func (c *cli) must(args ...string) string {
	c.t.Helper()
	o := c.run(args...)
	if o.status != 0 {
		c.t.Fatalf("%q: status %d: %s", args, o.status, o.stderr)
	}
	return o.stdout
}

// refused runs a command that has to fail with this status and one line of
// error, which it returns.
func (c *cli) refused(status int, args ...string) string {
	c.t.Helper()
	o := c.run(args...)
	if o.status != status {
		c.t.Errorf("%q: status %d, want %d", args, o.status, status)
	}
	if o.stdout != "" {
		c.t.Errorf("%q: stdout %q, want none", args, o.stdout)
	}
	line, isOne := strings.CutSuffix(o.stderr, "\n")
	if !isOne || strings.Contains(line, "\n") || !strings.HasPrefix(line, "govsvc: ") || strings.Contains(line, "Usage:") {
		c.t.Errorf("%q: stderr %q, want one line of error", args, o.stderr)
	}
	return line
}

// file writes a file into the folder and returns its path.
func (c *cli) file(name, text string) string {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

func (c *cli) read(path string) string {
	c.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

var changing = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`), "<id>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`), "<time>"},
	{regexp.MustCompile(`gds_(live|test)_[0-9A-Za-z]{52}`), "<$1 key>"},
	{regexp.MustCompile(`gds_(live|test)_[0-9A-Za-z]{12}\b`), "<$1 prefix>"},
}

// settled replaces what differs from run to run.
func settled(text string) string {
	for _, c := range changing {
		text = c.pattern.ReplaceAllString(text, c.name)
	}
	return text
}

// golden compares a result with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	testkit.Golden(t, name, settled(got))
}

func TestPanicIsOneLine(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	env := func(string) (string, bool) { panic("of the\ntest") }
	status := cmd.Run(t.Context(), []string{"version"}, nil, &stdout, &stderr, env)
	if want := "govsvc: internal error: of the; test; please report this with the command you ran\n"; status != 1 || stderr.String() != want {
		t.Errorf("status %d, stderr %q, want 1, %q", status, stderr.String(), want)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestResultThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"version"}, {"version", "--json"}, {"openapi"}, {"keys", "--help"}, {"orgs", "list"}, {"export", "--json"}} {
		c := newCLI(t)
		c.must("orgs", "create", "acme")
		var stderr bytes.Buffer
		status := cmd.Run(t.Context(), args, nil, fullDisk{}, &stderr, c.lookup)
		if status != 1 || strings.Count(stderr.String(), "\n") != 1 || !strings.Contains(stderr.String(), "no space left") {
			t.Errorf("%q: status %d, stderr %q", args, status, stderr.String())
		}
	}
}

// TestInterrupt cancels commands that wait for an input that never ends.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"import", "-"}, {"keys", "import", "--name", "n", "--scope", "read:all"}, {"users", "add", "n", "--role", "viewer"}} {
		c := newCLI(t)
		endless, w := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		var stderr bytes.Buffer
		status := cmd.Run(ctx, args, endless, io.Discard, &stderr, c.lookup)
		if want := "govsvc: interrupted; what was under way was left undone\n"; status != 1 || stderr.String() != want {
			t.Errorf("%q: status %d, stderr %q, want 1, %q", args, status, stderr.String(), want)
		}
		_ = w.Close()
	}
}
