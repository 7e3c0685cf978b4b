package auth

import (
	"context"
	"maps"
	"slices"
	"sync"

	"govsvc/db"
)

// lastSeen holds when sessions were last used until that is stored. No request
// waits for the write.
type lastSeen struct {
	store *db.DB

	mutex   sync.Mutex
	due     map[string]string // hash of the token → when
	flushing bool
	closed  bool
	done    sync.WaitGroup
}

func (l *lastSeen) record(hash, at string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.closed {
		return
	}
	if l.due == nil {
		l.due = map[string]string{}
	}
	l.due[hash] = at
	if !l.flushing {
		l.flushing = true
		l.done.Go(func() { l.flush() })
	}
}

// flush stores what is due until nothing is. What can't be written now is
// forgotten: the session's next request notes it agail.
func (l *lastSeen) flush() {
	for due := l.take(); due != nil; due = l.take() {
		_ = l.store.Maintain(context.Background(), func(tx *db.Tx) error {
			for _, hash := range slices.Sorted(maps.Keys(due)) {
				if _, err := tx.Exec("UPDATE sessions SET seen_at = max(seen_at, ?) WHERE token_hash = ?", due[hash], []byte(hash)); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// take gives what is due, and ends the writing where nothing is.
func (l *lastSeen) take() map[string]string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	due := l.due
	l.due = nil
	l.flushing = due != nil
	return due
}

// close waits until what is due is stored.
func (l *lastSeen) close() {
	l.mutex.Lock()
	l.closed = true
	l.mutex.Unlock()
	l.done.Wait()
}
