package auth

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"govsvc/db"
)

// lastSeenPrecision is how precisely the last request of a session is stored.
const lastSeenPrecision = time.Minute

// lastSeen stores when sessions were last used. No request waits for the write.
type lastSeen struct {
	store *db.DB

	mutex    sync.Mutex
	pending  map[string]string // hash of the token → time
	flushing bool
	closed   bool
	done     sync.WaitGroup
}

func (l *lastSeen) record(hash, at string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.closed {
		return
	}
	if l.pending == nil {
		l.pending = map[string]string{}
	}
	l.pending[hash] = at
	if !l.flushing {
		l.flushing = true
		l.done.Go(l.flush)
	}
}

// flush stores the pending times until there are no more. It drops times that can't
// be stored: the next request of the session records a newer one.
func (l *lastSeen) flush() {
	for pending := l.take(); pending != nil; pending = l.take() {
		_ = l.store.Maintain(context.Background(), func(tx *db.Tx) error {
			for _, hash := range slices.Sorted(maps.Keys(pending)) {
				if _, err := tx.Exec("UPDATE sessions SET seen_at = max(seen_at, ?) WHERE token_hash = ?", pending[hash], []byte(hash)); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// take returns the pending times. It ends the flush if there are none.
func (l *lastSeen) take() map[string]string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	pending := l.pending
	l.pending = nil
	l.flushing = pending != nil
	return pending
}

// close waits until the pending times are stored.
func (l *lastSeen) close() {
	l.mutex.Lock()
	l.closed = true
	l.mutex.Unlock()
	l.done.Wait()
}
