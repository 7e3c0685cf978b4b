package webhook_test

import (
	"bytes"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/delivery"
	"govsvc/internal/testkit"
	"govsvc/server/webhook"
)

// TestDeliver_EachEventOnce checks that each event arrives once, complete, signed and
// in order.
func TestDeliver_EachEventOnce(t *testing.T) {
	t.Parallel()
	s := newHarness(t, newClock())
	r := testkit.NewReceiver(t, nil)
	_, secret := s.subscribe(t, r.URL)
	s.enqueue(t, 20)
	if diff := cmp.Diff(webhook.Totals{Delivered: 20}, s.deliver(t)); diff != "" {
		t.Error(diff)
	}
	got := r.Received()
	if len(got) != 20 {
		t.Fatalf("%d arrivals", len(got))
	}
	ids := ids(r)
	slices.Sort(ids)
	if len(slices.Compact(ids)) != 20 {
		t.Error("an event arrived twice")
	}
	for _, a := range got {
		if err := verified(t, a, secret); err != nil {
			t.Error(err)
		}
	}
	if again := s.deliver(t); again != (webhook.Totals{}) || len(r.Received()) != 20 {
		t.Errorf("delivered again: %+v", again)
	}
}

// TestDeliver_SelectedTypes checks that a subscription gets only the types it selects, and
// nothing while it is paused.
func TestDeliver_SelectedTypes(t *testing.T) {
	t.Parallel()
	s := newHarness(t, newClock())
	all, some, others := testkit.NewReceiver(t, nil), testkit.NewReceiver(t, nil), testkit.NewReceiver(t, nil)
	id, _ := s.subscribe(t, all.URL)
	s.subscribe(t, some.URL, "verdict.changed", "risk.created")
	s.subscribe(t, others.URL, "verdict.changed")
	counts := func(want ...int) {
		t.Helper()
		s.deliver(t)
		if got := []int{len(all.Received()), len(some.Received()), len(others.Received())}; !slices.Equal(got, want) {
			t.Errorf("arrivals %v, want %v", got, want)
		}
	}
	s.enqueue(t, 2)
	counts(2, 2, 0)
	s.enqueue(t, 1) // queued while active, delivered when resumed
	s.write(t, func(tx *db.Tx) error { _, err := tx.UpdateSubscription(id, db.Record{"active": false}); return err })
	counts(2, 3, 0)
	s.enqueue(t, 3) // not queued while paused
	counts(2, 6, 0)
	s.write(t, func(tx *db.Tx) error { _, err := tx.UpdateSubscription(id, db.Record{"active": true}); return err })
	counts(3, 6, 0)
	s.enqueue(t, 1)
	s.write(t, func(tx *db.Tx) error { return tx.DeleteSubscription(id) })
	counts(3, 7, 0)
	if len(s.health(t)) != 2 {
		t.Error("the deleted subscription still exists")
	}
}

// TestRetry_Schedule moves the clock from the first attempt to the dead letter, with the
// smallest, a medium and the largest jitter.
func TestRetry_Schedule(t *testing.T) {
	t.Parallel()
	waits := []time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
		10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
	}
	for _, chance := range []float64{0, 0.5, 0.999999} {
		s := newHarness(t, newClock(), func(c *webhook.Config) { c.Chance = func() float64 { return chance } })
		r := testkit.NewReceiver(t, testkit.Status(500))
		s.subscribe(t, r.URL)
		s.enqueue(t, 1)
		s.deliver(t)
		for i, wait := range waits {
			exact := wait + time.Duration(chance*0.2*float64(wait))
			if exact < wait || exact > wait*12/10 {
				t.Fatalf("wait %v is out of bounds", exact)
			}
			s.clock.Advance(exact - 5*time.Millisecond)
			if s.deliver(t); len(r.Received()) != i+1 {
				t.Fatalf("attempt %d was made before it was due", i+2)
			}
			s.clock.Advance(10 * time.Millisecond)
			if s.deliver(t); len(r.Received()) != i+2 {
				t.Fatalf("attempt %d was not made after %v", i+2, exact)
			}
		}
		s.clock.Advance(1000 * time.Hour)
		if total := s.deliver(t); total != (webhook.Totals{}) || len(r.Received()) != 10 {
			t.Errorf("%d attempts", len(r.Received()))
		}
		dead := s.deadLetters(t)
		if len(dead) != 1 || dead[0].Attempts != 10 || *dead[0].LastStatus != 500 || dead[0].EventID != ids(r)[0] {
			t.Errorf("dead letters %+v", dead)
		}
		if ids := ids(r); len(slices.Compact(ids)) != 1 {
			t.Error("the id differed between attempts")
		}
	}
}

