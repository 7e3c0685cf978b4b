package webhook_test

import (
	"net/http"
	"testing"
	"time"
)

// TestClockSetBack: what was raised, and what was put off, while the clock was
// years ahead is delivered once it is set right, once each, not when the clock
// gets there again; and what is to wait goes on waiting.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	const years = 5 * 365 * 24 * time.Hour
	s := newHarness(t, newClock())
	refusing := true
	r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		if refusing {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	s.subscribe(t, r.URL)
	s.clock.Advance(years)
	s.enqueue(t, 2)
	if s.deliver(t); len(r.got()) != 2 {
		t.Fatalf("%d attempts while the clock is ahead", len(r.got()))
	}
	s.enqueue(t, 1)
	s.clock.Advance(-years)
	if s.deliver(t); len(r.got()) != 5 {
		t.Errorf("%d attempts after the clock was set back, want 5", len(r.got()))
	}
	refusing = false
	if s.deliver(t); len(r.got()) != 5 {
		t.Errorf("%d attempts before the wait of 5 s or more is over", len(r.got()))
	}
	s.clock.Advance(time.Hour) // past the second wait of those that were tried before
	if total := s.deliver(t); total.Delivered != 3 {
		t.Errorf("got %+v, want 3 delivered", total)
	}
	if h := s.health(t)[0]; h.Queued != 0 || h.Dead != 0 {
		t.Errorf("got %+v", h)
	}
}

// TestClockSetBackAfterACrash: what a process held while the clock was years
// ahead, and did not live to settle, is nobody's for those years: it is
// delivered once the clock is set right.
func TestClockSetBackAfterACrash(t *testing.T) {
	t.Parallel()
	const years = 5 * 365 * 24 * time.Hour
	s := newHarness(t, newClock())
	r := newReceiver(t, nil)
	s.subscribe(t, r.URL)
	s.enqueue(t, 2)
	s.clock.Advance(years)
	if held := s.claim(t); len(held) != 2 {
		t.Fatalf("%d deliveries claimed, want 2", len(held))
	}
	s.clock.Advance(-years)
	if s.deliver(t); len(r.got()) != 2 {
		t.Errorf("%d of 2 arrived after the clock was set back", len(r.got()))
	}
	s.enqueue(t, 1)
	s.claim(t)
	if s.deliver(t); len(r.got()) != 2 {
		t.Error("what another process holds was delivered, though the clock is right")
	}
}

// TestClockSetForward: a step forward loses nothing, and sends nothing twice
// that was acknowledged.
func TestClockSetForward(t *testing.T) {
	t.Parallel()
	s := newHarness(t, newClock())
	r := newReceiver(t, nil)
	s.subscribe(t, r.URL)
	s.enqueue(t, 3)
	s.deliver(t)
	s.enqueue(t, 3)
	s.clock.Advance(10 * 365 * 24 * time.Hour)
	if total := s.deliver(t); total.Delivered != 3 || len(r.got()) != 6 {
		t.Errorf("%+v, %d arrived", total, len(r.got()))
	}
}
