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

// queueHarness runs callers of a semaphore that admits one caller at a time. The harness
// is admitted first. It records the order of the others.
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
	if err := q.Acquire(t.Context(), "harness", "none", time.Hour); err != nil {
		t.Fatal(err)
	}
	return q
}

// call starts a caller and returns when it waits or is refused.
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

// seen counts the callers that wait or were refused.
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

func TestSemaphore_Order(t *testing.T) {
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

// TestSemaphore_Limits checks that a full queue refuses the newest caller of the address
// with the most callers, and accepts another address.
func TestSemaphore_Limits(t *testing.T) {
	t.Parallel()
	q := newQueueHarness(t, 3, 5)
	for i := range 4 {
		q.call(t.Context(), fmt.Sprint("crowd ", i), "a", "p")
	}
	q.check("over the limit of a subject", q.refused, []string{"crowd 3"})
	q.call(t.Context(), "other", "b", "p")
	q.check("for another address", q.refused, []string{"crowd 3", "crowd 2"})
	for i := range 4 {
		q.call(t.Context(), fmt.Sprint("second ", i), "c", "q")
	}
	q.check("over the limit of all", q.refused[2:], []string{"second 2", "second 3"})
	q.finish()
	q.check("admitted", q.admitted, []string{"second 0", "other", "crowd 0", "second 1", "crowd 1"})
}

// TestSemaphore_Leave checks that a caller whose context ends leaves the queue.
func TestSemaphore_Leave(t *testing.T) {
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
		t.Errorf("with an ended context: %v", err)
	}
	if err := q.Acquire(t.Context(), "a", "", time.Hour); err != nil {
		t.Errorf("after a caller left: %v", err)
	}
	if err := q.Acquire(t.Context(), "a", "", time.Nanosecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the wait: %v", err)
	}
}

// TestSemaphore_Memory checks that the number of addresses in memory is limited.
func TestSemaphore_Memory(t *testing.T) {
	t.Parallel()
	f := NewSemaphore(1, 10, 10)
	for i := range 5 * maxVirtualTimes {
		if err := f.Acquire(t.Context(), fmt.Sprint("address ", i), "", time.Hour); err != nil {
			t.Fatal(err)
		}
		f.Release()
	}
	if n := len(f.addresses.of); n > maxVirtualTimes+1 {
		t.Errorf("got %d addresses, want at most %d", n, maxVirtualTimes+1)
	}
}
