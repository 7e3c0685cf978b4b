package limit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"govsvc/server/limit"
)

const mega = 1 << 20

// reserve makes a reservation that must be granted immediately.
func reserve(t *testing.T, b *limit.Budget, caller string, bytes int64) *limit.Reservation {
	t.Helper()
	r, err := b.Reserve(t.Context(), caller, bytes)
	if err != nil {
		t.Fatalf("%s, %d bytes: got %v", caller, bytes, err)
	}
	return &r
}

// refuse makes a reservation that must wait until it is refused.
func refuse(t *testing.T, b *limit.Budget, caller string, bytes int64) {
	t.Helper()
	if r, err := b.Reserve(t.Context(), caller, bytes); !errors.Is(err, limit.ErrNoMemory) {
		r.Release()
		t.Fatalf("%s, %d bytes: got %v, want %v", caller, bytes, err, limit.ErrNoMemory)
	}
}

// TestBudget_Shares checks that a caller with many reservations gets a part of the free
// bytes and leaves the rest to others.
func TestBudget_Shares(t *testing.T) {
	t.Parallel()
	b := limit.NewBudget(64*mega, 20*time.Millisecond)
	for range 4 { // with a fifth one, 20 MB are half of the 40 MB that are free and not kept for small ones
		reserve(t, b, "greedy", 4*mega)
	}
	held := reserve(t, b, "greedy", 4*mega)
	refuse(t, b, "greedy", 4*mega)
	other := reserve(t, b, "other", 12*mega)
	reserve(t, b, "third", 12*mega)
	refuse(t, b, "fourth", 24*mega)
	reserve(t, b, "fourth", limit.SmallResponse)
	held.Release()
	held.Release() // a second call has no effect
	other.Settle(mega)
	reserve(t, b, "fifth", 12*mega)
}

// TestBudget_Small checks that large reservations leave the last eighth to small ones.
func TestBudget_Small(t *testing.T) {
	t.Parallel()
	b := limit.NewBudget(64*mega, 20*time.Millisecond)
	for _, caller := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		reserve(t, b, caller, 8*mega)
	}
	refuse(t, b, "h", mega)
	for _, caller := range []string{"h", "i", "j"} {
		reserve(t, b, caller, limit.SmallResponse)
	}
}

// TestBudget_Large checks that a reservation larger than the budget is granted alone.
func TestBudget_Large(t *testing.T) {
	t.Parallel()
	b := limit.NewBudget(64*mega, 20*time.Millisecond)
	whole := reserve(t, b, "a", 1000*mega)
	refuse(t, b, "b", mega)
	whole.Release()
	reserve(t, b, "b", 1000*mega)
}

// TestBudget_Turns checks that waiting callers are served in turn, one reservation each.
func TestBudget_Turns(t *testing.T) {
	t.Parallel()
	b := limit.NewBudget(64*mega, time.Minute)
	first := reserve(t, b, "first", 50*mega)
	served := make(chan string, 10)
	wait := func(caller string, bytes int64) {
		waiting := b.Waiting()
		go func() {
			r, err := b.Reserve(t.Context(), caller, bytes)
			if err != nil {
				served <- err.Error()
				return
			}
			served <- caller
			r.Release()
		}()
		for b.Waiting() == waiting {
			time.Sleep(time.Millisecond)
		}
	}
	// each needs the whole budget, so that they are served one after the other
	for _, caller := range []string{"crowd", "crowd", "crowd", "lone"} {
		wait(caller, 56*mega)
	}
	first.Release()
	got := []string{<-served, <-served, <-served, <-served}
	if got[0] != "crowd" || got[1] != "lone" {
		t.Errorf("got the order %v, want the lone caller second", got)
	}
}

// TestBudget_Exchange checks that a reservation is released while it waits for another
// size.
func TestBudget_Exchange(t *testing.T) {
	t.Parallel()
	b := limit.NewBudget(64*mega, 20*time.Millisecond)
	r := reserve(t, b, "a", limit.SmallResponse)
	other := reserve(t, b, "b", 50*mega)
	if err := r.Exchange(t.Context(), 12*mega); !errors.Is(err, limit.ErrNoMemory) {
		t.Fatal(err)
	}
	other.Release()
	if err := r.Exchange(t.Context(), 56*mega); err != nil {
		t.Fatal(err)
	}
	refuse(t, b, "b", mega)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Reserve(ctx, "b", mega); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that disconnected: got %v", err)
	}
	r.Release()
	reserve(t, b, "b", 56*mega)
}

// TestInProgress counts requests by subject.
func TestInProgress(t *testing.T) {
	t.Parallel()
	p := limit.NewInProgress(2)
	for i, want := range []bool{true, true, false, false} {
		if got := p.Begin("a"); got != want {
			t.Errorf("request %d: got %v, want %v", i, got, want)
		}
	}
	if !p.Begin("b") {
		t.Error("got a refusal of another subject")
	}
	p.End("a")
	if !p.Begin("a") || p.Begin("a") {
		t.Error("after the end of a request: want exactly one more")
	}
}
