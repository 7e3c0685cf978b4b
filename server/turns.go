package server

import (
	"context"
	"slices"
	"sync"
)

// turns lets a few callers work at a time. Those who wait go by the name they
// wait under, one of each name in turn, so that a crowd under one name delays
// another name by one turn and no more.
type turns struct {
	mutex   sync.Mutex
	free    int
	names   []string                   // with waiting callers; the next turn is the first's
	waiting map[string][]chan struct{} // by name, first come first
}

func newTurns(atOnce int) *turns {
	return &turns{free: atOnce, waiting: map[string][]chan struct{}{}}
}

// take waits for a turn until ctx ends; whoever gets one gives it back.
func (t *turns) take(ctx context.Context, name string) error {
	t.mutex.Lock()
	if t.free > 0 {
		t.free--
		t.mutex.Unlock()
		return nil
	}
	called := make(chan struct{})
	if len(t.waiting[name]) == 0 {
		t.names = append(t.names, name)
	}
	t.waiting[name] = append(t.waiting[name], called)
	t.mutex.Unlock()
	select {
	case <-called:
		return nil
	case <-ctx.Done():
		if !t.leave(name, called) {
			t.give() // it was called in the same moment
		}
		return ctx.Err()
	}
}

// leave takes a caller out of the line; false if its turn has come.
func (t *turns) leave(name string, called chan struct{}) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	at := slices.Index(t.waiting[name], called)
	if at < 0 {
		return false
	}
	t.waiting[name] = slices.Delete(t.waiting[name], at, at+1)
	if len(t.waiting[name]) == 0 {
		delete(t.waiting, name)
		t.names = slices.DeleteFunc(t.names, func(other string) bool { return other == name })
	}
	return true
}

// give passes a turn on.
func (t *turns) give() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if len(t.names) == 0 {
		t.free++
		return
	}
	name := t.names[0]
	t.names = t.names[1:]
	line := t.waiting[name]
	close(line[0])
	if len(line) == 1 {
		delete(t.waiting, name)
		return
	}
	t.waiting[name] = line[1:]
	t.names = append(t.names, name)
}
