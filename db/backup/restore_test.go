package backup_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/backup"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// TestRestore replaces a file that a killed process left. The former file is kept, with
// everything that was committed, and each audit log has an event.
func TestRestore(t *testing.T) {
	t.Parallel()
	path, saved := backedUp(t)
	before, err := os.ReadFile(saved)
	if err != nil {
		t.Fatal(err)
	}
	addRiskAndKill(t, path)
	if _, err := restore(t, saved, path, false); err == nil || !strings.Contains(err.Error(), "already exists; nothing was restored: with --force") {
		t.Errorf("without force: %v", err)
	}
	done, err := restore(t, saved, path, true)
	if err != nil {
		t.Fatal(err)
	}
	kept := path + ".before-restore-20261001T120000Z"
	if done.Kept != kept || done.Path != path || done.From != saved || len(done.Logs) != 1 || done.Logs[0].Events != 1 {
		t.Errorf("reported as %+v", done)
	}
	if diff := cmp.Diff([]string{"govsvc.db", filepath.Base(kept)}, testkit.FileNames(t, filepath.Dir(path))); diff != "" {
		t.Errorf("in the folder (-want +got):\n%s", diff)
	}
	for file, want := range map[string][]string{path: {"in the backup"}, kept: {"after the backup", "in the backup"}} {
		var got []string
		for name := range testdb.Risks(t, file) {
			got = append(got, name)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s has %q, want %q", file, got, want)
		}
	}
	restored := open(t, path)
	check, err := restored.Audit.Check(t.Context(), done.Logs[0].Org, done.Logs[0].Head)
	if err != nil || !check.Known || check.After != 1 || check.Broken != nil {
		t.Errorf("the log of the restored file: %+v, %v", check, err)
	}
	page, err := restored.Audit.Events(t.Context(), testdb.DefaultOrg(t, restored), db.AuditQuery{Limit: 10})
	if err != nil || len(page.Events) != 2 {
		t.Fatal(len(page.Events), err)
	}
	for _, want := range []string{`"action":"file.restored"`, `"category":"system"`, `"severity":8`, `"file":"backup.db"`, `"kept":"` + filepath.Base(kept), `"events":1`} {
		if !strings.Contains(string(page.Events[1]), want) {
			t.Errorf("the event lacks %s: %s", want, page.Events[1])
		}
	}
	if after, err := os.ReadFile(saved); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the backup itself was changed, %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
}

// TestRestore_Twice keeps each file that was replaced.
func TestRestore_Twice(t *testing.T) {
	t.Parallel()
	path, saved := backedUp(t)
	for _, want := range []string{"", "-2", "-3"} {
		done, err := restore(t, saved, path, true)
		if err != nil || done.Kept != path+".before-restore-20261001T120000Z"+want {
			t.Errorf("kept as %s, %v", done.Kept, err)
		}
	}
	fresh := testkit.NewPath(t)
	if done, err := restore(t, saved, fresh, false); err != nil || done.Kept != "" {
		t.Errorf("without a present file: %+v, %v", done, err)
	}
	open(t, fresh)
}

