package cmd_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	signals = `{"object": "signal", "signal_type": "drift", "module_id": "m1", "numeric_value": 1.5, "rag": "RED", "as_of": "2026-09-01T00:00:00Z"}
{"object": "signal", "signal_type": "usage", "module_id": "m1", "as_of": "2026-09-01T00:00:00Z"}
`
	faulty = `{"object": "signal", "signal_type": "drift", "module_id": "m1", "as_of": "2026-09-01T00:00:00Z"}
{"object": "signal", "module_id": "m1", "rag": "BLUE", "as_of": "2026-09-01T00:00:00Z"}

{"object": "\u001b[31mnothing"}
`
)

func TestImport_CreatesAndUpdates(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	path := c.file("signals.ndjson", signals)
	const header = "TYPE    CREATED  UPDATED  UNCHANGED\n"
	if got, want := c.must("import", path), header+"signal  2        0        0\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := c.must("import", path), header+"signal  0        0        2\n"; got != want {
		t.Errorf("again: got %q, want %q", got, want)
	}
	o := c.runOn(strings.Replace(signals, "RED", "GREEN", 1), "import", "-")
	if want := header + "signal  0        1        1\n"; o.status != 0 || o.stdout != want || o.stderr != "" {
		t.Errorf("from stdin: got %+v, want %q", o, want)
	}
	golden(t, "import.json", c.must("import", "--json", path, c.file("more.json", "["+strings.Replace(strings.Split(signals, "\n")[1], "usage", "cost", 1)+"]")))
}

func TestImport_ReportsInvalidRows(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("orgs", "create", "acme")
	good, bad := c.file("good.ndjson", signals), c.file("bad.ndjson", faulty)
	o := c.run("import", good, bad)
	if o.status != 1 || o.stdout != "" {
		t.Errorf("status %d, stdout %q", o.status, o.stdout)
	}
	golden(t, "import_faults.txt", strings.ReplaceAll(o.stderr, c.dir, "<folder>"))
	o = c.run("import", "--json", bad)
	if want := "govsvc: 3 errors; nothing was imported: fix them and import again\n"; o.status != 1 || o.stderr != want {
		t.Errorf("status %d, stderr %q, want 1, %q", o.status, o.stderr, want)
	}
	golden(t, "import_faults.json", strings.ReplaceAll(o.stdout, c.dir, "<folder>"))
	if got := c.must("export"); got != "" {
		t.Errorf("something was written: %s", got)
	}
}

func TestImport_WritesNothingInDryRun(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("orgs", "create", "acme")
	o := c.run("import", "--dry-run", c.file("signals.ndjson", signals))
	if o.status != 0 || !strings.Contains(o.stdout, "signal  2 ") || o.stderr != "dry run: nothing was written\n" {
		t.Errorf("got %+v", o)
	}
	if got := c.must("export"); got != "" {
		t.Errorf("something was written: %s", got)
	}
}

// TestImport_RecordsReason checks that a reason is optional and recorded with each
// change.
func TestImport_RecordsReason(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	risk := func(name, severity, title string) string {
		return c.file(name, `{"object":"risk","risk_id":"R-1","description":"d","severity":"`+severity+`","title":"`+title+`"}`)
	}
	const reason = "Agreed in the risk committee of June"
	c.must("import", risk("a.ndjson", "CRITICAL", "a"))
	c.must("import", risk("b.ndjson", "HIGH", "a")) // the command line may do this
	for _, bad := range []string{"too short", "", strings.Repeat("x", 1001), "a reason\x1b[31m with an escape in it"} {
		if got := c.refused(2, "import", "--reason", bad, risk("c.ndjson", "LOW", "a")); !strings.Contains(got, "--reason must ") {
			t.Errorf("%q: %s", bad, got)
		}
	}
	c.must("import", "--reason", " "+reason+" ", risk("d.ndjson", "HIGH", "b"))
	c.must("import", "--reason", reason, risk("e.ndjson", "MEDIUM", "b"))
	c.must("import", "--reason", reason, risk("f.ndjson", "HIGH", "b"))
	again := c.file("again.ndjson", c.must("export"))
	if got := c.must("import", "--reason", reason, again); !strings.Contains(got, "risk  0        0        1") {
		t.Errorf("an export is not found unchanged: %s", got)
	}
	var got []string
	for line := range strings.Lines(c.must("audit", "export")) {
		var event struct {
			Action   string
			Metadata struct {
				Reason  string
				Changes map[string]struct{ To any }
			}
		}
		must(t, json.Unmarshal([]byte(line), &event))
		if event.Action == "risk.updated" {
			kept := event.Metadata.Changes["severity_change_reason"].To == reason
			got = append(got, fmt.Sprint(event.Metadata.Reason, " ", kept))
		}
	}
	want := []string{" false", reason + " false", reason + " true", reason + " true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reasons, and whether they are evidence (-want +got):\n%s", diff)
	}
}

