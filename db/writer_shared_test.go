package db

import (
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

// TestSharedFailure: what a change is refused for may be what another one has
// written in the same transaction. Where that fails, nothing is there, and the
// change may be made after all.
func TestSharedFailure(t *testing.T) {
	t.Parallel()
	d, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "govsvc.db"), Wait: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // of the test
	org, err := d.Organisation(t.Context(), DefaultOrganisation)
	if err != nil {
		t.Fatal(err)
	}
	by := Actor{Org: org.Org, ID: "system"}
	save := func(tx *Tx) error {
		_, err := tx.Save("risk", "", Record{"risk_id": "R", "description": "the same for all"})
		return err
	}
	other, err := d.connect(t.Context(), "rw")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.close() }()
	if err := other.set(t.Context(), "PRAGMA busy_timeout = 0"); err != nil {
		t.Fatal(err)
	}
	locked := func(*Tx) error { // fails as the file does, and everything with it
		_, err := other.Exec("BEGIN IMMEDIATE")
		return err
	}
	var done sync.WaitGroup
	err = d.Write(t.Context(), by, func(*Tx) error {
		for i, run := range []func(*Tx) error{save, save, locked} {
			done.Go(func() {
				if err := d.Write(t.Context(), by, run); !Is(err, Unavailable) {
					t.Errorf("change %d: %v, want Unavailable", i, err)
				}
			})
			for d.waiting() <= i { // so that they come in this order
				runtime.Gosched()
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	done.Wait()
	if err := d.Write(t.Context(), by, save); err != nil {
		t.Errorf("what was refused, again: %v", err)
	}
}

// waiting is how many changes wait for their turn.
func (d *DB) waiting() int {
	d.writer.mutex.Lock()
	defer d.writer.mutex.Unlock()
	return len(d.writer.waiting)
}