// TestRestore_Refused changes nothing if the backup is not intact.
func TestRestore_Refused(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		spoil func(t *testing.T, path, saved string) string // the file to restore
		want  string
	}{
		"no database": {func(t *testing.T, _, saved string) string {
			t.Helper()
			testkit.WriteFile(t, saved, strings.Repeat("This is a letter. ", 1000))
			return saved
		}, "is not a govsvc data file"},
		"empty": {func(t *testing.T, _, saved string) string {
			t.Helper()
			testkit.WriteFile(t, saved, "")
			return saved
		}, "is not a govsvc data file"},
		"another program's": {func(t *testing.T, _, saved string) string {
			t.Helper()
			testkit.ExecSQL(t, saved+"2", "CREATE TABLE theirs (x)")
			return saved + "2"
		}, "is not a govsvc data file"},
		"newer": {func(t *testing.T, _, saved string) string {
			t.Helper()
			testkit.ExecSQL(t, saved, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)")
			return saved
		}, "newer govsvc"},
		"cut off": {func(t *testing.T, _, saved string) string {
			t.Helper()
			if err := os.Truncate(saved, 8192); err != nil {
				t.Fatal(err)
			}
			return saved
		}, "nothing was restored"},
		"a damaged page": {func(t *testing.T, _, saved string) string {
			t.Helper()
			damagePage(t, saved, "risks")
			return saved
		}, "it is damaged"},
		"a broken log": {func(t *testing.T, _, saved string) string {
			t.Helper()
			testkit.ExecSQL(t, saved, "DROP TRIGGER audit_events_never_change", "UPDATE audit_events SET hash = zeroblob(32)")
			return saved
		}, `the audit log of "default" is broken at event 1`},
		"itself":  {func(_ *testing.T, path, _ string) string { return path }, "is the data file itself"},
		"missing": {func(_ *testing.T, _, saved string) string { return saved + "2" }, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, saved := backedUp(t)
			from := row.spoil(t, path, saved)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = restore(t, from, path, true)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want %q", err, row.want)
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the data file was changed, %v", err)
			}
			if got := testkit.FileNames(t, filepath.Dir(path)); !slices.Equal(got, []string{"govsvc.db"}) {
				t.Errorf("left: %v", got)
			}
		})
	}
}

// TestRestore_InUse replaces no file that a process has open, even if it is idle.
func TestRestore_InUse(t *testing.T) {
	t.Parallel()
	path, saved := backedUp(t)
	store := open(t, path)
	if _, err := restore(t, saved, path, true); err == nil || !strings.Contains(err.Error(), "is in use by another process; stop `govsvc serve`") {
		t.Error(err)
	}
	if err := testdb.AddRisk(t.Context(), store, "still written"); err != nil {
		t.Error(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := restore(t, saved, path, true); err != nil {
		t.Error(err)
	}
}

// TestRestore_NewFile keeps a file that another process creates during the restore, and
// the log beside it.
func TestRestore_NewFile(t *testing.T) {
	t.Parallel()
	_, saved := backedUp(t)
	path := testkit.NewPath(t)
	var made *db.DB
	options := testdb.Options(path)
	options.Now = func() time.Time {
		if made == nil {
			made = open(t, path)
			if err := testdb.AddRisk(t.Context(), made, "during the restore"); err != nil {
				t.Fatal(err)
			}
		}
		return testkit.Start
	}
	if _, err := backup.Restore(t.Context(), saved, options, db.Actor{}, false); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("restored: %v", err)
	}
	if got := testdb.Risks(t, path); len(got) != 1 {
		t.Errorf("the new file's risks are %v", got)
	}
	if got := strings.Join(testkit.FileNames(t, filepath.Dir(path)), " "); got != "govsvc.db govsvc.db-shm govsvc.db-wal" {
		t.Error(got)
	}
}

// TestRestore_DamagedTarget keeps a file that can no longer be opened, and the log beside
// it. The log must not be applied to the restored file.
func TestRestore_DamagedTarget(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		damage func(path string) error
		left   []string
	}{
		"the head":         {func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("?"), 8192), 0o600) }, []string{"", "-wal"}},
		"the file is gone": {os.Remove, []string{"-wal"}},
		"emptied":          {func(path string) error { return os.Truncate(path, 0) }, []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, saved := backedUp(t)
			addRiskAndKill(t, path)
			if err := row.damage(path); err != nil {
				t.Fatal(err)
			}
			if _, err := restore(t, saved, path, true); err != nil {
				t.Fatal(err)
			}
			kept, err := filepath.Glob(path + ".before-restore*")
			if err != nil || len(kept) != len(row.left) {
				t.Errorf("kept %v, %v", kept, err)
			}
			for i, end := range row.left {
				if !strings.HasSuffix(kept[i], end) {
					t.Errorf("kept %s, want the suffix %q", kept[i], end)
				}
			}
			if got := testdb.Risks(t, path); len(got) != 1 || got["in the backup"] != 1 {
				t.Errorf("restored: %v", got)
			}
		})
	}
}

