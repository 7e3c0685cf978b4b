package sqlite

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"
)

// TestWrite_Joins writes while another request runs. It joins the transaction of that
// request, if joinTime has not passed.
func TestWrite_Joins(t *testing.T) {
	t.Parallel()
	d := newFile(t)
	for range 100 {
		before := d.WriteStats().Changes
		var done sync.WaitGroup
		err := d.Write(t.Context(), func(*Tx) error {
			done.Go(func() {
				if err := d.Write(t.Context(), func(*Tx) error { return nil }); err != nil {
					t.Error(err)
				}
			})
			for d.waiting() == 0 {
				runtime.Gosched()
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		done.Wait()
		if after := d.WriteStats().Changes; after.Counts[1] > before.Counts[1] {
			return
		}
	}
	t.Error("no request has joined a transaction")
}

// TestGather waits only if the last batch was larger, and not after a wait in vain.
func TestGather(t *testing.T) {
	t.Parallel()
	d := newFile(t)
	w := &d.writer
	w.gathering.expected, w.gathering.commit = 2, time.Hour
	if left := w.gathering.patience(); left != joinTime {
		t.Errorf("a batch waits for %v, want %v", left, joinTime)
	}
	long, short := time.Hour, time.Nanosecond
	if w.gather(2, &long) {
		t.Error("a batch of the expected size has found a request")
	}
	w.led = true // the test leads
	var done sync.WaitGroup
	done.Go(func() {
		for wanted := false; !wanted; runtime.Gosched() {
			w.mutex.Lock()
			wanted = w.gathering.wanted
			w.mutex.Unlock()
		}
		if err := add(context.Background(), d, "late"); err != nil {
			t.Error(err)
		}
	})
	if !w.gather(1, &long) || !w.gather(2, &long) || w.gather(maxBatch, &long) {
		t.Error("the request that arrived was not found, or exceeds the bound of a batch")
	}
	w.gathering.expected = 0
	batch := w.transact()
	w.finish(batch)
	batch[0].turn <- false
	done.Wait()
	w.gathering.expected = 2
	for i, want := range []int{1, 3, 7, 15, 31, 63, 63} {
		left := short
		if w.gather(1, &left) || w.gathering.skip != want {
			t.Errorf("wait %d in vain: the next %d batches do not wait, want %d", i, w.gathering.skip, want)
		}
	}
	for range maxSkipped {
		if left := w.gathering.patience(); left != 0 {
			t.Fatalf("a batch waits for %v after waits in vain", left)
		}
	}
	if w.gathering.patience() == 0 {
		t.Error("no batch waits again")
	}
}
