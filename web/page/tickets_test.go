package page

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestTickets checks that a value is only returned for its ticket and until it expires,
// and that the number of values is limited.
func TestTickets(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	kept := NewTickets[string](func() time.Time { return now }, time.Minute, 3)
	tickets := make([]string, 5)
	for i := range tickets {
		tickets[i] = kept.Put(fmt.Sprint(i))
		now = now.Add(time.Second)
	}
	for i, ticket := range tickets {
		if value, ok := kept.Peek(ticket); ok != (i >= 2) || ok && value != fmt.Sprint(i) {
			t.Errorf("ticket %d: got %q, %v", i, value, ok)
		}
	}
	if _, ok := kept.Peek("guessed"); ok {
		t.Error("a guessed ticket has a value")
	}
	if value, ok := kept.Take(tickets[4]); !ok || value != "4" {
		t.Errorf("first Take: got %q, %v", value, ok)
	}
	if _, ok := kept.Take(tickets[4]); ok {
		t.Error("second Take: got a value")
	}
	now = now.Add(time.Minute)
	if _, ok := kept.Peek(tickets[3]); ok {
		t.Error("got a value after its time")
	}
}

// TestTicketsExpire checks that expired secrets are removed from memory, even if Put is
// not called again.
func TestTicketsExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept := NewTickets[string](time.Now, time.Minute, MaxTickets)
		count := func() int {
			kept.mutex.Lock()
			defer kept.mutex.Unlock()
			return len(kept.values)
		}
		kept.Put("a password")
		time.Sleep(30 * time.Second) // of the clock of synctest
		kept.Put("another")
		if n := count(); n != 2 {
			t.Errorf("got %d values, want 2", n)
		}
		for _, want := range []int{1, 0} {
			time.Sleep(30 * time.Second)
			synctest.Wait()
			if n := count(); n != want {
				t.Errorf("got %d values, want %d", n, want)
			}
		}
	})
}
