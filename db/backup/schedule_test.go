package backup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/backup"
	"govsvc/internal/testkit"
)

// TestBackUpWhenDue: the folder tells what is due, over restarts too; of its own
// backups the newest are kept, and nothing else is touched.
func TestBackUpWhenDue(t *testing.T) {
	t.Parallel()
	path, now := newPath(t), testkit.Start
	open := func() *db.DB {
		t.Helper()
		store, err := db.Open(t.Context(), db.Options{Path: path, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
	plan := backup.Schedule{Folder: filepath.Join(t.TempDir(), "backups"), Every: 24 * time.Hour, Keep: 2}
	if err := plan.Prepare(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"govsvc-notes.db", "other-20200101T000000Z.db", "govsvc-20200101T000000Z.txt"} {
		testkit.WriteFile(t, filepath.Join(plan.Folder, name), "somebody's")
	}
	others := []string{"govsvc-20200101T000000Z.txt", "govsvc-notes.db", "other-20200101T000000Z.db"}
	steps := []struct {
		about   string
		advance time.Duration
		made    string
		next    time.Duration // from now
		own     []string
	}{
		{"the first", 0, "govsvc-20261001T120000Z.db", 24 * time.Hour, []string{"govsvc-20261001T120000Z.db"}},
		{"not due", time.Hour, "", 23 * time.Hour, []string{"govsvc-20261001T120000Z.db"}},
		{"due", 23 * time.Hour, "govsvc-20261002T120000Z.db", 24 * time.Hour, []string{"govsvc-20261001T120000Z.db", "govsvc-20261002T120000Z.db"}},
		{"long overdue", 72 * time.Hour, "govsvc-20261005T120000Z.db", 24 * time.Hour, []string{"govsvc-20261002T120000Z.db", "govsvc-20261005T120000Z.db"}},
		{"the clock is set back: the newest is of a time to come, and holds up nothing", -60 * time.Hour, "", 12 * time.Hour, []string{"govsvc-20261002T120000Z.db", "govsvc-20261005T120000Z.db"}},
		{"due by the new time", 12 * time.Hour, "govsvc-20261003T120000Z.db", 24 * time.Hour, []string{"govsvc-20261002T120000Z.db", "govsvc-20261003T120000Z.db"}},
		{"the clock is set back before all of them", -72 * time.Hour, "govsvc-20260930T120000Z.db", 24 * time.Hour, []string{"govsvc-20260930T120000Z.db", "govsvc-20261003T120000Z.db"}},
		{"once more", 24 * time.Hour, "govsvc-20261001T120000Z.db", 24 * time.Hour, []string{"govsvc-20260930T120000Z.db", "govsvc-20261001T120000Z.db"}},
	}
	for _, step := range steps {
		now = now.Add(step.advance)
		store := open()
		made, next, err := backup.New(store).MakeDue(t.Context(), plan)
		if err != nil {
			t.Fatalf("%s: %v", step.about, err)
		}
		name := ""
		if made != nil {
			name = filepath.Base(made.Path)
		}
		if name != step.made || next.Sub(now) != step.next {
			t.Errorf("%s: made %q, next in %v", step.about, name, next.Sub(now))
		}
		want := append(append([]string{others[0]}, step.own...), others[1:]...)
		if diff := cmp.Diff(want, testkit.FileNames(t, plan.Folder)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.about, diff)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for at, want := range map[time.Time]string{now: "govsvc-20261001T120000Z.db", now.Add(-time.Hour): "govsvc-20260930T120000Z.db", now.Add(-48 * time.Hour): "govsvc-20261001T120000Z.db"} {
		newest, err := backup.Newest(plan.Folder, path, at)
		if err != nil || filepath.Base(newest) != want {
			t.Errorf("newest at %v: %s, %v", at, newest, err)
		}
	}
	if _, err := backup.Newest(plan.Folder, "/data/elsewhere.db", now); err == nil || !strings.Contains(err.Error(), "holds no backup of elsewhere.db") {
		t.Error(err)
	}
}

// TestFailedBackups: a failure is remembered until a backup is made, and removes
// no older backup.
func TestFailedBackups(t *testing.T) {
	t.Parallel()
	now := testkit.Start
	store, err := db.Open(t.Context(), db.Options{Path: newPath(t), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // of the test
	plan := backup.Schedule{Folder: t.TempDir(), Every: time.Hour, Keep: 1}
	if _, _, err := backup.New(store).MakeDue(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	away := plan.Folder + ".away"
	if err := os.Rename(plan.Folder, away); err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * time.Hour)
	if made, _, err := backup.New(store).MakeDue(t.Context(), plan); made != nil || err == nil {
		t.Errorf("made %v in a folder that is gone, %v", made, err)
	}
	last, err := backup.New(store).Last(t.Context())
	if err != nil || last.Made == nil || last.Failed == nil || last.Failed.At != db.Timestamp(now) || !strings.Contains(last.Failed.Error, plan.Folder) {
		t.Errorf("%+v, %v", last, err)
	}
	if got := testkit.FileNames(t, away); len(got) != 1 {
		t.Errorf("the older backup: %v", got)
	}
	if err := os.Rename(away, plan.Folder); err != nil {
		t.Fatal(err)
	}
	now = now.Add(-time.Hour) // by a clock that was set back meanwhile
	if made, _, err := backup.New(store).MakeDue(t.Context(), plan); made == nil || err != nil {
		t.Errorf("made %v, %v", made, err)
	}
	if last, err := backup.New(store).Last(t.Context()); err != nil || last.Failed != nil {
		t.Errorf("still told as failed: %+v, %v", last.Failed, err)
	}
	file := filepath.Join(t.TempDir(), "file")
	testkit.WriteFile(t, file, "x")
	for folder, want := range map[string]string{file: "is no folder", filepath.Join(away, "b"): "no such file or directory"} {
		if err := (backup.Schedule{Folder: folder}).Prepare(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", folder, err, want)
		}
	}
}
