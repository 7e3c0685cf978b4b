package backup_test

import (
	"os"
	"path/filepath"
	"testing"

	"govsvc/db"
	"govsvc/db/backup"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// open opens the data file at a path. Two stores of one file are like two processes.
func open(t *testing.T, path string) *db.DB {
	t.Helper()
	return testdb.Open(t, db.Options{Path: path})
}

// restore restores a file to a path, with the options of package testdb.
func restore(t *testing.T, from, path string, force bool) (backup.Restored, error) {
	t.Helper()
	return backup.Restore(t.Context(), from, testdb.Options(path), db.Actor{}, force)
}

// backedUp returns a closed file with one risk, and a backup of it.
func backedUp(t *testing.T) (path, saved string) {
	t.Helper()
	path = testdb.EmptyFile(t)
	store := open(t, path)
	if err := testdb.AddRisk(t.Context(), store, "in the backup"); err != nil {
		t.Fatal(err)
	}
	saved = filepath.Join(t.TempDir(), "backup.db")
	if _, err := backup.New(store).Make(t.Context(), saved, false); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return path, saved
}

// addRiskAndKill adds a risk to a closed file, and leaves the file as a killed process
// does: with a part of it in the log beside it.
func addRiskAndKill(t *testing.T, path string) {
	t.Helper()
	store := open(t, path)
	if err := testdb.AddRisk(t.Context(), store, "after the backup"); err != nil {
		t.Fatal(err)
	}
	left := map[string][]byte{}
	for _, suffix := range []string{"", "-wal"} {
		text, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		left[suffix] = text
	}
	if len(left["-wal"]) == 0 {
		t.Fatal("nothing is left in the log")
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for suffix, text := range left {
		testkit.WriteFile(t, path+suffix, string(text))
	}
}
