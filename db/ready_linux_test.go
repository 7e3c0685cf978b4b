package db_test

import (
	"path/filepath"
	"testing"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"govsvc/db"
)

// TestReady probes a file: the disk is asked now and then, and once more after
// a write has failed; between that no kept page is lost by a probe.
func TestReady(t *testing.T) {
	t.Parallel()
	path, now := newPath(t), at
	d := newDisk(t, filepath.Dir(path))
	store, err := db.Open(t.Context(), db.Options{Path: path, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // of the test
	generation := func() int64 {
		t.Helper()
		n, err := store.DataVersion(t.Context())
		if err != nil {
			t.Error(err)
		}
		return n
	}
	ready := func(about string, want, commits bool) {
		t.Helper()
		before := generation()
		if err := store.Ready(t.Context()); (err == nil) != want {
			t.Errorf("%s: %v, want ready %v", about, err, want)
		}
		if committed := generation() != before; committed != commits {
			t.Errorf("%s: committed %v, want %v", about, committed, commits)
		}
	}
	ready("at first", true, true)
	ready("at once again", true, false)
	now = now.Add(29 * time.Second)
	ready("soon again", true, false)
	now = now.Add(time.Second)
	ready("later", true, true)
	d.setFail(func(kind ioKind, _ string) int32 {
		if kind == ioWrite {
			return sqlite3.SQLITE_FULL
		}
		return 0
	})
	ready("before anybody has noticed", true, false)
	if err := addRisk(t.Context(), store, operator(t, store), "R"); err == nil {
		t.Error("a full disk took a write")
	}
	ready("full", false, false)
	ready("still full", false, false)
	d.setFail(nil)
	ready("mended", true, true)
	ready("mended, again", true, false)
	now = now.Add(-time.Hour)
	ready("when the clock was set back", true, true)
}
