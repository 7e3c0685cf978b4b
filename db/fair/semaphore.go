// Package fair limits work that is expensive for the service. Callers wait in a
// bounded queue that is fair to client addresses.
package fair

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Semaphore bounds how many callers work at once. Other callers wait in a
// bounded queue. The queue is fair to addresses by start-time fair queueing:
// each address has a virtual time, which grows by one with every admission.
// The waiting address with the lowest virtual time is admitted next. A crowd
// at one address therefore delays another address by one admission.
//
// Callers also name a subject, such as the prefix of a key. Subjects have
// virtual times too, which decide between callers of the same address.
type Semaphore struct {
	perSubject int // callers that may wait for one subject
	inAll      int // callers that may wait in all

	mutex     sync.Mutex
	free      int
	waiting   []*waiter // oldest first
	arrivals  uint64
	addresses virtualTimes
	subjects  virtualTimes
}

// waiter is a caller in the queue.
type waiter struct {
	address, subject string
	arrived          uint64
	active           uint64     // when its address began to wait
	outcome          chan error // nil: admitted; ErrCrowded: removed from the queue
}

// ErrCrowded is the error of a caller that does not wait because the queue is
// full.
var ErrCrowded = errors.New("too many callers wait")

// NewSemaphore returns a semaphore that admits atOnce callers at the same time.
// At most inAll callers wait, at most perSubject of them for one subject.
func NewSemaphore(atOnce, perSubject, inAll int) *Semaphore {
	return &Semaphore{
		free: atOnce, perSubject: perSubject, inAll: inAll,
		addresses: virtualTimes{of: map[string]int{}}, subjects: virtualTimes{of: map[string]int{}},
	}
}

// Acquire waits until the caller is admitted. The caller then calls
// Release. Errors: ErrCrowded if the queue is full, context.DeadlineExceeded
// after wait, or the error of ctx.
func (f *Semaphore) Acquire(ctx context.Context, address, subject string, wait time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w, err := f.enter(ClientGroup(address), subject)
	if w == nil {
		return err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case err := <-w.outcome:
		return err
	case <-timer.C:
		err = context.DeadlineExceeded
	case <-ctx.Done():
		err = ctx.Err()
	}
	if !f.leave(w) && <-w.outcome == nil {
		f.Release() // the caller was admitted in the same moment
	}
	return err
}

// enter admits a caller at once, puts it into the queue, or refuses it.
func (f *Semaphore) enter(address, subject string) (*waiter, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.arrivals++
	w := &waiter{address: address, subject: subject, arrived: f.arrivals, active: f.arrivals, outcome: make(chan error, 1)}
	sameAddress, sameSubject := false, false
	for _, other := range f.waiting {
		if other.address == address {
			sameAddress, w.active = true, other.active
		}
		sameSubject = sameSubject || other.subject == subject
	}
	if !sameAddress {
		f.addresses.activate(address)
	}
	if !sameSubject {
		f.subjects.activate(subject)
	}
	if f.free > 0 {
		f.free--
		f.charge(w)
		return nil, nil //nolint:nilnil // admitted
	}
	f.waiting = append(f.waiting, w)
	if full := f.full(w); full != nil {
		out := f.worst(full)
		f.remove(out)
		if out == w {
			return nil, ErrCrowded
		}
		out.outcome <- ErrCrowded
	}
	return w, nil
}

// full returns the waiting callers of which one must leave because w has arrived, nil if
// the queue has room.
func (f *Semaphore) full(w *waiter) []*waiter {
	var same []*waiter
	for _, other := range f.waiting {
		if other.subject == w.subject {
			same = append(same, other)
		}
	}
	switch {
	case len(same) > f.perSubject:
		return same
	case len(f.waiting) > f.inAll:
		return f.waiting
	}
	return nil
}

// worst returns the caller to remove: the newest one of the address that would be admitted
// last. Of equal addresses it chooses the one that has waited longest, because its client
// has most likely disconnected.
func (f *Semaphore) worst(list []*waiter) *waiter {
	count := map[string]int{}
	for _, w := range f.waiting {
		count[w.address]++
	}
	var worst *waiter
	last := 0
	for _, w := range list {
		end := f.addresses.of[w.address] + count[w.address]
		if worst == nil || end > last || end == last && (w.active < worst.active || w.active == worst.active && w.arrived > worst.arrived) {
			worst, last = w, end
		}
	}
	return worst
}

// leave removes a caller from the queue. It reports false if the caller was admitted or
// refused before.
func (f *Semaphore) leave(w *waiter) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.remove(w)
}

func (f *Semaphore) remove(w *waiter) bool {
	at := slices.Index(f.waiting, w)
	if at >= 0 {
		f.waiting = slices.Delete(f.waiting, at, at+1)
	}
	return at >= 0
}

// Release ends the work of a caller and admits the next one.
func (f *Semaphore) Release() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if len(f.waiting) == 0 {
		f.free++
		return
	}
	next := f.waiting[0]
	for _, w := range f.waiting[1:] {
		if f.before(w, next) {
			next = w
		}
	}
	f.remove(next)
	f.charge(next)
	next.outcome <- nil
}

// before reports whether a is admitted before b: by virtual time, then the
// address that began to wait last. During an attack from many addresses every
// address has the same virtual time, and a legitimate caller is the newest.
func (f *Semaphore) before(a, b *waiter) bool {
	if x, y := f.addresses.of[a.address], f.addresses.of[b.address]; x != y {
		return x < y
	}
	if x, y := f.subjects.of[a.subject], f.subjects.of[b.subject]; x != y {
		return x < y
	}
	if a.active != b.active {
		return a.active > b.active
	}
	return a.arrived < b.arrived
}

// charge adds an admission to the virtual times.
func (f *Semaphore) charge(w *waiter) {
	f.addresses.admit(w.address, func(name string) bool {
		return slices.ContainsFunc(f.waiting, func(w *waiter) bool { return w.address == name })
	})
	f.subjects.admit(w.subject, func(name string) bool {
		return slices.ContainsFunc(f.waiting, func(w *waiter) bool { return w.subject == name })
	})
}

// virtualTimes are the virtual times of addresses or of subjects.
type virtualTimes struct {
	now int // the virtual time of the latest admission
	of  map[string]int
}

// maxVirtualTimes limits the names that have a virtual time.
const maxVirtualTimes = 10_000

// activate raises the virtual time of a name that starts to wait to the current one, so
// that a name does not gain priority by not waiting.
func (v *virtualTimes) activate(name string) { v.of[name] = max(v.of[name], v.now) }

// admit counts an admission. If there are too many names, it advances the current virtual
// time and removes names that are not later and do not wait.
func (v *virtualTimes) admit(name string, waits func(string) bool) {
	v.now = max(v.now, v.of[name])
	v.of[name]++
	if len(v.of) <= maxVirtualTimes {
		return
	}
	v.now++
	for other, at := range v.of {
		if at <= v.now && !waits(other) {
			delete(v.of, other)
		}
	}
}
