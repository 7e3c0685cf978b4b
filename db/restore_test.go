package db_test

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
	"govsvc/internal/testkit"
)

// backedUp is a closed file with one risk, and a backup of it.
func backedUp(t *testing.T) (path, backup string) {
	t.Helper()
	path = newPath(t)
	store := handle(t, path, time.Minute)
	if err := addRisk(t.Context(), store, operator(t, store), "in the backup"); err != nil {
		t.Fatal(err)
	}
	backup = filepath.Join(t.TempDir(), "backup.db")
	if _, err := store.Backup(t.Context(), backup, false); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return path, backup
}

func optionsFor(path string) db.Options {
	return db.Options{Path: path, Now: func() time.Time { return at }}
}

// later adds a risk to a file that was backed up, and leaves it as a killed
// process does: a part of it in the log beside it.
func later(t *testing.T, path string) {
	t.Helper()
	store := handle(t, path, time.Minute)
	if err := addRisk(t.Context(), store, operator(t, store), "after the backup"); err != nil {
		t.Fatal(err)
	}
	left := map[string][]byte{}
	for _, end := range []string{"", "-wal"} {
		text, err := os.ReadFile(path + end)
		if err != nil {
			t.Fatal(err)
		}
		left[end] = text
	}
	if len(left["-wal"]) == 0 {
		t.Fatal("nothing is left in the log")
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for end, text := range left {
		write(t, path+end, string(text))
	}
}

// TestRestore puts a backup in the place of a file that a killed process left:
// that one is kept, with all that was committed, and each audit log tells.
func TestRestore(t *testing.T) {
	t.Parallel()
	path, backup := backedUp(t)
	before, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	later(t, path)
	if _, err := db.Restore(t.Context(), backup, optionsFor(path), false); err == nil || !strings.Contains(err.Error(), "is there already; nothing was restored: with --force") {
		t.Errorf("without force: %v", err)
	}
	done, err := db.Restore(t.Context(), backup, optionsFor(path), true)
	if err != nil {
		t.Fatal(err)
	}
	kept := path + ".before-restore-20261001T120000Z"
	if done.Kept != kept || done.Path != path || done.From != backup || len(done.Logs) != 1 || done.Logs[0].Events != 1 {
		t.Errorf("told as %+v", done)
	}
	if diff := cmp.Diff([]string{"govsvc.db", filepath.Base(kept)}, entries(t, filepath.Dir(path))); diff != "" {
		t.Errorf("in the folder (-want +got):\n%s", diff)
	}
	for file, want := range map[string][]string{path: {"in the backup"}, kept: {"after the backup", "in the backup"}} {
		var got []string
		for name := range testkit.CountSQL(t, file, "SELECT risk_id FROM risks") {
			got = append(got, name)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s holds %q, want %q", file, got, want)
		}
	}
	restored := handle(t, path, time.Minute)
	check, err := restored.Audit.Check(t.Context(), done.Logs[0].Org, done.Logs[0].Head)
	if err != nil || !check.Known || check.After != 1 || check.Broken != nil {
		t.Errorf("the log of the restored file: %+v, %v", check, err)
	}
	page, err := restored.Audit.Events(t.Context(), defaultOrg(t, restored), db.AuditQuery{Limit: 10})
	if err != nil || len(page.Events) != 2 {
		t.Fatal(len(page.Events), err)
	}
	for _, want := range []string{`"action":"file.restored"`, `"category":"system"`, `"severity":8`, `"file":"backup.db"`, `"kept":"` + filepath.Base(kept), `"events":1`} {
		if !strings.Contains(string(page.Events[1]), want) {
			t.Errorf("the event lacks %s: %s", want, page.Events[1])
		}
	}
	if after, err := os.ReadFile(backup); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the backup itself was changed, %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
}

// TestRestoreTwice keeps each file that was replaced.
func TestRestoreTwice(t *testing.T) {
	t.Parallel()
	path, backup := backedUp(t)
	for _, want := range []string{"", "-2", "-3"} {
		done, err := db.Restore(t.Context(), backup, optionsFor(path), true)
		if err != nil || done.Kept != path+".before-restore-20261001T120000Z"+want {
			t.Errorf("kept as %s, %v", done.Kept, err)
		}
	}
	fresh := newPath(t)
	if done, err := db.Restore(t.Context(), backup, optionsFor(fresh), false); err != nil || done.Kept != "" {
		t.Errorf("where nothing was: %+v, %v", done, err)
	}
	handle(t, fresh, time.Minute)
}

// TestRefusedRestore: what is no sound backup of ours changes nothing.
func TestRefusedRestore(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		spoil func(t *testing.T, path, backup string) string // the file to restore
		want  string
	}{
		"no database": {func(t *testing.T, _, backup string) string {
			t.Helper()
			write(t, backup, strings.Repeat("This is a letter. ", 1000))
			return backup
		}, "is not a govsvc data file"},
		"empty": {func(t *testing.T, _, backup string) string {
			t.Helper()
			write(t, backup, "")
			return backup
		}, "is not a govsvc data file"},
		"another program's": {func(t *testing.T, _, backup string) string {
			t.Helper()
			testkit.ExecSQL(t, backup+"2", "CREATE TABLE theirs (x)")
			return backup + "2"
		}, "is not a govsvc data file"},
		"newer": {func(t *testing.T, _, backup string) string {
			t.Helper()
			testkit.ExecSQL(t, backup, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)")
			return backup
		}, "newer govsvc"},
		"cut off": {func(t *testing.T, _, backup string) string {
			t.Helper()
			if err := os.Truncate(backup, 8192); err != nil {
				t.Fatal(err)
			}
			return backup
		}, "nothing was restored"},
		"a damaged page": {func(t *testing.T, _, backup string) string {
			t.Helper()
			damagePage(t, backup, "risks")
			return backup
		}, "it is damaged"},
		"a broken log": {func(t *testing.T, _, backup string) string {
			t.Helper()
			testkit.ExecSQL(t, backup, "DROP TRIGGER audit_events_never_change", "UPDATE audit_events SET hash = zeroblob(32)")
			return backup
		}, `the audit log of "default" is broken at event 1`},
		"itself":  {func(_ *testing.T, path, _ string) string { return path }, "is the data file itself"},
		"missing": {func(_ *testing.T, _, backup string) string { return backup + "2" }, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, backup := backedUp(t)
			from := row.spoil(t, path, backup)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = db.Restore(t.Context(), from, optionsFor(path), true)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want %q", err, row.want)
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the data file was changed, %v", err)
			}
			if got := entries(t, filepath.Dir(path)); !slices.Equal(got, []string{"govsvc.db"}) {
				t.Errorf("left: %v", got)
			}
		})
	}
}

