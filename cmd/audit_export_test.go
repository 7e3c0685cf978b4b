package cmd_test

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"govsvc/cmd"
	"govsvc/db"
	"govsvc/internal/testkit"
)

// actions returns the actions of exported events, with "x" for an export.
func actions(t *testing.T, lines string) string {
	t.Helper()
	var all []string
	for line := range strings.Lines(lines) {
		var event struct{ Action string }
		if err := json.Unmarshal([]byte(line), &event); err != nil || !strings.HasSuffix(line, "}\n") {
			t.Fatalf("line %q: %v", line, err)
		}
		all = append(all, strings.Replace(event.Action, "audit.exported", "x", 1))
	}
	return strings.Join(all, " ")
}

func TestAuditExport_PrintsEvents(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	newAuditedStore(c, 3)
	o := c.run("audit", "export")
	if got, want := actions(t, o.stdout), "e1 e2 e3 x"; o.status != 0 || got != want {
		t.Errorf("got %s, %d, want %s", got, o.status, want)
	}
	if !strings.HasPrefix(o.stderr, "4 events exported, head ") || strings.Count(o.stderr, "\n") != 1 {
		t.Errorf("stderr %q", o.stderr)
	}
	out := filepath.Join(c.dir, "audit.ndjson")
	for range 2 { // the second run replaces the file
		c.must("audit", "export", "--out", out)
	}
	if got, want := actions(t, c.read(out)), "e1 e2 e3 x x x"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !strings.Contains(c.read(out), `"category":"export","resource_type":null,"resource_id":null,"severity":1,"metadata":{"follow":false,"format":"ndjson","os_user":`) {
		t.Errorf("got %s, want an event of the export with its settings", c.read(out))
	}
	for format, prefix := range map[string]string{"cef": "CEF:0|govsvc|govsvc|", "ocsf": `{"activity_id":`} {
		got := c.must("audit", "export", "--format", format)
		if strings.Count(got, "\n"+prefix) < 5 || !strings.HasPrefix(got, prefix) {
			t.Errorf("%s: %s", format, got)
		}
	}
	if got := c.must("audit", "export", "--since", "2999-01-01"); got != "" {
		t.Errorf("from the future: %s", got)
	}
	if o := c.run("audit", "export", "--until", "2020-01-01T00:00:00Z"); o.stdout != "" || o.stderr != "no events to export\n" {
		t.Errorf("from the past: %+v", o)
	}
}

