package page

import (
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"
)

// Tickets keeps values in memory for a short time. A value is found by its ticket,
// of which only a hash is kept. Secrets, such as a new key or the password between
// the two steps of a sign-in, are thus neither on disk nor in a page.
type Tickets[T any] struct {
	now      func() time.Time
	lifetime time.Duration
	limit    int
	OnDrop   func(T) // called for values that are removed without Take; can be nil
	mutex    sync.Mutex
	values   map[[sha256.Size]byte]entry[T]
}

type entry[T any] struct {
	value   T
	expires time.Time
}

// NewTickets returns a store for at most limit values. Each value expires after lifetime.
func NewTickets[T any](now func() time.Time, lifetime time.Duration, limit int) *Tickets[T] {
	return &Tickets[T]{now: now, lifetime: lifetime, limit: limit, values: map[[sha256.Size]byte]entry[T]{}}
}

// Put stores a value and returns its ticket. If the limit is reached, Put removes
// the value that expires first.
func (t *Tickets[T]) Put(value T) string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.sweep()
	t.makeRoom(t.limit, func(T) bool { return true })
	ticket := rand.Text()
	t.values[sha256.Sum256([]byte(ticket))] = entry[T]{value, t.now().Add(t.lifetime)}
	time.AfterFunc(t.lifetime, t.sweepNow) // removes the value even if Put is never called again
	return ticket
}

func (t *Tickets[T]) sweepNow() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.sweep()
}

// sweep removes the expired values.
func (t *Tickets[T]) sweep() {
	now := t.now()
	for key, entry := range t.values {
		if !now.Before(entry.expires) {
			t.remove(key)
		}
	}
}

// MakeRoom prepares for another value of a group that has at most limit values. If
// the limit is reached, it removes the value of the group that expires first.
func (t *Tickets[T]) MakeRoom(limit int, inGroup func(T) bool) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.sweep()
	t.makeRoom(limit, inGroup)
}

func (t *Tickets[T]) makeRoom(limit int, inGroup func(T) bool) {
	var first [sha256.Size]byte
	var earliest time.Time
	n := 0
	for key, entry := range t.values {
		if !inGroup(entry.value) {
			continue
		}
		if n++; earliest.IsZero() || entry.expires.Before(earliest) {
			first, earliest = key, entry.expires
		}
	}
	if n >= limit {
		t.remove(first)
	}
}

func (t *Tickets[T]) remove(key [sha256.Size]byte) {
	if t.OnDrop != nil {
		t.OnDrop(t.values[key].value)
	}
	delete(t.values, key)
}

// Peek returns the value of a ticket.
func (t *Tickets[T]) Peek(ticket string) (T, bool) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.find(ticket)
}

// Take returns the value of a ticket and removes it.
func (t *Tickets[T]) Take(ticket string) (T, bool) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	value, ok := t.find(ticket)
	if ok {
		delete(t.values, sha256.Sum256([]byte(ticket)))
	}
	return value, ok
}

func (t *Tickets[T]) find(ticket string) (T, bool) {
	entry, ok := t.values[sha256.Sum256([]byte(ticket))]
	if !ok || !t.now().Before(entry.expires) {
		var zero T
		return zero, false
	}
	return entry.value, true
}
