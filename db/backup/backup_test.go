package backup_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/backup"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// TestMake copies a file. The copy is complete, and the file and its audit logs record
// it.
func TestMake(t *testing.T) {
	t.Parallel()
	store := testdb.OpenWithEvents(t, 5)
	if err := testdb.AddRisk(t.Context(), store, "kept"); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "copy.db")
	made, err := backup.New(store).Make(t.Context(), path, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := backup.New(store).Record(t.Context(), db.Actor{ID: "system"}, made); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"copy.db"}, testkit.FileNames(t, folder)); diff != "" {
		t.Errorf("in the folder (-want +got):\n%s", diff)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() != made.Bytes || info.Mode().Perm() != 0o600 || made.Path != path || made.At != db.Timestamp(testkit.Start) {
		t.Errorf("%d bytes, mode %o, reported as %+v", info.Size(), info.Mode().Perm(), made)
	}
	last, err := backup.New(store).Last(t.Context())
	want := backup.Attempts{Made: &backup.Attempt{At: made.At, Path: path, Bytes: made.Bytes}}
	if diff := cmp.Diff(want, last); diff != "" || err != nil {
		t.Errorf("%v, recorded (-want +got):\n%s", err, diff)
	}
	for _, log := range made.Logs {
		check, err := store.Audit.Check(t.Context(), log.Org, log.Head)
		if err != nil || check.Broken != nil || !check.Known || check.After != 1 || check.Events != log.Events+1 {
			t.Errorf("%s: %+v, %v, want the event of the backup after its %d", log.Name, check, err, log.Events)
		}
	}
	copied := open(t, path)
	if got := testdb.Risks(t, path); got["kept"] != 1 {
		t.Errorf("the copy has %v", got)
	}
	for _, log := range made.Logs {
		if intact, broken, err := copied.Audit.Verify(t.Context(), log.Org); intact != log.Events || broken != nil || err != nil {
			t.Errorf("%s: %d events in the copy, want %d; %v, %v", log.Name, intact, log.Events, broken, err)
		}
	}
}

// TestMake_Refused writes to no path where an unexpected file is.
func TestMake_Refused(t *testing.T) {
	t.Parallel()
	path := testdb.EmptyFile(t)
	store := open(t, path)
	folder := t.TempDir()
	there := filepath.Join(folder, "there")
	testkit.WriteFile(t, there, "something else")
	link := filepath.Join(folder, "link")
	if err := os.Link(path, link); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		path    string
		replace bool
		want    string
	}{
		{there, false, there + " already exists; name another file, or replace it with --force"},
		{folder, true, folder + " is a folder; name a file in it"},
		{path, true, "is the data file in use; name another one"},
		{path + "-wal", true, "is the data file in use; name another one"},
		{link, true, "is the data file in use; name another one"},
		{os.DevNull, true, "is not a regular file"},
		{filepath.Join(folder, "none", "x"), false, "the folder " + filepath.Join(folder, "none") + " does not exist; create it, or name another folder"},
	} {
		_, err := backup.New(store).Make(t.Context(), row.path, row.replace)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", row.path, err, row.want)
		}
	}
	if text, err := os.ReadFile(there); err != nil || string(text) != "something else" {
		t.Errorf("the present file is now %q, %v", text, err)
	}
	if _, err := backup.New(store).Make(t.Context(), there, true); err != nil {
		t.Error(err)
	}
	if got := testkit.FileNames(t, folder); !slices.Equal(got, []string{"link", "there"}) {
		t.Errorf("left: %v", got)
	}
	open(t, there)
}