// TestRestoreInUse: a file is not taken away from under who has it open, also
// if it has done nothing for long.
func TestRestoreInUse(t *testing.T) {
	t.Parallel()
	path, backup := backedUp(t)
	store := handle(t, path, time.Minute)
	if _, err := db.Restore(t.Context(), backup, optionsFor(path), true); err == nil || !strings.Contains(err.Error(), "is in use by another process; stop `govsvc serve`") {
		t.Error(err)
	}
	if err := addRisk(t.Context(), store, operator(t, store), "still mine"); err != nil {
		t.Error(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Restore(t.Context(), backup, optionsFor(path), true); err != nil {
		t.Error(err)
	}
}

// TestRestoreBesideNewFile: a file that is made while a backup is read stays,
// and so does the log beside it.
func TestRestoreBesideNewFile(t *testing.T) {
	t.Parallel()
	_, backup := backedUp(t)
	path := newPath(t)
	var made *db.DB
	options := optionsFor(path)
	options.Now = func() time.Time {
		if made == nil {
			made = handle(t, path, time.Minute)
			if err := addRisk(t.Context(), made, operator(t, made), "meanwhile"); err != nil {
				t.Fatal(err)
			}
		}
		return at
	}
	if _, err := db.Restore(t.Context(), backup, options, false); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("restored: %v", err)
	}
	if got := testkit.CountSQL(t, path, "SELECT risk_id FROM risks"); len(got) != 1 {
		t.Errorf("the new file's risks are %v", got)
	}
	if got := strings.Join(entries(t, filepath.Dir(path)), " "); got != "govsvc.db govsvc.db-shm govsvc.db-wal" {
		t.Error(got)
	}
}

// TestRestoreOverDamage: what is left of a file that can't be opened any more
// is kept, the log beside it too, which must never meet the restored file.
func TestRestoreOverDamage(t *testing.T) {
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
			path, backup := backedUp(t)
			later(t, path)
			if err := row.damage(path); err != nil {
				t.Fatal(err)
			}
			if _, err := db.Restore(t.Context(), backup, optionsFor(path), true); err != nil {
				t.Fatal(err)
			}
			kept, err := filepath.Glob(path + ".before-restore*")
			if err != nil || len(kept) != len(row.left) {
				t.Errorf("kept %v, %v", kept, err)
			}
			for i, end := range row.left {
				if !strings.HasSuffix(kept[i], end) {
					t.Errorf("kept %s, want one with the end %q", kept[i], end)
				}
			}
			if got := testkit.CountSQL(t, path, "SELECT risk_id FROM risks"); len(got) != 1 || got["in the backup"] != 1 {
				t.Errorf("restored: %v", got)
			}
		})
	}
}

