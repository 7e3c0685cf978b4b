package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/internal/testkit"
)

// waiting returns how many requests wait for the next batch.
func (d *DB) waiting() int {
	d.writer.mutex.Lock()
	defer d.writer.mutex.Unlock()
	return len(d.writer.waiting)
}

// batched runs writes in one batch, in their order.
func (d *DB) batched(writes ...func()) {
	var done sync.WaitGroup
	d.writer.working.Lock()
	for i, write := range writes {
		done.Go(write)
		for d.waiting() <= i {
			runtime.Gosched()
		}
	}
	d.writer.working.Unlock()
	done.Wait()
}

// TestWrite_BatchFails lets a batch fail after one of its requests was refused. Another
// request of the batch may have written what refused it. So every request reports the
// failure of the batch, and the refused one can be repeated.
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
	var writes []func()
	for i, run := range []func(*Tx) error{insert("same"), insert("same"), locked} {
		writes = append(writes, func() {
			if err := d.Write(t.Context(), run); !IsTransient(err) {
				t.Errorf("request %d: got %v, want the failure of the batch", i, err)
			}
		})
	}
	d.batched(writes...)
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
	var writes []func()
	for _, row := range []struct {
		name string
		err  error
	}{{"one", nil}, {"two", refused}, {"three", nil}} {
		writes = append(writes, func() {
			if err := d.Write(t.Context(), request(row.name, row.err)); !errors.Is(err, row.err) {
				t.Errorf("%s: %v", row.name, err)
			}
		})
	}
	d.batched(writes...)
	d.Freeze()
	if err := d.Write(t.Context(), request("frozen", nil)); err != nil {
		t.Fatal(err)
	}
	if len(called) != 2 || called["one"] != 1 || called["three"] != 1 {
		t.Errorf("called: %v", called)
	}
}

