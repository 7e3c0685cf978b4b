package web_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"govsvc/web"
)

// TestHeld: what is held is given to its ticket alone, for as long as it lasts,
// and there is never too much of it.
func TestHeld(t *testing.T) {
	t.Parallel()
	c := &clock{now: start}
	put, look, take := web.NewHeld(c.Now, time.Minute, 3)
	tickets := make([]string, 5)
	for i := range tickets {
		tickets[i] = put(fmt.Sprint(i))
		c.advance(time.Second)
	}
	for i, ticket := range tickets {
		if value, ok := look(ticket); ok != (i >= 2) || ok && value != fmt.Sprint(i) {
			t.Errorf("%d: %q, %v", i, value, ok)
		}
	}
	if _, ok := look("guessed"); ok {
		t.Error("a guess found something")
	}
	if value, ok := take(tickets[4]); !ok || value != "4" {
		t.Errorf("taken: %q, %v", value, ok)
	}
	if _, ok := take(tickets[4]); ok {
		t.Error("taken twice")
	}
	c.advance(time.Minute)
	if _, ok := look(tickets[3]); ok {
		t.Error("found after its time")
	}
}

// TestHeldLeaves: what is secret leaves the memory when its time is over, also
// where nothing new comes.
func TestHeldLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		put, count := web.Holding(time.Now, time.Minute)
		put("a password")
		time.Sleep(30 * time.Second) // of the bubble's clock
		put("another")
		if n := count(); n != 2 {
			t.Errorf("%d are held, want 2", n)
		}
		for _, want := range []int{1, 0} {
			time.Sleep(30 * time.Second)
			synctest.Wait()
			if n := count(); n != want {
				t.Errorf("%d are held, want %d", n, want)
			}
		}
	})
}