func TestKeysImport_RefusesOldUsage(t *testing.T) {
	t.Parallel()
	c := newCLIWithoutFile(t)
	for _, row := range []struct {
		args []string
		want string
	}{
		{[]string{"import", "nothing.ndjson"}, "nothing.ndjson can't be read: no such file or directory"},
		{[]string{"import", c.dir}, "is a folder"},
	} {
		if got := c.refused(1, row.args...); !strings.Contains(got, row.want) {
			t.Errorf("%q: got %s, want %s", row.args, got, row.want)
		}
		if exists(c.env["GOVSVC_DB"]) {
			t.Errorf("%q: it made a data file", row.args)
		}
	}
}

func TestExport_PrintsRecords(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("import", c.file("signals.ndjson", signals))
	lines := c.must("export")
	if strings.Count(lines, "\n") != 2 || strings.Count(lines, `"signal"`) != 2 {
		t.Errorf("got %s", lines)
	}
	if got := c.must("export", "--type", "risk,signal", "--type", "risk"); got != lines {
		t.Errorf("by type: got %s", got)
	}
	var records []json.RawMessage
	if array := c.must("export", "--json"); json.Unmarshal([]byte(array), &records) != nil || len(records) != 2 {
		t.Errorf("got %s, want an array of 2", array)
	}
	if got := c.must("export", "--json", "--type", "risk"); got != "[]\n" {
		t.Errorf("got %q, want an empty array", got)
	}

	c.must("orgs", "create", "acme")
	array := c.file("array.json", c.must("export", "--json"))
	if got := c.must("import", "--org", "acme", array); !strings.Contains(got, "signal  2 ") {
		t.Errorf("what was exported is not imported: %s", got)
	}
	if got := c.must("import", array); !strings.Contains(got, "signal  0        0        2\n") {
		t.Errorf("what was exported is not found unchanged: %s", got)
	}
}

func TestExport_WritesFile(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("import", c.file("signals.ndjson", signals))
	lines := c.must("export")
	folder := t.TempDir()
	target, link := filepath.Join(folder, "out.ndjson"), filepath.Join(folder, "link.ndjson")
	must(t, os.Symlink(target, link))
	for _, path := range []string{target, target, link} {
		if got := c.must("export", "--out", path); got != "" {
			t.Errorf("stdout %q, want none", got)
		}
		if got := c.read(target); got != lines {
			t.Errorf("%s: got %s", path, got)
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info, err)
	}
	c.must("export", "--out", os.DevNull)
	if got := c.must("export", "--out", "-"); got != lines {
		t.Errorf("--out -: got %s", got)
	}

	if got := c.refused(1, "export", "--out", folder); !strings.Contains(got, "is a folder; name a file in it") {
		t.Error(got)
	}
	none := filepath.Join(folder, "none")
	if got, want := c.refused(1, "export", "--out", filepath.Join(none, "x")), "--out: can't make a file in the folder: "+none+": no such file or directory"; !strings.Contains(got, want) {
		t.Error(got)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 2 {
		t.Errorf("left in the folder: %v, %v", entries, err)
	}
}

// TestOut_RefusesDataFile checks that no command overwrites the data file that
// it reads.
func TestOut_RefusesDataFile(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("import", c.file("signals.ndjson", signals))
	c.must("evidence", "file", "--title", "t")
	var packs []struct{ ID string }
	if err := json.Unmarshal([]byte(c.must("evidence", "list", "--json")), &packs); err != nil || len(packs) != 1 {
		t.Fatalf("%v, %v", packs, err)
	}
	newAuditedStore(c, 1) // the store remains open, so that SQLite's other files exist
	before, data := c.must("audit", "verify"), c.env["GOVSVC_DB"]
	symbolic, hard := filepath.Join(c.dir, "symbolic"), filepath.Join(c.dir, "hard")
	must(t, errors.Join(os.Symlink(data, symbolic), os.Link(data, hard)))
	for _, args := range [][]string{
		{"export", "--out"},
		{"evidence", "file", "--title", "t", "--out"},
		{"evidence", "export", packs[0].ID, "--out"},
		{"audit", "export", "--out"},
		{"audit", "export", "--follow", "--out"},
		{"audit", "export", "--cursor-file", filepath.Join(c.dir, "cursor"), "--out"},
		{"audit", "export", "--cursor-file"},
	} {
		for _, path := range []string{data, data + "-wal", symbolic, hard} {
			if got, want := c.refused(1, append(args, path)...), path+" is the data file in use; name another file"; !strings.Contains(got, want) {
				t.Errorf("%q: got %s, want %s", args, got, want)
			}
		}
	}
	if after := c.must("audit", "verify"); after != before {
		t.Errorf("something was done: %s, before: %s", after, before)
	}
}
