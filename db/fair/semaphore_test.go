package fair

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// queueHarness runs callers of a semaphore of one place, which the harness
// holds, and records the order in which they are admitted.
type queueHarness struct {
	*Semaphore
	t        *testing.T
	group    sync.WaitGroup
	mutex    sync.Mutex
	admitted []string
	refused  []string
}

func newQueueHarness(t *testing.T, perSubject, inAll int) *queueHarness {
	t.Helper()
	q := &queueHarness{Semaphore: NewSemaphore(1, perSubject, inAll), t: t}
	if err := q.Acquire(t.Context(), "holder of the place", "none", time.Hour); err != nil {
		t.Fatal(err)
	}
	return q
}

// call has a caller wait, and returns when it waits or has been refused.
func (q *queueHarness) call(ctx context.Context, name, address, subject string) {
	q.t.Helper()
	q.mutex.Lock()
	before := q.seen()
	q.mutex.Unlock()
	q.group.Go(func() {
		err := q.Acquire(ctx, address, subject, time.Hour)
		q.mutex.Lock()
		if err == nil {
			q.admitted = append(q.admitted, name)
		} else {
			q.refused = append(q.refused, name)
		}
		q.mutex.Unlock()
		if err == nil {
			q.Release()
		}
	})
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(100 * time.Microsecond) {
		q.mutex.Lock()
		now := q.seen()
		q.mutex.Unlock()
		if now > before {
			return
		}
	}
	q.t.Fatal("the caller neither waits nor is refused")
}

// seen counts all callers so far.
func (q *queueHarness) seen() int {
	q.Semaphore.mutex.Lock()
	defer q.Semaphore.mutex.Unlock()
	return len(q.waiting) + len(q.refused)
}

func (q *queueHarness) finish() {
	q.Release()
	q.group.Wait()
}

func (q *queueHarness) check(what string, got, want []string) {
	q.t.Helper()
	if !slices.Equal(got, want) {
		q.t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestFairSemaphore_Order(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		call [][3]string // name, address, subject
		want []string
	}{
		{"one address: in order", [][3]string{{"1", "a", ""}, {"2", "a", ""}, {"3", "a", ""}}, []string{"1", "2", "3"}},
		{
			"a crowd delays another address by one",
			[][3]string{{"1", "a", ""}, {"2", "a", ""}, {"3", "a", ""}, {"x", "b", ""}},
			[]string{"x", "1", "2", "3"},
		},
		{
			"two crowds alternate",
			[][3]string{{"1", "a", ""}, {"2", "a", ""}, {"3", "a", ""}, {"x", "b", ""}, {"y", "b", ""}},
			[]string{"x", "1", "y", "2", "3"},
		},
		{
			"subjects of one address alternate",
			[][3]string{{"1", "a", "p"}, {"2", "a", "p"}, {"3", "a", "p"}, {"x", "a", "q"}},
			[]string{"1", "x", "2", "3"},
		},
		{
			"the newest address first, where all are equal",
			[][3]string{{"1", "a", ""}, {"2", "b", ""}, {"3", "c", ""}},
			[]string{"3", "2", "1"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			q := newQueueHarness(t, 100, 100)
			for _, c := range row.call {
				q.call(t.Context(), c[0], c[1], c[2])
			}
			q.finish()
			q.check("admitted", q.admitted, row.want)
		})
	}
}

// TestFairSemaphore_Bounds: beyond the bounds the newest caller of the largest
// crowd is refused, and another address gets in.
func TestFairSemaphore_Bounds(t *testing.T) {
	t.Parallel()
	q := newQueueHarness(t, 3, 5)
	for i := range 4 {
		q.call(t.Context(), fmt.Sprint("crowd ", i), "a", "p")
	}
	q.check("beyond the bound of a subject", q.refused, []string{"crowd 3"})
	q.call(t.Context(), "other", "b", "p")
	q.check("for another address", q.refused, []string{"crowd 3", "crowd 2"})
	for i := range 4 {
		q.call(t.Context(), fmt.Sprint("second ", i), "c", "q")
	}
	q.check("beyond the bound of all", q.refused[2:], []string{"second 2", "second 3"})
	q.finish()
	q.check("admitted", q.admitted, []string{"second 0", "other", "crowd 0", "second 1", "crowd 1"})
}

// TestFairSemaphore_Leave: a caller whose context ends leaves the queue and
// takes no place.
func TestFairSemaphore_Leave(t *testing.T) {
	t.Parallel()
	q := newQueueHarness(t, 10, 10)
	ctx, leave := context.WithCancel(t.Context())
	q.call(ctx, "gone", "a", "")
	q.call(t.Context(), "stays", "a", "")
	leave()
	q.finish()
	q.check("admitted", q.admitted, []string{"stays"})
	q.check("refused", q.refused, []string{"gone"})
	if err := q.Acquire(ctx, "a", "", time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that had left before: %v", err)
	}
	if err := q.Acquire(t.Context(), "a", "", time.Hour); err != nil {
		t.Errorf("the place is lost: %v", err)
	}
	if err := q.Acquire(t.Context(), "a", "", time.Nanosecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the time to wait: %v", err)
	}
}

// TestFairSemaphore_Memory: a flood of addresses does not grow what is kept.
func TestFairSemaphore_Memory(t *testing.T) {
	t.Parallel()
	f := NewSemaphore(1, 10, 10)
	for i := range 5 * virtualTimesKept {
		if err := f.Acquire(t.Context(), fmt.Sprint("address ", i), "", time.Hour); err != nil {
			t.Fatal(err)
		}
		f.Release()
	}
	if n := len(f.addresses.of); n > virtualTimesKept+1 {
		t.Errorf("%d addresses are kept, want at most %d", n, virtualTimesKept+1)
	}
}
