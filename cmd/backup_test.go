package cmd_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"govsvc/internal/testkit"
)

// backup is the result of `backup --json` and `restore --json`.
type backup struct {
	Path, Kept string
	Bytes      int64
	Version    int
	Logs       []struct {
		Org, Head string
		Events    int
		After     *int
	} `json:"audit_logs"`
	Tables []struct {
		Table    string
		Restored int
		Live     *int
	}
}

// TestRestore_ReturnsToBackup makes a backup of a file in use, rehearses the restore and
// restores it. It checks the error messages on the way and the audit log afterwards.
func TestRestore_ReturnsToBackup(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("import", c.file("signals.ndjson", signals))
	c.must("orgs", "create", "acme")
	file := filepath.Join(c.dir, "b.db")
	p := c.child(c.key("write:risks"), func(*exec.Cmd) {})
	p.want("before", newRisk("before"), 201)
	text := c.must("backup", file)
	for _, want := range []string{file + ": ", " kB, version ", ", checked\n", "ORG ", "acme ", "default "} {
		if !strings.Contains(text, want) {
			t.Errorf("backup prints no %q:\n%s", want, text)
		}
	}
	if got := c.refused(1, "backup", file); !strings.Contains(got, file+" already exists; name another file, or replace it with --force") {
		t.Error(got)
	}
	made := runJSON[backup](c, "backup", "--force", file)
	p.want("after", newRisk("after"), 201)

	if got := c.refused(1, "restore", file); !strings.Contains(got, "nothing was restored: with --force") {
		t.Error(got)
	}
	if got := c.refused(1, "restore", file, "--force"); !strings.Contains(got, "is in use by another process; stop `govsvc serve`") {
		t.Error(got)
	}
	for _, command := range []string{"backup", "restore"} {
		if got := c.refused(2, command, ""); !strings.Contains(got, "FILE is empty; see `govsvc "+command+" --help`") {
			t.Error(got)
		}
	}
	if got := c.refused(1, "restore", c.dir); !strings.Contains(got, c.dir+" is a folder; name a backup in it") {
		t.Error(got)
	}
	rehearsed := runJSON[backup](c, "restore", "--rehearse", file)
	for _, log := range rehearsed.Logs {
		if log.After == nil || *log.After == 0 {
			t.Errorf("%s: got %v events in the live log after the backup, want some", log.Org, log.After)
		}
	}
	if got := c.must("restore", "--rehearse", file); !strings.Contains(got, file+": can be restored\n") || !strings.Contains(got, "\nrisks ") {
		t.Error(got)
	}
	p.kill() // the write-ahead log remains

	done := runJSON[backup](c, "restore", "--force", file)
	if !strings.HasPrefix(done.Kept, c.env["GOVSVC_DB"]+".before-restore-") || done.Logs[0].Head != made.Logs[0].Head || made.Version == 0 || made.Bytes == 0 {
		t.Errorf("made %+v, restored %+v", made, done)
	}
	if got, want := c.files(), "b.db govsvc.db "+filepath.Base(done.Kept)+" signals.ndjson"; got != want {
		t.Errorf("left %s, want %s", got, want)
	}
	for path, want := range map[string]int{c.env["GOVSVC_DB"]: 1, done.Kept: 2} {
		if got := strings.Count(c.must("export", "--type", "risk", "--db", path), "\n"); got != want {
			t.Errorf("%s has %d risks, want %d", path, got, want)
		}
	}
	for _, log := range done.Logs {
		c.must("audit", "verify", "--org", log.Org, "--head", log.Head)
		if got := c.must("audit", "export", "--org", log.Org); !strings.Contains(got, `"action":"file.restored","category":"system"`) {
			t.Errorf("the log of %s has no restore: %s", log.Org, got)
		}
	}
	c.must("check", "--full")
}

// TestServe_MakesBackups checks that a server makes the first backup
// immediately and, after a restart, none before it is due. An unusable folder
// is reported before it serves.
func TestServe_MakesBackups(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	folder := filepath.Join(c.dir, "backups")
	list := func() []string {
		made, err := filepath.Glob(filepath.Join(folder, "govsvc-*.db"))
		must(t, err)
		return made
	}
	s := c.serve("--backup-dir", folder, "--log-format", "json")
	testkit.Eventually(t, func() bool { return strings.Contains(s.stderr.String(), `"msg":"backup made"`) }, "the first backup in the log")
	s.end()
	s = c.serve("--backup-dir", folder)
	s.end()
	if got := list(); len(got) != 1 {
		t.Errorf("backups %v", got)
	}
	s = c.serve("--backup-dir", folder, "--backup-every", "1s", "--backup-keep", "2")
	testkit.Eventually(t, func() bool {
		now := list()
		return len(now) == 2 && now[0] != list()[0] || strings.Count(s.stderr.String(), "backup made") > 2
	}, "the removal of the oldest backup")
	s.end()
	if got := list(); len(got) != 2 {
		t.Errorf("backups %v", got)
	}
	if got := c.must("check", "--backup-within", "1h"); !strings.Contains(got, "ok    last backup  ") || !strings.Contains(got, list()[1]) {
		t.Error(got)
	}
	if got := c.must("restore", "--rehearse", folder); !strings.Contains(got, list()[1]+": can be restored\n") {
		t.Error(got)
	}
	if got := c.refused(1, "serve", "--addr", "127.0.0.1:0", "--backup-dir", c.env["GOVSVC_DB"]); !strings.Contains(got, "--backup-dir: "+c.env["GOVSVC_DB"]+" is not a folder") {
		t.Error(got)
	}
}

