package sqlite

import (
	"errors"
	"runtime"
	"sync"
	"testing"
)

// waiting is how many requests wait for the next batch.
func (d *DB) waiting() int {
	d.writer.mutex.Lock()
	defer d.writer.mutex.Unlock()
	return len(d.writer.waiting)
}

func insert(name string) func(*Tx) error {
	return func(tx *Tx) error {
		_, err := tx.Insert("INSERT INTO numbers (name) VALUES (?)", name)
		return err
	}
}

// TestWrite_BatchFails lets a batch fail after one of its requests was refused. What
// refused it may have been written by another request of the batch, so that every
// request reports the failure of the batch, and the refused one can be repeated.
func TestWrite_BatchFails(t *testing.T) {
	t.Parallel()
	d := newFile(t)
	other, err := d.connect(t.Context(), "rw")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.close() }()
	if err := other.runOnce(t.Context(), "PRAGMA busy_timeout = 0"); err != nil {
		t.Fatal(err)
	}
	locked := func(*Tx) error { // fails as the file does, and the batch with it
		_, err := other.Exec("BEGIN IMMEDIATE")
		return err
	}
	var done sync.WaitGroup
	err = d.Write(t.Context(), func(*Tx) error {
		for i, run := range []func(*Tx) error{insert("same"), insert("same"), locked} {
			done.Go(func() {
				if err := d.Write(t.Context(), run); !IsTransient(err) {
					t.Errorf("request %d: got %v, want the failure of the batch", i, err)
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
	if err := d.Write(t.Context(), insert("same")); err != nil {
		t.Errorf("the refused request, again: %v", err)
	}
	if err := d.Write(t.Context(), insert("same")); !IsUnique(err) {
		t.Errorf("got %v, want a failed constraint", err)
	}
}

// TestTx_AfterCommit calls functions for the requests of a batch that succeed.
func TestTx_AfterCommit(t *testing.T) {
	t.Parallel()
	d := newFile(t)
	refused := errors.New("refused by the test")
	called := map[string]int{} // the writer calls the functions one after the other
	request := func(name string, err error) func(*Tx) error {
		return func(tx *Tx) error {
			tx.AfterCommit(func() { called[name]++ })
			return errors.Join(insert(name)(tx), err)
		}
	}
	var done sync.WaitGroup
	err := d.Write(t.Context(), func(*Tx) error {
		for i, row := range []struct {
			name string
			err  error
		}{{"one", nil}, {"two", refused}, {"three", nil}} {
			done.Go(func() {
				if err := d.Write(t.Context(), request(row.name, row.err)); !errors.Is(err, row.err) {
					t.Errorf("%s: %v", row.name, err)
				}
			})
			for d.waiting() <= i {
				runtime.Gosched()
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	done.Wait()
	d.Freeze()
	if err := d.Write(t.Context(), request("frozen", nil)); err != nil {
		t.Fatal(err)
	}
	if len(called) != 2 || called["one"] != 1 || called["three"] != 1 {
		t.Errorf("called: %v", called)
	}
}