// TestForeignPlace: another program's file is not taken for ours, whatever is
// said about force.
func TestForeignPlace(t *testing.T) {
	t.Parallel()
	_, backup := backedUp(t)
	path := newPath(t)
	testkit.ExecSQL(t, path, "CREATE TABLE theirs (x)")
	if _, err := db.Restore(t.Context(), backup, optionsFor(path), true); err == nil || !strings.Contains(err.Error(), "is another program's") {
		t.Error(err)
	}
}

// TestKilledRestore begins where a restore was killed between its last steps.
func TestKilledRestore(t *testing.T) {
	t.Parallel()
	path, backup := backedUp(t)
	folder, base := filepath.Split(path)
	alias := folder + "." + base + ".before-restore-20260101T000000Z"
	if err := os.Link(path, alias); err != nil { // before the names changed
		t.Fatal(err)
	}
	replaced := folder + "." + base + ".before-restore-20260202T000000Z"
	write(t, replaced, "the former file") // after it
	if _, err := db.Restore(t.Context(), backup, optionsFor(path), true); err != nil {
		t.Fatal(err)
	}
	want := []string{base, base + ".before-restore-20260202T000000Z", base + ".before-restore-20261001T120000Z"}
	if diff := cmp.Diff(want, entries(t, folder)); diff != "" {
		t.Errorf("in the folder (-want +got):\n%s", diff)
	}
}

// TestRestoreCopyBeforeMigration: the copy made before a migration is a backup
// of an older version, which this program restores and migrates.
func TestRestoreCopyBeforeMigration(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	older(t, path)
	before := testkit.CountSQL(t, path, "SELECT risk_id FROM risks")
	migrated := handle(t, path, time.Minute)
	version, err := migrated.Version(t.Context())
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
	done, err := db.Restore(t.Context(), copies[0], optionsFor(path), true)
	if err != nil || done.Version != 16 {
		t.Fatalf("%+v, %v", done, err)
	}
	if got := len(entries(t, filepath.Dir(path))); got != 3 {
		t.Errorf("left: %v", entries(t, filepath.Dir(path)))
	}
	again := handle(t, path, time.Minute)
	if got, err := again.Version(t.Context()); got != version || err != nil {
		t.Errorf("version %d, %v", got, err)
	}
	if diff := cmp.Diff(before, testkit.CountSQL(t, path, "SELECT risk_id FROM risks")); diff != "" || len(before) < 10 {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
}

// TestRehearse restores into a temporary place, and compares with the live file.
func TestRehearse(t *testing.T) {
	t.Parallel()
	path, backup := backedUp(t)
	later(t, path)
	live := handle(t, path, time.Minute) // in use
	done, err := db.Rehearse(t.Context(), backup, path)
	if err != nil {
		t.Fatal(err)
	}
	if len(done.Logs) != 1 || done.Logs[0].Events != 1 || done.Logs[0].After == nil || *done.Logs[0].After != 1 {
		t.Errorf("logs %+v", done.Logs)
	}
	at := slices.IndexFunc(done.Tables, func(c db.TableCount) bool { return c.Table == "risks" })
	if c := done.Tables[at]; c.Restored != 1 || c.Live == nil || *c.Live != 2 {
		t.Errorf("risks: %+v", c)
	}
	if err := addRisk(t.Context(), live, operator(t, live), "still served"); err != nil {
		t.Error(err)
	}
	other, _ := backedUp(t)
	if _, err := db.Rehearse(t.Context(), backup, other); err == nil || !strings.Contains(err.Error(), "does not go on from the backup's last event") {
		t.Errorf("another file's backup: %v", err)
	}
	alone, err := db.Rehearse(t.Context(), backup, newPath(t))
	if err != nil || alone.Logs[0].After != nil {
		t.Errorf("without a live file: %+v, %v", alone.Logs, err)
	}
	if _, err := os.Stat(newPath(t)); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a rehearsal made a data file")
	}
}
