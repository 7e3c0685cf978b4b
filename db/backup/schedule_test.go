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
	"govsvc/internal/testkit/testdb"
)

// TestMakeDue decides by the folder what is due, also after a restart. It keeps the
// newest of its backups, and all other files.
func TestMakeDue(t *testing.T) {
	t.Parallel()
	path, clock := testdb.EmptyFile(t), testkit.NewClock(testkit.Start)
	plan := backup.Schedule{Folder: filepath.Join(t.TempDir(), "backups"), Every: 24 * time.Hour, Keep: 2}
	if err := plan.Prepare(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"govsvc-notes.db", "other-20200101T000000Z.db", "govsvc-20200101T000000Z.txt"} {
		testkit.WriteFile(t, filepath.Join(plan.Folder, name), "another file")
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
		{"the clock is set back: the newest has a time in the future, and delays nothing", -60 * time.Hour, "", 12 * time.Hour, []string{"govsvc-20261002T120000Z.db", "govsvc-20261005T120000Z.db"}},
		{"due by the new time", 12 * time.Hour, "govsvc-20261003T120000Z.db", 24 * time.Hour, []string{"govsvc-20261002T120000Z.db", "govsvc-20261003T120000Z.db"}},
		{"the clock is set back before all backups", -72 * time.Hour, "govsvc-20260930T120000Z.db", 24 * time.Hour, []string{"govsvc-20260930T120000Z.db", "govsvc-20261003T120000Z.db"}},
		{"once more", 24 * time.Hour, "govsvc-20261001T120000Z.db", 24 * time.Hour, []string{"govsvc-20260930T120000Z.db", "govsvc-20261001T120000Z.db"}},
	}
	for _, step := range steps {
		clock.Advance(step.advance)
		store := testdb.Open(t, db.Options{Path: path, Now: clock.Now})
		made, next, err := backup.New(store).MakeDue(t.Context(), plan)
		if err != nil {
			t.Fatalf("%s: %v", step.about, err)
		}
		name := ""
		if made != nil {
			name = filepath.Base(made.Path)
		}
		if wait := next.Sub(clock.Now()); name != step.made || wait != step.next {
			t.Errorf("%s: got backup %q and the next one in %v, want %q and %v", step.about, name, wait, step.made, step.next)
		}
		want := append(append([]string{others[0]}, step.own...), others[1:]...)
		if diff := cmp.Diff(want, testkit.FileNames(t, plan.Folder)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.about, diff)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for at, want := range map[time.Time]string{clock.Now(): "govsvc-20261001T120000Z.db", clock.Now().Add(-time.Hour): "govsvc-20260930T120000Z.db", clock.Now().Add(-48 * time.Hour): "govsvc-20261001T120000Z.db"} {
		newest, err := backup.Newest(plan.Folder, path, at)
		if err != nil || filepath.Base(newest) != want {
			t.Errorf("newest at %v: %s, %v", at, newest, err)
		}
	}
	if _, err := backup.Newest(plan.Folder, "/data/elsewhere.db", clock.Now()); err == nil || !strings.Contains(err.Error(), "has no backup of elsewhere.db") {
		t.Error(err)
	}
}

// TestMakeDue_Failed records a failure until a backup is made. It removes no older
// backup.
func TestMakeDue_Failed(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(testkit.Start)
	store := testdb.Open(t, db.Options{Now: clock.Now})
	plan := backup.Schedule{Folder: t.TempDir(), Every: time.Hour, Keep: 1}
	if _, _, err := backup.New(store).MakeDue(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	away := plan.Folder + ".away"
	if err := os.Rename(plan.Folder, away); err != nil {
		t.Fatal(err)
	}
	clock.Advance(2 * time.Hour)
	if made, _, err := backup.New(store).MakeDue(t.Context(), plan); made != nil || err == nil {
		t.Errorf("made %v in a folder that does not exist, %v", made, err)
	}
	last, err := backup.New(store).Last(t.Context())
	if err != nil || last.Made == nil || last.Failed == nil || last.Failed.At != db.Timestamp(clock.Now()) || !strings.Contains(last.Failed.Error, plan.Folder) {
		t.Errorf("%+v, %v", last, err)
	}
	if got := testkit.FileNames(t, away); len(got) != 1 {
		t.Errorf("the older backup: %v", got)
	}
	if err := os.Rename(away, plan.Folder); err != nil {
		t.Fatal(err)
	}
	clock.Advance(-time.Hour) // the clock was set back
	if made, _, err := backup.New(store).MakeDue(t.Context(), plan); made == nil || err != nil {
		t.Errorf("made %v, %v", made, err)
	}
	if last, err := backup.New(store).Last(t.Context()); err != nil || last.Failed != nil {
		t.Errorf("still recorded as failed: %+v, %v", last.Failed, err)
	}
	file := filepath.Join(t.TempDir(), "file")
	testkit.WriteFile(t, file, "x")
	for folder, want := range map[string]string{file: "is not a folder", filepath.Join(away, "b"): "no such file or directory"} {
		if err := (backup.Schedule{Folder: folder}).Prepare(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", folder, err, want)
		}
	}
}
