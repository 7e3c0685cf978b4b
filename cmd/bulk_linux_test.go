package cmd_test

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"govsvc/internal/testkit"
)

var writing = regexp.MustCompile(`writing, [1-9][0-9,]* rows, [1-9][0-9,]* rows/s +\d+%`)

// TestImport_LeavesNothingWhenInterrupted interrupts an import that is writing, at a
// terminal, while another connection has the file open. The import must store nothing.
// The same import then succeeds and empties the write-ahead log.
func TestImport_LeavesNothingWhenInterrupted(t *testing.T) {
	t.Parallel()
	path, err := program()
	must(t, err)
	c := newCLI(t)
	c.must("import", c.file("signals.ndjson", signals))
	c.subscribe("https://192.0.2.1") // events are only stored while a subscription exists
	before := c.must("export")
	other, err := sql.Open("sqlite", "file:"+c.env["GOVSVC_DB"]+"?mode=ro")
	must(t, err)
	defer other.Close() //nolint:errcheck // read only
	count := func() (risks, events int) {
		t.Helper()
		must(t, other.QueryRowContext(t.Context(), "SELECT (SELECT count(*) FROM risks), (SELECT count(*) FROM events)").Scan(&risks, &events))
		return risks, events
	}
	count() // keeps the file open, so that the import is not the last to close it
	const rows = 12_000
	var text strings.Builder
	text.WriteString("risk_id,description,severity\n")
	for i := range rows {
		fmt.Fprintf(&text, "RISK-%06d,%s,HIGH\n", i, strings.Repeat("The exposure is reported late. ", 20))
	}
	file := c.file("risks.csv", text.String())

	run := func(during func(*exec.Cmd, *testkit.LogBuffer)) (int, string) {
		t.Helper()
		end, screen := newTerminal(t)
		p := exec.CommandContext(t.Context(), path, "import", "--type", "risk", file)
		p.Env, p.Stdout, p.Stderr = append(os.Environ(), "GOVSVC_DB="+c.env["GOVSVC_DB"]), io.Discard, end
		must(t, p.Start())
		_ = end.Close()
		shown, read := &testkit.LogBuffer{}, make(chan bool)
		go func() {
			defer close(read)
			_, _ = io.Copy(shown, screen) // ends with the program
		}()
		during(p, shown)
		var failed *exec.ExitError
		if err := p.Wait(); err != nil && !errors.As(err, &failed) {
			t.Fatal(err)
		}
		<-read
		if info, err := os.Stat(c.env["GOVSVC_DB"] + "-wal"); err == nil && info.Size() > 0 {
			t.Errorf("got a write-ahead log of %d bytes, want it empty", info.Size())
		}
		return p.ProcessState.ExitCode(), shown.String()
	}

	status, shown := run(func(p *exec.Cmd, shown *testkit.LogBuffer) {
		testkit.Eventually(t, func() bool { return writing.MatchString(shown.String()) }, "%s on the terminal: %s", writing, shown)
		if err := p.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
	})
	last := shown[strings.LastIndex(strings.TrimRight(shown, "\r\n"), "\r")+1:]
	if want := "govsvc: interrupted; the command was not completed\r\n"; status != 1 || !strings.HasSuffix(last, want) {
		t.Errorf("status %d, %q, want 1, %q", status, last, want)
	}
	if risks, events := count(); risks != 0 || events != 0 {
		t.Errorf("an interrupted import left %d risks, %d events", risks, events)
	}
	if after := c.must("export"); after != before {
		t.Errorf("an interrupted import changed the records: %s", after)
	}

	if status, shown := run(func(*exec.Cmd, *testkit.LogBuffer) {}); status != 0 {
		t.Errorf("status %d: %q", status, shown)
	}
	if risks, events := count(); risks != rows || events != rows {
		t.Errorf("%d risks, %d events, want %d each", risks, events, rows)
	}
}