// TestRestore_Foreign replaces no file of another program, even with force.
func TestRestore_Foreign(t *testing.T) {
	t.Parallel()
	_, saved := backedUp(t)
	path := testkit.NewPath(t)
	testkit.ExecSQL(t, path, "CREATE TABLE theirs (x)")
	if _, err := restore(t, saved, path, true); err == nil || !strings.Contains(err.Error(), "is a file of another program") {
		t.Error(err)
	}
}

// TestRestore_Killed begins after a restore was killed between its last steps.
func TestRestore_Killed(t *testing.T) {
	t.Parallel()
	path, saved := backedUp(t)
	folder, base := filepath.Split(path)
	alias := folder + "." + base + ".before-restore-20260101T000000Z"
	if err := os.Link(path, alias); err != nil { // before the names changed
		t.Fatal(err)
	}
	replaced := folder + "." + base + ".before-restore-20260202T000000Z"
	testkit.WriteFile(t, replaced, "the former file") // after it
	if _, err := restore(t, saved, path, true); err != nil {
		t.Fatal(err)
	}
	want := []string{base, base + ".before-restore-20260202T000000Z", base + ".before-restore-20261001T120000Z"}
	if diff := cmp.Diff(want, testkit.FileNames(t, folder)); diff != "" {
		t.Errorf("in the folder (-want +got):\n%s", diff)
	}
}

// TestRestore_OlderVersion restores the copy that was made before a migration, and
// migrates it.
func TestRestore_OlderVersion(t *testing.T) {
	t.Parallel()
	path := testkit.NewPath(t)
	testkit.Unpack(t, filepath.Join("..", "testdata", "versions", "v16.db.gz"), path)
	before := testdb.Risks(t, path)
	migrated := open(t, path)
	version, err := migrated.File.Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := migrated.Close(); err != nil {
		t.Fatal(err)
	}
	copies, err := filepath.Glob(path + ".v*")
	if err != nil || len(copies) != 1 {
		t.Fatal(copies, err)
	}
	done, err := restore(t, copies[0], path, true)
	if err != nil || done.Version != 16 {
		t.Fatalf("%+v, %v", done, err)
	}
	if got := len(testkit.FileNames(t, filepath.Dir(path))); got != 3 {
		t.Errorf("left: %v", testkit.FileNames(t, filepath.Dir(path)))
	}
	again := open(t, path)
	if got, err := again.File.Version(t.Context()); got != version || err != nil {
		t.Errorf("version %d, %v", got, err)
	}
	if diff := cmp.Diff(before, testdb.Risks(t, path)); diff != "" || len(before) < 10 {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
}

// TestRehearse restores into a temporary folder, and compares with the live file.
func TestRehearse(t *testing.T) {
	t.Parallel()
	path, saved := backedUp(t)
	addRiskAndKill(t, path)
	live := open(t, path) // in use
	done, err := backup.Rehearse(t.Context(), saved, path)
	if err != nil {
		t.Fatal(err)
	}
	if len(done.Logs) != 1 || done.Logs[0].Events != 1 || done.Logs[0].After == nil || *done.Logs[0].After != 1 {
		t.Errorf("logs %+v", done.Logs)
	}
	at := slices.IndexFunc(done.Tables, func(c backup.TableCount) bool { return c.Table == "risks" })
	if c := done.Tables[at]; c.Restored != 1 || c.Live == nil || *c.Live != 2 {
		t.Errorf("risks: %+v", c)
	}
	if err := testdb.AddRisk(t.Context(), live, "still served"); err != nil {
		t.Error(err)
	}
	other, _ := backedUp(t)
	if _, err := backup.Rehearse(t.Context(), saved, other); err == nil || !strings.Contains(err.Error(), "does not continue from the backup's last event") {
		t.Errorf("another file's backup: %v", err)
	}
	missing := testkit.NewPath(t)
	alone, err := backup.Rehearse(t.Context(), saved, missing)
	if err != nil || alone.Logs[0].After != nil {
		t.Errorf("without a live file: %+v, %v", alone.Logs, err)
	}
	if _, err := os.Stat(missing); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a rehearsal made a data file")
	}
}