// TestWrite_Cancelled cancels requests that wait. They store nothing and do not delay
// the others.
func TestWrite_Cancelled(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	d := openPath(t, path, time.Minute)
	inside, release := make(chan bool), make(chan bool)
	var done sync.WaitGroup
	done.Go(func() {
		err := d.Write(context.Background(), func(tx *Tx) error {
			close(inside)
			<-release
			return insert("first")(tx)
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-inside
	ended, end := context.WithCancel(t.Context())
	end()
	for i := range 5 {
		done.Go(func() {
			if err := add(context.Background(), d, fmt.Sprint("kept ", i)); err != nil {
				t.Error(err)
			}
		})
		if err := add(ended, d, fmt.Sprint("ended ", i)); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled before: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	late := make(chan error, 1)
	done.Go(func() { late <- add(ctx, d, "cancelled late") })
	time.Sleep(20 * time.Millisecond) // so that it waits; it must fail either way
	cancel()
	if err := <-late; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while it waited: %v", err)
	}
	close(release)
	done.Wait()
	want := map[string]int{"first": 1}
	for i := range 5 {
		want[fmt.Sprint("kept ", i)] = 1
	}
	if diff := cmp.Diff(want, stored(t, path)); diff != "" {
		t.Errorf("(-want +stored):\n%s", diff)
	}
}

// TestWrite_ShortLock waits for another process that releases the lock within the bound.
func TestWrite_ShortLock(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	d := openPath(t, path, time.Minute)
	other, err := testkit.OpenSQL(t, path).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, func() { _ = other.Rollback() })
	if err := add(t.Context(), d, "patient"); err != nil {
		t.Error(err)
	}
}

// TestWrite_Waits bounds the wait for a request of this process, and for another
// process.
func TestWrite_Waits(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	d, other := openPath(t, path, 100*time.Millisecond), openPath(t, path, time.Minute)
	for i, holder := range []*DB{d, other} {
		inside, leave, done := make(chan bool), make(chan bool), make(chan error)
		go func() {
			done <- holder.Write(context.Background(), func(*Tx) error {
				close(inside)
				<-leave
				return nil
			})
		}()
		<-inside
		began := time.Now()
		err := add(t.Context(), d, "none")
		if took := time.Since(began); !IsTransient(err) || errors.Is(err, ErrWriterBusy) != (holder == d) || took < 90*time.Millisecond || took > 10*time.Second {
			t.Errorf("behind writer %d: %v after %v", i, err, took)
		}
		close(leave)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := add(t.Context(), d, fmt.Sprint("after ", i)); err != nil {
			t.Errorf("after writer %d: %v", i, err)
		}
	}
	if diff := cmp.Diff(map[string]int{"after 0": 1, "after 1": 1}, stored(t, path)); diff != "" {
		t.Errorf("(-want +stored):\n%s", diff)
	}
}

// TestWrite_Panics passes a panic to the goroutine that made the request. The others
// of its batch succeed.
func TestWrite_Panics(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	d := openPath(t, path, time.Minute)
	var writes []func()
	for i := range 3 {
		writes = append(writes, func() {
			defer func() {
				if panicked := recover(); (panicked != nil) != (i == 1) {
					t.Errorf("request %d: panicked with %v", i, panicked)
				}
			}()
			err := d.Write(t.Context(), func(tx *Tx) error {
				if err := insert(fmt.Sprint(i))(tx); err != nil {
					return err
				}
				if i == 1 {
					panic("of the test")
				}
				return nil
			})
			if err != nil {
				t.Errorf("request %d: %v", i, err)
			}
		})
	}
	d.batched(writes...)
	if diff := cmp.Diff(map[string]int{"0": 1, "2": 1}, stored(t, path)); diff != "" {
		t.Errorf("(-want +stored):\n%s", diff)
	}
}

// TestWriteRepeatable_Failures lets requests of a batch fail before and after they have
// changed a row. The others are stored once. All are run again only if a row had been
// changed, and never together with a request that is not repeatable.
func TestWriteRepeatable_Failures(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused by the test")
	for _, row := range []struct {
		name  string
		fail  func(*Tx) error // of the second of three requests
		mixed bool            // another request of the batch is not repeatable
		runs  int             // of each request
	}{
		{"none", insert("1"), false, 1},
		{"before a change", func(*Tx) error { return refused }, false, 1},
		{"a constraint", insert("0"), false, 1},
		{"after a change", func(tx *Tx) error { return errors.Join(insert("1")(tx), refused) }, false, 2},
		{"a panic after a change", func(tx *Tx) error { panic(insert("1")(tx)) }, false, 2},
		{"after a change, in a mixed batch", func(tx *Tx) error { return errors.Join(insert("1")(tx), refused) }, true, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			path := newPath(t)
			d := openPath(t, path, time.Minute)
			var runs [3]int
			want := map[string]int{"0": 1, "2": 1}
			if row.name == "none" {
				want["1"] = 1
			}
			var writes []func()
			for i, run := range []func(*Tx) error{insert("0"), row.fail, insert("2")} {
				write := d.WriteRepeatable
				if row.mixed && i == 0 {
					write = d.Write
				}
				writes = append(writes, func() {
					defer func() { _ = recover() }()
					_ = write(t.Context(), func(tx *Tx) error {
						runs[i]++
						return run(tx)
					})
				})
			}
			d.batched(writes...)
			if diff := cmp.Diff(want, stored(t, path)); diff != "" {
				t.Errorf("(-want +stored):\n%s", diff)
			}
			if runs[0] != row.runs || runs[1] != row.runs {
				t.Errorf("runs %v, want %d", runs, row.runs)
			}
		})
	}
}

// TestWriteAlone runs a long request between others. Those before it do not wait for it, and
// those after it are not part of its transaction.
func TestWriteAlone(t *testing.T) {
	t.Parallel()
	d := newFile(t)
	before := d.WriteStats().Changes
	first := make(chan struct{})
	d.batched(
		func() {
			if err := add(t.Context(), d, "first"); err != nil {
				t.Error(err)
			}
			close(first)
		},
		func() {
			err := d.WriteAlone(t.Context(), func(tx *Tx) error {
				select {
				case <-first:
				case <-time.After(10 * time.Second):
					t.Error("the first request waits for the long one")
				}
				return insert("long")(tx)
			})
			if err != nil {
				t.Error(err)
			}
		},
		func() {
			if err := add(t.Context(), d, "last"); err != nil {
				t.Error(err)
			}
		},
	)
	if n := d.WriteStats().Changes.Counts[0] - before.Counts[0]; n != 3 {
		t.Errorf("%d transactions of one request, want 3", n)
	}
	if diff := cmp.Diff(map[string]int{"first": 1, "long": 1, "last": 1}, stored(t, d.Path())); diff != "" {
		t.Errorf("(-want +stored):\n%s", diff)
	}
}

// TestWriteRepeatable_Reconnected runs the requests of a batch again after a new connection
// was opened for it. They run on the same connection.
func TestWriteRepeatable_Reconnected(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	d := openPath(t, path, time.Minute)
	d.writer.stale = true
	var used []*conn
	request := func(name string, err error) func() {
		return func() {
			_ = d.WriteRepeatable(t.Context(), func(tx *Tx) error {
				used = append(used, tx.writer.conn)
				return errors.Join(insert(name)(tx), err)
			})
		}
	}
	d.batched(request("kept", nil), request("refused", errors.New("by the test")))
	if len(used) != 4 || used[2] != used[0] {
		t.Errorf("ran on the connections %v", used)
	}
	if diff := cmp.Diff(map[string]int{"kept": 1}, stored(t, path)); diff != "" {
		t.Errorf("(-want +stored):\n%s", diff)
	}
}

// TestWrite_SeenByReaders reads in another process. It sees a commit immediately, and
// nothing of a transaction under way.
func TestWrite_SeenByReaders(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	writer, reader := openPath(t, path, time.Minute), openPath(t, path, time.Minute)
	for _, pool := range []*Pool{reader.Frequent, reader.Lookups, reader.Searches, reader.Bulk} {
		for i := range 5 {
			name := fmt.Sprintf("%p %d", pool, i)
			isStored := func() (found bool) {
				if err := pool.Row(t.Context(), "SELECT EXISTS (SELECT 1 FROM numbers WHERE name = ?)", name).Scan(&found); err != nil {
					t.Error(err)
				}
				return found
			}
			err := writer.Write(t.Context(), func(tx *Tx) error {
				err := insert(name)(tx)
				if isStored() {
					t.Error("a row is seen before its commit")
				}
				return err
			})
			if err != nil || !isStored() {
				t.Errorf("a row is not seen after its commit: %v", err)
			}
		}
	}
}

// TestFreeze runs requests and stores nothing.
func TestFreeze(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	d := openPath(t, path, time.Minute)
	if err := add(t.Context(), d, "kept"); err != nil {
		t.Fatal(err)
	}
	d.Freeze()
	var done sync.WaitGroup
	for i := range 10 {
		done.Go(func() {
			if err := add(t.Context(), d, fmt.Sprint("gone ", i)); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	if diff := cmp.Diff(map[string]int{"kept": 1}, stored(t, path)); diff != "" || !d.Frozen() {
		t.Errorf("(-want +stored):\n%s", diff)
	}
}

// TestWriteStats counts committed requests and failed transactions.
func TestWriteStats(t *testing.T) {
	t.Parallel()
	d := newFile(t)
	before := d.WriteStats()
	for _, name := range []string{"a", "b"} {
		if err := add(t.Context(), d, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := add(t.Context(), d, "a"); !IsUnique(err) { // the request fails, not the transaction
		t.Error(err)
	}
	after := d.WriteStats()
	if after.Changes.Sum-before.Changes.Sum != 2 || after.Changes.Counts[0]-before.Changes.Counts[0] != 2 || after.Failed != before.Failed || after.Seconds.Sum <= before.Seconds.Sum {
		t.Errorf("before %+v, after %+v", before, after)
	}
}
