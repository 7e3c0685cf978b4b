package cmd_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"govsvc/cmd"
)

func TestRun_ReportsPanicInOneLine(t *testing.T) {
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

func TestRun_FailsWithoutWrittenResult(t *testing.T) {
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

// TestRun_ReportsInterrupt cancels commands that wait for an endless input.
func TestRun_ReportsInterrupt(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"import", "-"}, {"keys", "import", "--name", "n", "--scope", "read:all"}, {"users", "add", "n", "--role", "viewer"}} {
		c := newCLI(t)
		endless, w := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		var stderr bytes.Buffer
		status := cmd.Run(ctx, args, endless, io.Discard, &stderr, c.lookup)
		if want := "govsvc: interrupted; the command was not completed\n"; status != 1 || stderr.String() != want {
			t.Errorf("%q: status %d, stderr %q, want 1, %q", args, status, stderr.String(), want)
		}
		_ = w.Close()
	}
}
