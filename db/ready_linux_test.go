package db_test

import (
	"path/filepath"
	"testing"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"govsvc/db"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// TestReady probes a file. A probe writes to the disk every 30 seconds, and after a failed
// write. The other probes keep cached pages valid.
func TestReady(t *testing.T) {
	t.Parallel()
	path, clock := testkit.NewPath(t), testkit.NewClock(testkit.Start)
	d := newDisk(t, filepath.Dir(path))
	store := testdb.Open(t, db.Options{Path: path, Now: clock.Now})
	generation := func() int64 {
		t.Helper()
		n, err := store.File.DataVersion()
		if err != nil {
			t.Error(err)
		}
		return n
	}
	ready := func(about string, want, commits bool) {
		t.Helper()
		before := generation()
		if err := store.File.Ready(t.Context()); (err == nil) != want {
			t.Errorf("%s: %v, want ready %v", about, err, want)
		}
		if committed := generation() != before; committed != commits {
			t.Errorf("%s: committed %v, want %v", about, committed, commits)
		}
	}
	ready("at first", true, true)
	ready("immediately again", true, false)
	clock.Advance(29 * time.Second)
	ready("soon again", true, false)
	clock.Advance(time.Second)
	ready("later", true, true)
	d.setFail(func(kind ioKind, _ string) int32 {
		if kind == ioWrite {
			return sqlite3.SQLITE_FULL
		}
		return 0
	})
	ready("before a write has failed", true, false)
	if err := testdb.AddRisk(t.Context(), store, "R"); err == nil {
		t.Error("a full disk took a write")
	}
	ready("full", false, false)
	ready("still full", false, false)
	d.setFail(nil)
	ready("repaired", true, true)
	ready("repaired, again", true, false)
	clock.Advance(-time.Hour)
	ready("when the clock was set back", true, true)
}
