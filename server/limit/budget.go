package limit

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Sizes of a Budget of response bytes.
const (
	// ResponseBytes is the default size of a Budget: what all responses of the
	// process may hold together, from when they are made until they are sent.
	ResponseBytes = 64 << 20
	// SmallResponse is reserved for each response before its size is known: a page
	// of 128 KB and the copies that are made of it on its way.
	SmallResponse = 384 << 10
	// LargeResponse is reserved for a response that has turned out not to be
	// small: a page of 4 MB and the copies that are made of it on its way.
	LargeResponse = 12 << 20
	// responseWait bounds the wait for a reservation.
	responseWait = 10 * time.Second
)

// ErrNoMemory is returned by Reserve where the wait for a reservation took too
// long.
var ErrNoMemory = errors.New("too many bytes of responses are in flight")

// Budget is a fair weighted semaphore: it bounds the bytes that responses hold.
// A caller that holds none may take what is free. A caller that holds some may
// hold at most half as much as remains free, so that one caller with many unread
// responses leaves room for others. The last eighth is for small reservations
// alone. Waiting callers are served in turn, one reservation each.
//
// A Budget is safe for concurrent use.
type Budget struct {
	total, spared int64
	wait          time.Duration

	mutex   sync.Mutex
	used    int64
	held    map[string]int64
	callers []string // with waiting reservations; the first is served next
	waiting map[string][]*waiter
}

// waiter is a reservation that waits.
type waiter struct {
	bytes   int64
	granted chan struct{}
}

// NewBudget returns a Budget of so many bytes whose reservations wait at most so
// long. Zero is ResponseBytes, and 10 seconds.
func NewBudget(bytes int64, wait time.Duration) *Budget {
	if bytes <= 0 {
		bytes = ResponseBytes
	}
	if wait <= 0 {
		wait = responseWait
	}
	return &Budget{total: bytes, spared: bytes / 8, wait: wait, held: map[string]int64{}, waiting: map[string][]*waiter{}}
}

// Reservation is the part of a Budget that one response holds. It is used by one
// goroutine at a time.
type Reservation struct {
	budget *Budget
	caller string
	bytes  int64
}

// Reserve waits for a reservation of a caller, a name of any form. Its error is
// that of ctx, or ErrNoMemory. The reservation ends with Release.
func (b *Budget) Reserve(ctx context.Context, caller string, bytes int64) (Reservation, error) {
	r := Reservation{budget: b, caller: caller}
	return r, r.take(ctx, bytes)
}

// Exchange gives up what is held and waits for a reservation of another size.
// After an error nothing is held.
func (r *Reservation) Exchange(ctx context.Context, bytes int64) error {
	r.Release()
	return r.take(ctx, bytes)
}

func (r *Reservation) take(ctx context.Context, bytes int64) error {
	b := r.budget
	bytes = min(bytes, b.total-b.spared) // what is larger can be alone
	b.mutex.Lock()
	if len(b.waiting[r.caller]) == 0 && b.admits(r.caller, bytes) {
		b.add(r.caller, bytes)
		b.mutex.Unlock()
		r.bytes = bytes
		return nil
	}
	w := &waiter{bytes, make(chan struct{})}
	if len(b.waiting[r.caller]) == 0 {
		b.callers = append(b.callers, r.caller)
	}
	b.waiting[r.caller] = append(b.waiting[r.caller], w)
	b.mutex.Unlock()
	late := time.NewTimer(b.wait)
	defer late.Stop()
	err := ErrNoMemory
	select {
	case <-w.granted:
		r.bytes = bytes
		return nil
	case <-late.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if !b.leave(r.caller, w) { // it was granted in the same moment
		b.add(r.caller, -w.bytes)
	}
	b.serve() // its place may have held up the next
	return err
}

// Settle sets what is held to the size that the response turned out to have,
// without a wait.
func (r *Reservation) Settle(bytes int64) {
	if r.budget == nil || bytes == r.bytes {
		return
	}
	b := r.budget
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.add(r.caller, bytes-r.bytes)
	if bytes < r.bytes {
		b.serve()
	}
	r.bytes = bytes
}

// Release gives back what is held. More than one Release is no harm.
func (r *Reservation) Release() { r.Settle(0) }

// admits tells whether the caller may hold so many more bytes. The mutex is held.
func (b *Budget) admits(caller string, bytes int64) bool {
	free, held := b.total-b.used, b.held[caller]
	if bytes > SmallResponse {
		free -= b.spared
	}
	return bytes <= free && (held == 0 || held+bytes <= free/2)
}

// add changes what the caller holds. The mutex is held.
func (b *Budget) add(caller string, bytes int64) {
	b.used += bytes
	if held := b.held[caller] + bytes; held != 0 {
		b.held[caller] = held
	} else {
		delete(b.held, caller)
	}
}

// serve grants what can be granted, one reservation of each caller in turn. The
// mutex is held.
func (b *Budget) serve() {
	for passed := 0; passed < len(b.callers); {
		caller := b.callers[0]
		b.callers = append(b.callers[1:], caller)
		w := b.waiting[caller][0]
		if !b.admits(caller, w.bytes) {
			passed++
			continue
		}
		passed = 0
		b.add(caller, w.bytes)
		close(w.granted)
		b.leave(caller, w)
	}
}

// leave takes a reservation off the list of those that wait; false if it is not
// there any more. The mutex is held.
func (b *Budget) leave(caller string, w *waiter) bool {
	line := b.waiting[caller]
	at := slices.Index(line, w)
	if at < 0 {
		return false
	}
	if line = slices.Delete(line, at, at+1); len(line) > 0 {
		b.waiting[caller] = line
		return true
	}
	delete(b.waiting, caller)
	b.callers = slices.DeleteFunc(b.callers, func(other string) bool { return other == caller })
	return true
}

// Waiting is how many reservations wait.
func (b *Budget) Waiting() int {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	n := 0
	for _, line := range b.waiting {
		n += len(line)
	}
	return n
}
