package web

import (
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"
)

// held keeps values in memory for a short while, each for who has its ticket.
// Tickets are kept as hashes. What is secret, such as a password between two
// steps of a sign-in or a key that is shown once, thus stays off the disk and
// out of pages.
type held[T any] struct {
	now   func() time.Time
	life  time.Duration
	most  int
	drop  func(T) // called for what is forgotten untaken; nil for no call
	mutex sync.Mutex
	kept  map[[sha256.Size]byte]holding[T]
}

type holding[T any] struct {
	value T
	ends  time.Time
}

func newHeld[T any](now func() time.Time, life time.Duration, most int) *held[T] {
	return &held[T]{now: now, life: life, most: most, kept: map[[sha256.Size]byte]holding[T]{}}
}

// put keeps a value and returns its ticket. Where there are too many, the one
// that ends first makes room.
func (h *held[T]) put(value T) string {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.sweep()
	h.makeRoom()
	ticket := rand.Text()
	h.kept[sha256.Sum256([]byte(ticket))] = holding[T]{value, h.now().Add(h.life)}
	time.AfterFunc(h.life, h.sweepNow) // a secret, or a file, should not wait for the next value to go
	return ticket
}

func (h *held[T]) sweepNow() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.sweep()
}

// sweep forgets what has ended.
func (h *held[T]) sweep() {
	now := h.now()
	for key, holding := range h.kept {
		if !now.Before(holding.ends) {
			h.forget(key)
		}
	}
}

func (h *held[T]) makeRoom() {
	if len(h.kept) < h.most {
		return
	}
	var first [sha256.Size]byte
	var ends time.Time
	for key, holding := range h.kept {
		if ends.IsZero() || holding.ends.Before(ends) {
			first, ends = key, holding.ends
		}
	}
	h.forget(first)
}

// limit makes room for one more of those values that count, of which at most
// some are kept: the one that ends first is forgotten.
func (h *held[T]) limit(most int, counts func(T) bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.sweep()
	var first [sha256.Size]byte
	var ends time.Time
	n := 0
	for key, holding := range h.kept {
		if !counts(holding.value) {
			continue
		}
		if n++; ends.IsZero() || holding.ends.Before(ends) {
			first, ends = key, holding.ends
		}
	}
	if n >= most {
		h.forget(first)
	}
}

func (h *held[T]) forget(key [sha256.Size]byte) {
	if h.drop != nil {
		h.drop(h.kept[key].value)
	}
	delete(h.kept, key)
}

// look returns the value of a ticket and keeps it.
func (h *held[T]) look(ticket string) (T, bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.find(ticket)
}

// take returns the value of a ticket and forgets it.
func (h *held[T]) take(ticket string) (T, bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	value, ok := h.find(ticket)
	if ok {
		delete(h.kept, sha256.Sum256([]byte(ticket)))
	}
	return value, ok
}

func (h *held[T]) find(ticket string) (T, bool) {
	holding, ok := h.kept[sha256.Sum256([]byte(ticket))]
	if !ok || !h.now().Before(holding.ends) {
		var none T
		return none, false
	}
	return holding.value, true
}