// TestBackup_LeavesCompleteFileWhenKilled kills backups at different moments while a
// server writes. A file with the final name is always a complete backup, and the server
// is not affected.
func TestBackup_LeavesCompleteFileWhenKilled(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	p := c.child(c.key("write:risks"), func(*exec.Cmd) {})
	for i := range 20 {
		p.want("filling", newRisk(fmt.Sprint("r", i)), 201)
	}
	file := filepath.Join(c.dir, "b.db")
	complete := 0
	for delay := time.Duration(0); complete < 2; delay += 4*time.Millisecond + delay/8 {
		c.killAfter(delay, "backup", "--force", file)
		p.want("during the backup", newRisk(fmt.Sprint("during ", delay)), 201)
		if exists(file) {
			complete++
			c.must("restore", file, "--db", filepath.Join(c.dir, fmt.Sprint("restored-", complete)))
			must(t, os.Remove(file))
		}
	}
	p.checkTables()
	status, _, _ := p.send(http.DefaultClient, newRisk("after"))
	if status != 201 {
		t.Error(status)
	}
}

// TestRestore_LosesNoFileWhenKilled kills restores at different moments. The data file
// is always complete, either the previous file or the restored one. The previous file
// is never lost.
func TestRestore_LosesNoFileWhenKilled(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.must("import", c.file("signals.ndjson", signals))
	file := filepath.Join(c.dir, "b.db")
	c.must("backup", file)
	c.must("orgs", "create", "after-the-backup")
	var status int
	for delay, ended := time.Duration(0), 0; ended < 2; delay += 5*time.Millisecond + delay/8 {
		if c.killAfter(delay, "restore", "--force", file) {
			ended++
		}
		orgs := c.must("orgs", "list")
		former, err := filepath.Glob(c.env["GOVSVC_DB"] + ".before-restore-*")
		must(t, err)
		hidden, err := filepath.Glob(filepath.Join(c.dir, ".govsvc.db.before-restore-*"))
		must(t, err)
		if !strings.Contains(orgs, "after-the-backup") && len(former)+len(hidden) == 0 {
			t.Fatalf("after %v the former file is gone: %s", delay, c.files())
		}
		if o := c.run("check"); o.status != 0 {
			status = o.status
			t.Errorf("after %v: %s%s", delay, o.stdout, o.stderr)
		}
	}
	if status == 0 && strings.Contains(c.must("orgs", "list"), "after-the-backup") {
		t.Error("nothing was restored in the end")
	}
}

// TestRestore_NeedsNamedFile checks that restore does not make an unnamed data
// file. It changes the working directory and so is not parallel.
func TestRestore_NeedsNamedFile(t *testing.T) {
	c := newCLI(t)
	c.must("orgs", "create", "acme")
	copied := filepath.Join(c.dir, "copy.db")
	c.must("backup", copied)
	delete(c.env, "GOVSVC_DB")
	t.Chdir(t.TempDir())
	for _, args := range [][]string{{"restore", copied}, {"restore", copied, "--force"}} {
		if got := c.refused(2, args...); !strings.Contains(got, "the working directory has no govsvc.db: name the one to restore with --db or GOVSVC_DB; nothing was restored") {
			t.Error(got)
		}
	}
	if o := c.run("restore", "--rehearse", copied); o.status != 0 || !strings.Contains(o.stderr, "warning: there is no govsvc.db to compare with") {
		t.Errorf("%+v", o)
	}
	if exists("govsvc.db") {
		t.Error("a refused restore created a data file")
	}
	c.must("restore", copied, "--db", "govsvc.db")
	c.must("restore", copied, "--force") // the file exists
	c.must("restore", copied, "--config", c.file("config.yaml", "db: other.db\n"))
	if !exists("other.db") {
		t.Error("the file that the configuration names was not made")
	}
}