// TestRetry_OwnSchedule checks the schedule that --webhook-schedule sets.
func TestRetry_OwnSchedule(t *testing.T) {
	t.Parallel()
	s := newHarness(t, newClock(), func(c *webhook.Config) { c.Schedule = []time.Duration{time.Second, 2 * time.Second} })
	r := testkit.NewReceiver(t, testkit.Status(404))
	s.subscribe(t, r.URL)
	s.enqueue(t, 1)
	for want := range 3 {
		if s.deliver(t); len(r.Received()) != want+1 {
			t.Fatalf("%d attempts, want %d", len(r.Received()), want+1)
		}
		s.clock.Advance(2 * time.Second)
	}
	if len(s.deadLetters(t)) != 1 {
		t.Error("no dead letter")
	}
}

// TestRetry_RetryAfter checks that Retry-After extends a wait to at most twice the step,
// and never shortens it.
func TestRetry_RetryAfter(t *testing.T) {
	t.Parallel()
	now := newClock().Now()
	for header, want := range map[string]time.Duration{
		"":                         5 * time.Second,
		"1":                        5 * time.Second,
		"7":                        7 * time.Second,
		"3600":                     10 * time.Second,
		"-1":                       5 * time.Second,
		"soon":                     5 * time.Second,
		"1e3":                      5 * time.Second,
		"999999999999999999999999": 5 * time.Second,
		now.Add(8 * time.Second).Format(http.TimeFormat):  8 * time.Second,
		now.Add(8 * time.Hour).Format(http.TimeFormat):    10 * time.Second,
		now.Add(-8 * time.Second).Format(http.TimeFormat): 5 * time.Second,
	} {
		s := newHarness(t, newClock())
		s.subscribe(t, testkit.NewReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(503)
		}).URL)
		s.enqueue(t, 1)
		s.deliver(t)
		if _, next, err := delivery.DueSubscriptions(t.Context(), s.store); err != nil || next.Sub(now) != want {
			t.Errorf("Retry-After %q: next after %v, want %v (%v)", header, next.Sub(now), want, err)
		}
	}
}

// TestDeadLetter_BlockedAddress checks that a delivery to a blocked address is not
// tried again.
func TestDeadLetter_BlockedAddress(t *testing.T) {
	t.Parallel()
	s := newHarness(t, newClock())
	s.subscribe(t, "https://10.0.0.1/")
	s.enqueue(t, 1)
	if total := s.deliver(t); total.Dead != 1 {
		t.Errorf("got %+v", total)
	}
	if dead := s.deadLetters(t); len(dead) != 1 || dead[0].LastStatus != nil || dead[0].LastAnswer != nil || !strings.Contains(*dead[0].LastError, "not public") {
		t.Errorf("got %+v", dead)
	}
}

// TestDeadLetter_Replay replays a dead letter. It gets the full number of attempts
// under the same id.
func TestDeadLetter_Replay(t *testing.T) {
	t.Parallel()
	s := newHarness(t, newClock(), func(c *webhook.Config) { c.Schedule = []time.Duration{time.Second} })
	var well atomic.Bool
	r := testkit.NewReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		if !well.Load() {
			w.WriteHeader(500)
		}
	})
	s.subscribe(t, r.URL)
	s.enqueue(t, 3)
	s.deliver(t)
	s.clock.Advance(time.Second)
	s.deliver(t)
	dead := s.deadLetters(t)
	if len(dead) != 3 {
		t.Fatalf("%d dead letters", len(dead))
	}
	if _, err := delivery.Replay(t.Context(), s.store, s.by(t), dead[0].ID, "unknown"); !db.Is(err, db.NotFound) {
		t.Errorf("an unknown id: %v", err)
	}
	if n, err := delivery.Replay(t.Context(), s.store, s.by(t), dead[0].ID); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	before := len(r.Received())
	s.deliver(t) // fails again, with one attempt left
	s.clock.Advance(time.Second)
	s.deliver(t)
	if got := ids(r)[before:]; !slices.Equal(got, []string{dead[0].EventID, dead[0].EventID}) {
		t.Errorf("replayed %v, want %s twice", got, dead[0].EventID)
	}
	if n, err := delivery.Discard(t.Context(), s.store, s.by(t), dead[1].ID); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	well.Store(true)
	if n, err := delivery.Replay(t.Context(), s.store, s.by(t)); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	if total := s.deliver(t); total.Delivered != 2 || len(s.deadLetters(t)) != 0 {
		t.Errorf("got %+v", total)
	}
	if n, err := delivery.Replay(t.Context(), s.store, s.by(t)); n != 0 || err != nil {
		t.Error(n, err)
	}
}

