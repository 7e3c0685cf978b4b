package limit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"govsvc/server/limit"
)

const mega = 1 << 20

// reserve takes a reservation that must be granted at once.
func reserve(t *testing.T, b *limit.Budget, caller string, bytes int64) *limit.Reservation {
	t.Helper()
	r, err := b.Reserve(t.Context(), caller, bytes)
	if err != nil {
		t.Fatalf("%s, %d bytes: %v", caller, bytes, err)
	}
	return &r
}

// refuse takes a reservation that must wait until it is given up.
func refuse(t *testing.T, b *limit.Budget, caller string, bytes int64) {
	t.Helper()
	if r, err := b.Reserve(t.Context(), caller, bytes); !errors.Is(err, limit.ErrNoMemory) {
		r.Release()
		t.Fatalf("%s got %d bytes (%v), want %v", caller, bytes, err, limit.ErrNoMemory)
	}
}

// TestBudgetShares: a caller takes a part of what is free and leaves room for
// others, however many reservations it asks for.
func TestBudgetShares(t *testing.T) {
	t.Parallel()
	b := limit.NewBudget(64*mega, 20*time.Millisecond)
	for range 4 { // a fifth, 20 MB in all, is half of the 40 that are then free and not spared
		reserve(t, b, "greedy", 4*mega)
	}
	held := reserve(t, b, "greedy", 4*mega)
	refuse(t, b, "greedy", 4*mega)
	other := reserve(t, b, "other", 12*mega)
	reserve(t, b, "third", 12*mega)
	refuse(t, b, "fourth", 24*mega)
	reserve(t, b, "fourth", limit.SmallResponse)
	held.Release()
	held.Release() // once more does no harm
	other.Settle(mega)
	reserve(t, b, "fifth", 12*mega)
}

// TestBudgetSmall: large reservations leave the last eighth to small ones.
func TestBudgetSmall(t *testing.T) {
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

// TestBudgetLarge: what is larger than the whole is served alone.
func TestBudgetLarge(t *testing.T) {
	t.Parallel()
	b := limit.NewBudget(64*mega, 20*time.Millisecond)
	whole := reserve(t, b, "a", 1000*mega)
	refuse(t, b, "b", mega)
	whole.Release()
	reserve(t, b, "b", 1000*mega)
}

// TestBudgetTurns: callers that wait are served in turn, one reservation each,
// and one that can't be served holds up no other.
func TestBudgetTurns(t *testing.T) {
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
	// each of them needs the whole, so that one is served after the other
	for _, caller := range []string{"crowd", "crowd", "crowd", "lone"} {
		wait(caller, 56*mega)
	}
	first.Release()
	got := []string{<-served, <-served, <-served, <-served}
	if got[0] != "crowd" || got[1] != "lone" {
		t.Errorf("served %v, want the lone caller second", got)
	}
}

// TestBudgetExchange: a reservation is given up while another size is waited for.
func TestBudgetExchange(t *testing.T) {
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
		t.Errorf("a caller that has gone got %v", err)
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
			t.Errorf("request %d: %v, want %v", i, got, want)
		}
	}
	if !p.Begin("b") {
		t.Error("another subject was refused")
	}
	p.End("a")
	if !p.Begin("a") || p.Begin("a") {
		t.Error("one request has ended: one more may begin")
	}
}