// TestMake_DuringWrites copies a file several times while others write to it. Each copy
// is intact and has everything that was acknowledged before. The live audit log continues
// where the copy's ends.
func TestMake_DuringWrites(t *testing.T) {
	t.Parallel()
	path := testdb.EmptyFile(t)
	store := open(t, path)
	org := testdb.DefaultOrg(t, store).Org
	var mutex sync.Mutex
	var acknowledged []string
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				name := fmt.Sprintf("W%d-%d", w, i)
				if err := testdb.AddRisk(context.WithoutCancel(ctx), store, name); err != nil {
					t.Error(err)
					return
				}
				mutex.Lock()
				acknowledged = append(acknowledged, name)
				mutex.Unlock()
			}
		})
	}
	folder := t.TempDir()
	for i := range 4 {
		mutex.Lock()
		before := slices.Clone(acknowledged)
		mutex.Unlock()
		copied := filepath.Join(folder, fmt.Sprint(i))
		made, err := backup.New(store).Make(t.Context(), copied, false)
		if err != nil {
			t.Fatal(err)
		}
		held := testdb.Risks(t, copied)
		for _, name := range before {
			if held[name] != 1 {
				t.Errorf("copy %d lacks %s, which was stored before", i, name)
			}
		}
		if made.Logs[0].Events != len(held) {
			t.Errorf("copy %d has %d events of %d risks", i, made.Logs[0].Events, len(held))
		}
		if check, err := store.Audit.Check(t.Context(), org, made.Logs[0].Head); err != nil || !check.Known {
			t.Errorf("copy %d: the live log does not lead to its head: %+v, %v", i, check, err)
		}
	}
	stop()
	writers.Wait()
	t.Logf("%d writes", len(acknowledged))
}

// TestMake_Damage makes no copy of a damaged file.
func TestMake_Damage(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, path string){
		"a page": func(t *testing.T, path string) {
			t.Helper()
			damagePage(t, path, "audit_events_by_org")
		},
		"the log": func(t *testing.T, path string) {
			t.Helper()
			testkit.ExecSQL(t, path, "DROP TRIGGER audit_events_never_go", "DELETE FROM audit_events WHERE seq = 2")
		},
		"a reference": func(t *testing.T, path string) {
			t.Helper()
			testkit.ExecSQL(t, path, "INSERT INTO api_keys (org_id, id, name, kind, prefix, salt, hash, scopes, created_at) VALUES (77, 'k', 'n', 'live', 'p', zeroblob(16), zeroblob(32), '[]', '')")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := testdb.OpenWithEvents(t, 9)
			path := store.File.Path()
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			damage(t, path)
			folder := t.TempDir()
			_, err := backup.New(open(t, path)).Make(t.Context(), filepath.Join(folder, "copy"), false)
			if err == nil {
				t.Error("a copy was made")
			}
			if got := testkit.FileNames(t, folder); len(got) > 0 {
				t.Errorf("left: %v", got)
			}
			t.Log(err)
		})
	}
}

// damagePage overwrites the root page of a table or an index.
func damagePage(t *testing.T, path, name string) {
	t.Helper()
	var page int64
	if err := testkit.OpenSQL(t, path).QueryRowContext(t.Context(), "SELECT rootpage FROM sqlite_schema WHERE name = ?", name).Scan(&page); err != nil {
		t.Fatal(err)
	}
	testkit.ExecSQL(t, path, "PRAGMA wal_checkpoint(TRUNCATE)")
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		_, err = file.WriteAt([]byte(strings.Repeat("damage! ", 64)), (page-1)*4096)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestMake_Cancelled leaves no file. The partial file of a killed process is removed when
// it is old.
func TestMake_Cancelled(t *testing.T) {
	t.Parallel()
	store := testdb.Open(t, db.Options{})
	folder := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := backup.New(store).Make(ctx, filepath.Join(folder, "copy"), false); err == nil {
		t.Error("made although cancelled")
	}
	old, young, other := filepath.Join(folder, ".copy.partial-1"), filepath.Join(folder, ".copy.partial-2"), filepath.Join(folder, ".other.partial-1")
	for _, path := range []string{old, young, other} {
		testkit.WriteFile(t, path, "half")
	}
	for _, path := range []string{old, other} {
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-2*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := backup.New(store).Make(t.Context(), filepath.Join(folder, "copy"), false); err != nil {
		t.Error(err)
	}
	want := []string{".copy.partial-2", ".other.partial-1", "copy"}
	if diff := cmp.Diff(want, testkit.FileNames(t, folder)); diff != "" {
		t.Errorf("in the folder (-want +got):\n%s", diff)
	}
}
