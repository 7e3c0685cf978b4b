package db_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/internal/testkit"
)

// TestCloseLeavesOneFile: a closed file is whole by itself, so that it can be
// copied.
func TestCloseLeavesOneFile(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	store := handle(t, path, time.Minute)
	if err := addRisk(t.Context(), store, operator(t, store), "R"); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(path + end); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", end, err)
		}
	}
}

// TestCloseWaits: a change that is under way when the file is closed is stored,
// and one that comes later is refused.
func TestCloseWaits(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	store := handle(t, path, time.Minute)
	by := operator(t, store)
	closed := make(chan error, 1)
	err := store.Write(t.Context(), by, func(tx *db.Tx) error {
		go func() { closed <- store.Close() }()
		for i := range 200 {
			if err := putRisk(tx, fmt.Sprint("R-", i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, <-closed); err != nil {
		t.Fatal(err)
	}
	if err := addRisk(t.Context(), store, by, "late"); err == nil {
		t.Error("a closed file was written to")
	}
	if got := len(testkit.CountSQL(t, path, "SELECT risk_id FROM risks")); got != 200 {
		t.Errorf("%d risks are stored, want 200", got)
	}
}

// TestCloseWhileReading: pages that are being read when the file is closed are
// read to their end, those that come later are refused, and the file is whole.
func TestCloseWhileReading(t *testing.T) {
	t.Parallel()
	for range 5 {
		path := newPath(t)
		store := handle(t, path, time.Minute)
		org := defaultOrg(t, store)
		if err := addRisk(t.Context(), store, operator(t, store), "R"); err != nil {
			t.Fatal(err)
		}
		var readers, begun sync.WaitGroup
		for range 4 {
			begun.Add(1)
			readers.Go(func() {
				begin := sync.OnceFunc(begun.Done)
				for {
					_, err := store.List(t.Context(), org, resource.Risk, db.ListQuery{Limit: 25})
					begin()
					if err != nil {
						return
					}
				}
			})
		}
		begun.Wait()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		if _, err := store.DataVersion(t.Context()); err == nil {
			t.Error("a closed file is watched")
		}
		if _, err := os.Stat(path + "-wal"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the log is left: %v", err)
		}
		readers.Wait()
	}
}
