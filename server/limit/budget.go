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
	// ResponseBytes is the default size of a Budget: the memory of all responses of
	// the process until they are sent.
	ResponseBytes = 64 << 20
	// SmallResponse is reserved for each response before its size is known. It is
	// enough for a page of 128 KB and its copies.
	SmallResponse = 384 << 10
	// LargeResponse is reserved for a response that is not small. It is enough for a
	// page of 4 MB and its copies.
	LargeResponse = 12 << 20
	// responseWait bounds the wait for a reservation.
	responseWait = 10 * time.Second
)

// ErrNoMemory is the error of Reserve after too long a wait.
var ErrNoMemory = errors.New("too many bytes of responses are in flight")

// Budget is a fair weighted semaphore. It bounds the bytes of responses. A caller
// without a reservation may take all that is free. Any other may have at most half
// as much as is free, so that a caller with many unread responses leaves memory to
// others. The last eighth is for small reservations. Waiting callers get one
// reservation each in turn.
//
// A Budget is safe for concurrent use.
type Budget struct {
	total, smallOnly int64 // bytes: all, and the last eighth
	wait             time.Duration

	mutex    sync.Mutex
	used     int64
	byCaller map[string]int64
	callers  []string // with waiting reservations; the first one is next
	waiting  map[string][]*waiter
}

// waiter is a waiting reservation.
type waiter struct {
	bytes   int64
	granted chan struct{}
}

// NewBudget returns a Budget of that many bytes. Its reservations wait at most
// that long. Zero is ResponseBytes, and 10 seconds.
func NewBudget(bytes int64, wait time.Duration) *Budget {
	if bytes <= 0 {
		bytes = ResponseBytes
	}
	if wait <= 0 {
		wait = responseWait
	}
	return &Budget{total: bytes, smallOnly: bytes / 8, wait: wait, byCaller: map[string]int64{}, waiting: map[string][]*waiter{}}
}

// Reservation is a part of a Budget. Only one goroutine at a time may use it.
type Reservation struct {
	budget *Budget
	caller string
	bytes  int64
}

// Reserve waits for a reservation of a caller, which any name identifies. Its
// error is that of ctx, or ErrNoMemory. The reservation lasts until Release.
func (b *Budget) Reserve(ctx context.Context, caller string, bytes int64) (Reservation, error) {
	r := Reservation{budget: b, caller: caller}
	return r, r.acquire(ctx, bytes)
}

// Exchange releases the reservation and waits for one of another size. After an
// error nothing is reserved.
func (r *Reservation) Exchange(ctx context.Context, bytes int64) error {
	r.Release()
	return r.acquire(ctx, bytes)
}

func (r *Reservation) acquire(ctx context.Context, bytes int64) error {
	b := r.budget
	bytes = min(bytes, b.total-b.smallOnly) // a larger one could never be granted
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
	if !b.removeWaiter(r.caller, w) { // it was granted at the same moment
		b.add(r.caller, -w.bytes)
	}
	b.grant() // the next one may have waited for this one
	return err
}

// Settle changes the reservation to the real size of the response, without a wait.
func (r *Reservation) Settle(bytes int64) {
	if r.budget == nil || bytes == r.bytes {
		return
	}
	b := r.budget
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.add(r.caller, bytes-r.bytes)
	if bytes < r.bytes {
		b.grant()
	}
	r.bytes = bytes
}

// Release ends the reservation. A second Release has no effect.
func (r *Reservation) Release() { r.Settle(0) }

// admits reports whether the caller may reserve that many more bytes. The mutex is
// held.
func (b *Budget) admits(caller string, bytes int64) bool {
	free, held := b.total-b.used, b.byCaller[caller]
	if bytes > SmallResponse {
		free -= b.smallOnly
	}
	return bytes <= free && (held == 0 || held+bytes <= free/2)
}

// add changes the bytes of the caller. The mutex is held.
func (b *Budget) add(caller string, bytes int64) {
	b.used += bytes
	if held := b.byCaller[caller] + bytes; held != 0 {
		b.byCaller[caller] = held
	} else {
		delete(b.byCaller, caller)
	}
}

// grant grants waiting reservations, one of each caller in turn. The mutex is
// held.
func (b *Budget) grant() {
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
		b.removeWaiter(caller, w)
	}
}

// removeWaiter removes a waiting reservation. It returns false if it was granted
// already. The mutex is held.
func (b *Budget) removeWaiter(caller string, w *waiter) bool {
	queue := b.waiting[caller]
	at := slices.Index(queue, w)
	if at < 0 {
		return false
	}
	if queue = slices.Delete(queue, at, at+1); len(queue) > 0 {
		b.waiting[caller] = queue
		return true
	}
	delete(b.waiting, caller)
	b.callers = slices.DeleteFunc(b.callers, func(other string) bool { return other == caller })
	return true
}

// Waiting returns the number of waiting reservations.
func (b *Budget) Waiting() int {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	n := 0
	for _, queue := range b.waiting {
		n += len(queue)
	}
	return n
}

// InProgress limits the requests of one subject that are in progress. It is safe
// for concurrent use.
type InProgress struct {
	limit int
	mutex sync.Mutex
	count map[string]int
}

// NewInProgress returns an InProgress with that limit for each subject.
func NewInProgress(limit int) *InProgress { return &InProgress{limit: limit, count: map[string]int{}} }

// Begin counts a request of the subject. It returns false at the limit.
func (p *InProgress) Begin(subject string) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.count[subject] >= p.limit {
		return false
	}
	p.count[subject]++
	return true
}

// End ends a request that Begin counted.
func (p *InProgress) End(subject string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.count[subject]--; p.count[subject] == 0 {
		delete(p.count, subject)
	}
}

type yielding struct{}

// Yielding returns the context of a connection whose requests can call Yield.
func Yielding(ctx context.Context, yields func(bool)) context.Context {
	return context.WithValue(ctx, yielding{}, yields)
}

// Yield sets whether the connection of a request may be closed to make room for a
// new one, although the request is in progress. A request sets it while it waits
// for its client.
func Yield(ctx context.Context, now bool) {
	if yields, ok := ctx.Value(yielding{}).(func(bool)); ok {
		yields(now)
	}
}
