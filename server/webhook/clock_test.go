package webhook_test

import (
	"net/http"
	"testing"
	"time"

	"govsvc/internal/testkit"
)

// TestClock_SetBack sets the clock back by years. Deliveries that were queued or
// postponed before are then sent once, without a wait of years. A delivery that
// failed still waits for its next attempt.
func TestClock_SetBack(t *testing.T) {
	t.Parallel()
	const years = 5 * 365 * 24 * time.Hour
	s := newHarness(t, newClock())
	refusing := true
	r := testkit.NewReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		if refusing {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	s.subscribe(t, r.URL)
	s.clock.Advance(years)
	s.enqueue(t, 2)
	if s.deliver(t); len(r.Received()) != 2 {
		t.Fatalf("%d attempts while the clock is ahead", len(r.Received()))
	}
	s.enqueue(t, 1)
	s.clock.Advance(-years)
	if s.deliver(t); len(r.Received()) != 5 {
		t.Errorf("%d attempts after the clock was set back, want 5", len(r.Received()))
	}
	refusing = false
	if s.deliver(t); len(r.Received()) != 5 {
		t.Errorf("%d attempts before the wait of 5 s or more is over", len(r.Received()))
	}
	s.clock.Advance(time.Hour) // past the second wait of those that were tried before
	if total := s.deliver(t); total.Delivered != 3 {
		t.Errorf("got %+v, want 3 delivered", total)
	}
	if h := s.health(t)[0]; h.Queued != 0 || h.Dead != 0 {
		t.Errorf("got %+v", h)
	}
}

// TestClock_SetBackAfterCrash sets the clock back after a process claimed deliveries
// and crashed. Their leases end years later, but they are sent immediately.
func TestClock_SetBackAfterCrash(t *testing.T) {
	t.Parallel()
	const years = 5 * 365 * 24 * time.Hour
	s := newHarness(t, newClock())
	r := testkit.NewReceiver(t, nil)
	s.subscribe(t, r.URL)
	s.enqueue(t, 2)
	s.clock.Advance(years)
	if held := s.claim(t); len(held) != 2 {
		t.Fatalf("%d deliveries claimed, want 2", len(held))
	}
	s.clock.Advance(-years)
	if s.deliver(t); len(r.Received()) != 2 {
		t.Errorf("%d of 2 arrived after the clock was set back", len(r.Received()))
	}
	s.enqueue(t, 1)
	s.claim(t)
	if s.deliver(t); len(r.Received()) != 2 {
		t.Error("a delivery that another process has claimed was sent during its lease")
	}
}

// TestClock_SetForward sets the clock forward by years. No delivery is lost, and no
// acknowledged delivery is sent again.
func TestClock_SetForward(t *testing.T) {
	t.Parallel()
	s := newHarness(t, newClock())
	r := testkit.NewReceiver(t, nil)
	s.subscribe(t, r.URL)
	s.enqueue(t, 3)
	s.deliver(t)
	s.enqueue(t, 3)
	s.clock.Advance(10 * 365 * 24 * time.Hour)
	if total := s.deliver(t); total.Delivered != 3 || len(r.Received()) != 6 {
		t.Errorf("%+v, %d arrived", total, len(r.Received()))
	}
}