// TestAuditExport_Resumes checks that with a cursor file the output has each
// event once, also after failed runs.
func TestAuditExport_Resumes(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	store := newAuditedStore(c, 2)
	cursor, out := c.file("cursor.json", ""), filepath.Join(c.dir, "audit.ndjson")
	export := func() string {
		t.Helper()
		c.must("audit", "export", "--cursor-file", cursor, "--out", out)
		return actions(t, c.read(out))
	}
	if got, want := export(), "e1 e2 x"; got != want {
		t.Errorf("first: got %s, want %s", got, want)
	}
	log(t, store, "e3")
	if got, want := export(), "e1 e2 x e3 x"; got != want {
		t.Errorf("second: got %s, want %s", got, want)
	}

	// The run was killed after it wrote some events and before it stored the
	// cursor.
	log(t, store, "e4", "e5")
	savedCursor := c.read(cursor)
	export()
	c.file("cursor.json", savedCursor)
	whole := c.read(out)
	must(t, os.Truncate(out, int64(len(whole)-100)))
	if got, want := export(), "e1 e2 x e3 x e4 e5 x x"; got != want {
		t.Errorf("after a kill: got %s, want %s", got, want)
	}

	// The file was rotated.
	must(t, os.Remove(out))
	log(t, store, "e6")
	if got, want := export(), "e6 x"; got != want {
		t.Errorf("after a rotation: got %s, want %s", got, want)
	}
	if got, want := actions(t, c.must("audit", "export", "--cursor-file", cursor)), "x"; got != want {
		t.Errorf("to stdout: got %s, want %s", got, want)
	}
	if left, err := filepath.Glob(filepath.Join(c.dir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// brokenWriter accepts some bytes and then fails.
type brokenWriter struct{ left int }

func (b *brokenWriter) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	if b.left -= n; n < len(p) {
		return n, errors.New("broken pipe")
	}
	return n, nil
}

// TestAuditExport_ResumesAfterFailedWrite checks that the cursor does not pass events that
// were not written.
func TestAuditExport_ResumesAfterFailedWrite(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	newAuditedStore(c, 3)
	cursor := filepath.Join(c.dir, "cursor.json")
	status := cmd.Run(t.Context(), []string{"audit", "export", "--cursor-file", cursor}, nil, &brokenWriter{300}, io.Discard, c.lookup)
	if status != 1 || exists(cursor) {
		t.Errorf("status %d, a cursor: %v", status, exists(cursor))
	}
	if got, want := actions(t, c.must("audit", "export", "--cursor-file", cursor)), "e1 e2 e3 x x"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAuditExport_RefusesCursor(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	newAuditedStore(c, 1)
	c.must("orgs", "create", "acme")
	cursor := filepath.Join(c.dir, "cursor.json")
	c.must("audit", "export", "--org", "acme", "--cursor-file", cursor)
	before := c.must("audit", "verify")
	for name, row := range map[string]struct{ text, want string }{
		"another organisation": {c.read(cursor), `has a cursor of another data file or organisation (it names "acme")`},
		"altered":              {strings.Replace(c.read(cursor), `"cursor":"`, `"cursor":"A`, 1), "has a cursor of another"},
		"text":                 {"hello", "is not a cursor file; name another file, or remove it to start over"},
		"no cursor":            {"{}", "is not a cursor file"},
	} {
		if got := c.refused(1, "audit", "export", "--cursor-file", c.file("c.json", row.text)); !strings.Contains(got, row.want) {
			t.Errorf("%s: got %s, want %s", name, got, row.want)
		}
	}
	socket := newSocket(c)
	for _, row := range []struct{ cursor, out, want string }{
		{socket, "", "is not a regular file; name another file"},
		{filepath.Join(c.dir, "new"), c.dir + "/./new", "is also the file of --out; name two different files"},
		{cursor, cursor, "is also the file of --out; name two different files"},
	} {
		if got := c.refused(1, "audit", "export", "--cursor-file", row.cursor, "--out", row.out); !strings.Contains(got, row.want) {
			t.Errorf("%s: got %s, want %s", row.cursor, got, row.want)
		}
	}
	c.refused(1, "audit", "export", "--cursor-file", c.dir)
	if o := c.run("audit", "export", "--cursor-file", filepath.Join(c.dir, "none", "c.json")); o.status != 1 || o.stdout != "" {
		t.Errorf("a cursor that can't be kept: %+v", o)
	}
	if after := c.must("audit", "verify"); after != before {
		t.Errorf("a refused export was audited: %s", after)
	}
}

// newSocket creates a socket. Tests use it in place of a pipe, on which a read would
// block, and of a device, which must not be replaced.
func newSocket(c *cli) string {
	c.t.Helper()
	path := filepath.Join(c.dir, "socket")
	listener, err := (&net.ListenConfig{}).Listen(c.t.Context(), "unix", path)
	must(c.t, err)
	c.t.Cleanup(func() { _ = listener.Close() })
	return path
}

// TestAuditExport_KeepsLink checks that the cursor is stored in the target of a
// link.
func TestAuditExport_KeepsLink(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	newAuditedStore(c, 1)
	cursor, link := filepath.Join(c.dir, "cursor.json"), filepath.Join(c.dir, "link.json")
	must(t, os.Symlink(c.file("cursor.json", ""), link))
	c.must("audit", "export", "--cursor-file", link)
	if got := actions(t, c.must("audit", "export", "--cursor-file", cursor)); got != "x" {
		t.Errorf("got %s, want x", got)
	}
}

// TestAuditExport_Follows checks that an event of another process appears
// within a second, and that a signal ends the export with status 0.
func TestAuditExport_Follows(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	store := newAuditedStore(c, 2)
	cursor := filepath.Join(c.dir, "cursor.json")
	s := c.begin("audit", "export", "--follow", "--cursor-file", cursor)
	s.has("\n", 3)
	log(t, store, "e3")
	s.has("\n", 4)
	log(t, store, "e4")
	s.has("\n", 5)
	time.Sleep(600 * time.Millisecond) // polls are not audited
	s.end()
	if got, want := actions(t, s.stdout.String()), "e1 e2 x e3 e4"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	log(t, store, "e5")
	if got, want := actions(t, c.must("audit", "export", "--cursor-file", cursor)), "e5 x"; got != want {
		t.Errorf("afterwards: got %s, want %s", got, want)
	}
}

func TestAuditExport_FollowsIntoFile(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	newAuditedStore(c, 2)
	out := c.file("audit.cef", "earlier\n")
	s := c.begin("audit", "export", "--follow", "--format", "cef", "--out", out)
	testkit.Eventually(t, func() bool { return strings.Count(c.read(out), "\n") >= 4 }, "the events in the file")
	s.end()
	if got := c.read(out); !strings.HasPrefix(got, "earlier\nCEF:0|") {
		t.Errorf("file %s", got)
	}
}

// TestAuditVerify_RevealsCutLogByHead checks that a head reveals a log from whose end
// events were removed, or that was rewritten.
func TestAuditVerify_RevealsCutLogByHead(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	store := newAuditedStore(c, 3)
	var printed struct{ Head string }
	text := c.must("audit", "verify", "--print-head", "--json")
	if err := json.Unmarshal([]byte(text), &printed); err != nil || len(printed.Head) != 64 {
		t.Fatalf("%s, %v", text, err)
	}
	head := printed.Head
	if got, want := c.must("audit", "verify", "--print-head"), "default: the audit log is intact, 3 events\nhead "+head+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	out := filepath.Join(c.dir, "audit.ndjson")
	c.must("audit", "export", "--out", out)
	log(t, store, "e4")
	if got, want := c.must("audit", "verify", "--head", head), "default: the audit log is intact, 5 events, 2 of them after the given head\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	unknown := strings.Repeat("ab", 32)
	if got := c.refused(1, "audit", "verify", "--head", unknown); !strings.Contains(got, `the audit log of "default", 5 events, does not lead to the head `+unknown) {
		t.Errorf("got %s", got)
	}

	whole := strings.SplitAfter(strings.TrimSuffix(c.read(out), "\n"), "\n") // e1 e2 e3 x
	c.env["GOVSVC_DB"] = filepath.Join(c.dir, "none.db")                     // without a data file
	for name, row := range map[string]struct {
		lines []string
		want  string // "" is intact
	}{
		"whole":        {whole, ""},
		"to the head":  {whole[:3], ""},
		"no line end":  {[]string{strings.TrimSuffix(strings.Join(whole[:3], ""), "\n")}, ""},
		"cut off":      {whole[:2], "its 2 events do not lead to the head " + head},
		"nothing":      {nil, "its 0 events do not lead"},
		"half a line":  {[]string{whole[0], whole[1], whole[2][:50]}, "line 3 is not an event as `govsvc audit export --format ndjson` writes them"},
		"altered":      {[]string{whole[0], strings.Replace(whole[1], "e2", "e9", 1), whole[2]}, "do not lead"},
		"one removed":  {slices.Delete(slices.Clone(whole), 1, 2), "do not lead"},
		"one added":    {slices.Insert(slices.Clone(whole), 1, whole[0]), "do not lead"},
		"more behind":  {append(slices.Clone(whole), "\n{}\n"), "line 5 is not an event"},
		"a blank line": {append(slices.Clone(whole), "\n\n"), "line 5 is not an event"},
		"other lines":  {[]string{"CEF:0|govsvc\n"}, "line 1 is not an event"},
		"other order":  {[]string{whole[1], whole[0], whole[2]}, "do not lead"},
		"of Windows":   {[]string{strings.ReplaceAll(strings.Join(whole, ""), "\n", "\r\n")}, "do not lead"},
		"a later part": {whole[1:], "or the file does not start at the log's first event: export the whole log, or name the hash before its first event with --from"},
	} {
		args := []string{"audit", "verify", "--head", head, "--file", c.file("x.ndjson", strings.Join(row.lines, ""))}
		if row.want == "" {
			if got := c.must(args...); !strings.Contains(got, "x.ndjson: the audit log is intact, ") {
				t.Errorf("%s: %s", name, got)
			}
		} else if got := c.refused(1, args...); !strings.Contains(got, row.want) {
			t.Errorf("%s: got %s, want %s", name, got, row.want)
		}
	}
	if o := c.runOn(strings.Join(whole, ""), "audit", "verify", "--file", "-", "--head", head, "--json"); o.status != 0 || !strings.Contains(o.stdout, `"after": 1`) {
		t.Errorf("from stdin: %+v", o)
	}
	c.refused(1, "audit", "verify", "--file", "none.ndjson", "--head", head)
}

// TestAuditVerify_AcceptsLaterStart checks a file that starts later than the log.
func TestAuditVerify_AcceptsLaterStart(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	store := newAuditedStore(c, 2)
	time.Sleep(5 * time.Millisecond)
	since := db.Timestamp(time.Now())
	log(t, store, "e3")
	o := c.run("audit", "export", "--since", since)
	if got, want := actions(t, o.stdout), "e3 x"; o.status != 0 || got != want {
		t.Fatalf("got %s, %+v, want %s", got, o, want)
	}
	words := strings.Fields(o.stderr) // 2 events exported, from HASH, head HASH
	if len(words) != 7 {
		t.Fatalf("stderr %q", o.stderr)
	}
	from, head := strings.TrimSuffix(words[4], ","), words[6]
	file := c.file("later.ndjson", o.stdout)
	if got := c.must("audit", "verify", "--file", file, "--from", from, "--head", head); !strings.Contains(got, "intact, 2 events\n") {
		t.Errorf("got %s", got)
	}
	if got := c.refused(1, "audit", "verify", "--file", file, "--from", strings.Repeat("0", 64), "--head", head); !strings.Contains(got, "or the file does not start after the hash of --from") {
		t.Errorf("got %s", got)
	}
	c.refused(1, "audit", "verify", "--file", file, "--head", head)
}