// TestAttempts_AreRetained checks that each attempt is kept. The attempts of delivered
// events are removed after the configured time.
func TestAttempts_AreRetained(t *testing.T) {
	t.Parallel()
	s := newHarness(t, newClock(), func(c *webhook.Config) { c.Schedule = []time.Duration{time.Second} })
	s.subscribe(t, testkit.NewReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("a\x00b\xff" + strings.Repeat("é", 2000)))
	}).URL)
	s.subscribe(t, testkit.NewReceiver(t, testkit.Status(500)).URL)
	s.enqueue(t, 2)
	s.deliver(t)
	s.clock.Advance(time.Second)
	s.deliver(t)
	health := s.health(t)
	if len(health) != 2 || health[0].LastStatus == nil || *health[0].LastStatus != 200 || health[1].Dead != 2 || health[1].Queued != 0 {
		t.Fatalf("got %+v", health)
	}
	s.clock.Advance(29 * 24 * time.Hour)
	keep := delivery.LogRetention
	sweep := func(want ...bool) {
		t.Helper()
		if err := delivery.Sweep(t.Context(), s.store, keep); err != nil {
			t.Fatal(err)
		}
		for i, h := range s.health(t) {
			if (h.LastAttemptAt != nil) != want[i] {
				t.Errorf("subscription %d: log kept: %v", i, h.LastAttemptAt != nil)
			}
		}
	}
	sweep(true, true)
	keep = 28 * 24 * time.Hour
	sweep(false, true)
	if dead := s.deadLetters(t); len(dead) != 2 {
		t.Error("a dead letter was removed")
	}
	if n, err := delivery.Discard(t.Context(), s.store, s.by(t)); n != 2 || err != nil {
		t.Error(n, err)
	}
	sweep(false, false)
}

// TestDeliver_NothingDue checks that a round without due deliveries succeeds.
func TestDeliver_NothingDue(t *testing.T) {
	t.Parallel()
	s := harnessOver(t, filepath.Join(t.TempDir(), "empty.db"), newClock())
	if total := s.deliver(t); total != (webhook.Totals{}) {
		t.Errorf("got %+v", total)
	}
}

// TestDeliver_ChangedSubscription checks that the next attempt uses the subscription as
// another process changed it, including for deliveries that were already queued.
func TestDeliver_ChangedSubscription(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := newHarness(t, c)
	other := harnessOver(t, s.path, c)
	first, second := testkit.NewReceiver(t, testkit.Status(500)), testkit.NewReceiver(t, testkit.Status(500))
	id, old := s.subscribe(t, first.URL)
	s.enqueue(t, 1)
	next := func(want ...int) {
		t.Helper()
		s.deliver(t)
		if got := []int{len(first.Received()), len(second.Received())}; !slices.Equal(got, want) {
			t.Errorf("arrivals %v, want %v", got, want)
		}
		c.Advance(100 * time.Hour)
	}
	update := func(change db.Record) {
		t.Helper()
		other.write(t, func(tx *db.Tx) error { _, err := tx.UpdateSubscription(id, change); return err })
	}
	next(1, 0)
	update(db.Record{"url": second.URL})
	next(1, 1)
	var secret string
	other.write(t, func(tx *db.Tx) (err error) { secret, _, err = tx.RotateSecret(id, 0); return err })
	next(1, 2)
	a := second.Received()[1]
	if got := a.Header.Get("X-Service-Signature"); got != ours(secret, a.Body) || got == ours(old, a.Body) {
		t.Error("the delivery is not signed with only the new secret")
	}
	update(db.Record{"active": false})
	next(1, 2)
	update(db.Record{"active": true})
	next(1, 3)
	other.write(t, func(tx *db.Tx) error { return tx.DeleteSubscription(id) })
	next(1, 3)
}

// TestDeliver_DeletedSubscription deletes a subscription whose deliveries are already
// claimed. They are not sent, neither to its receiver nor to the next new subscription.
func TestDeliver_DeletedSubscription(t *testing.T) {
	t.Parallel()
	s := newHarness(t, newClock())
	wait := make(chan struct{})
	free := sync.OnceFunc(func() { close(wait) })
	defer free()
	var seen atomic.Int32
	first, second := testkit.NewReceiver(t, func(http.ResponseWriter, *http.Request) {
		if seen.Add(1) > 1 { // the first is acknowledged, so that more are claimed
			<-wait
		}
	}), testkit.NewReceiver(t, nil)
	id, _ := s.subscribe(t, first.URL)
	s.enqueue(t, 12)
	s.run(t)
	eventually(t, time.Minute, "two attempts wait for the receiver", func() bool { return len(first.Received()) == 3 })
	s.write(t, func(tx *db.Tx) error { return tx.DeleteSubscription(id) })
	s.subscribe(t, second.URL)
	s.enqueue(t, 1)
	free()
	newest := func() bool {
		return slices.ContainsFunc(second.Received(), func(a testkit.Received) bool { return bytes.Contains(a.Body, []byte(`"n":0}`)) })
	}
	eventually(t, time.Minute, "the new subscription gets its event", newest)
	if got := len(second.Received()); got != 1 || len(first.Received()) != 3 {
		t.Errorf("the new subscription got %d deliveries, the deleted one %d", got, len(first.Received()))
	}
}
