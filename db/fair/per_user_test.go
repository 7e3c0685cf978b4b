package fair

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
)

// TestPerUser admits one caller of a user at a time, refuses too many, and does not
// let users wait for each other.
func TestPerUser(t *testing.T) {
	t.Parallel()
	p := NewPerUser(2)
	release, err := p.Acquire(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	running := 0
	for waiting := range 2 {
		done.Go(func() {
			release, err := p.Acquire(t.Context(), "a")
			if err != nil {
				t.Error(err)
				return
			}
			if running++; running != 1 { // no lock: the queue is one
				t.Errorf("%d run at once", running)
			}
			running--
			release()
		})
		for p.count("a") != waiting+2 {
			runtime.Gosched()
		}
	}
	if _, err := p.Acquire(t.Context(), "a"); !errors.Is(err, ErrCrowded) {
		t.Errorf("got %v, want %v", err, ErrCrowded)
	}
	for _, user := range []string{"b", "", ""} {
		if _, err := p.Acquire(t.Context(), user); err != nil {
			t.Errorf("user %q: %v", user, err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := p.Acquire(ended, "b"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	release()
	done.Wait()
	if n := p.count("a"); n != 0 {
		t.Errorf("%d are counted at the end", n)
	}
}

func (p *PerUser) count(user string) int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if queue := p.users[user]; queue != nil {
		return queue.count
	}
	return 0
}
