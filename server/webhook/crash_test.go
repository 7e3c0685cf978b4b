package webhook_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/db/delivery"
	"govsvc/internal/testkit"
	"govsvc/server/webhook"
)

const leaseOfClaims = 30 * time.Second

// claim claims the due deliveries and sends none, like a process that is killed.
func (s *harness) claim(t testing.TB) []delivery.Delivery {
	t.Helper()
	s.expand(t)
	due, _, err := delivery.DueSubscriptions(t.Context(), s.store)
	if err != nil {
		t.Fatal(err)
	}
	var claims []delivery.Claim
	for _, seq := range due {
		claims = append(claims, delivery.Claim{Subscription: seq, Limit: 100})
	}
	claimed, err := delivery.SettleAndClaim(t.Context(), s.store, nil, claims, leaseOfClaims)
	if err != nil {
		t.Fatal(err)
	}
	return claimed
}

// TestLease_EndsAfterCrash checks that deliveries of a crashed process are sent after
// its lease ends. A late result of that process counts only if it is a success.
func TestLease_EndsAfterCrash(t *testing.T) {
	t.Parallel()
	s := newHarness(t, newClock())
	r := testkit.NewReceiver(t, testkit.Status(500))
	s.subscribe(t, r.URL)
	s.enqueue(t, 2)
	lost := s.claim(t)
	if len(lost) != 2 {
		t.Fatalf("%d claimed", len(lost))
	}
	s.clock.Advance(leaseOfClaims - time.Millisecond)
	if s.deliver(t); len(r.Received()) != 0 {
		t.Error("a delivery was sent before its lease ended")
	}
	s.clock.Advance(time.Millisecond)
	if s.deliver(t); len(r.Received()) != 2 {
		t.Errorf("got %d sent after the lease, want 2", len(r.Received()))
	}
	_, next, _ := delivery.DueSubscriptions(t.Context(), s.store)
	late := func(i int, state delivery.State, status int) delivery.Settlement {
		return delivery.Settlement{
			ClaimKey: lost[i].ClaimKey, State: state, Counts: true, DueAt: s.clock.Now(),
			Attempt: &delivery.Attempt{At: s.clock.Now(), Status: status},
		}
	}
	if _, err := delivery.SettleAndClaim(t.Context(), s.store, []delivery.Settlement{late(0, delivery.Pending, 500), late(1, delivery.Delivered, 200)}, nil, leaseOfClaims); err != nil {
		t.Fatal(err)
	}
	if _, now, _ := delivery.DueSubscriptions(t.Context(), s.store); !now.Equal(next) {
		t.Errorf("a late failure moved the next attempt from %v to %v", next, now)
	}
	s.clock.Advance(10 * time.Second)
	if s.deliver(t); len(r.Received()) != 3 {
		t.Errorf("got %d sent, want 3: one more attempt, of the delivery that was not acknowledged", len(r.Received()))
	}
}

// TestRun_TwoLoops checks that two loops on one file share the work and send nothing twice.
func TestRun_TwoLoops(t *testing.T) {
	t.Parallel()
	a := newHarness(t, nil)
	b := harnessOver(t, a.path, nil)
	r := testkit.NewReceiver(t, nil)
	for range 3 {
		a.subscribe(t, r.URL)
	}
	a.run(t)
	b.run(t)
	for range 20 {
		a.enqueue(t, 10)
	}
	eventually(t, 20*time.Second, "all delivered", func() bool { return a.loop.Totals().Delivered+b.loop.Totals().Delivered >= 600 })
	seen := map[string]bool{}
	for _, arrival := range r.Received() {
		id := arrival.Header.Get("X-Service-Delivery")
		if seen[id] {
			t.Errorf("%s was sent twice", id)
		}
		seen[id] = true
	}
	if len(seen) != 600 {
		t.Errorf("got %d deliveries, want 600", len(seen))
	}
}

// TestRun_WakesUp checks that a commit wakes the loop, whether this process or another
// wrote it.
func TestRun_WakesUp(t *testing.T) {
	t.Parallel()
	s := newHarness(t, nil)
	other := harnessOver(t, s.path, nil)
	r := testkit.NewReceiver(t, nil)
	s.subscribe(t, r.URL)
	s.run(t)
	for i, from := range []*harness{s, other, s, other} {
		time.Sleep(100 * time.Millisecond)
		began := time.Now()
		from.enqueue(t, 1)
		eventually(t, 10*time.Second, "the event arrives", func() bool { return len(r.Received()) > i })
		t.Logf("%v after the write began", time.Since(began))
	}
}

// TestRun_WakesUpWhileBusy checks that the loop sends an event that another process
// enqueued before it finishes the backlog of another receiver.
func TestRun_WakesUpWhileBusy(t *testing.T) {
	t.Parallel()
	const backlog = 3000
	s := newHarness(t, nil)
	other := harnessOver(t, s.path, nil)
	busy, quiet := testkit.NewReceiver(t, nil), testkit.NewReceiver(t, nil)
	s.subscribe(t, busy.URL, "risk.created")
	s.subscribe(t, quiet.URL, "verdict.changed")
	s.enqueue(t, backlog)
	s.run(t)
	eventually(t, 30*time.Second, "the first arrive", func() bool { return len(busy.Received()) >= 100 })
	other.write(t, func(tx *db.Tx) error {
		if err := tx.Enqueue("verdict.changed", map[string]any{}); err != nil {
			return err
		}
		return tx.Audit(audit.Event{Action: "test.raised", Category: audit.System, Severity: audit.SeverityWrite})
	})
	eventually(t, 60*time.Second, "the other's event arrives", func() bool { return len(quiet.Received()) == 1 })
	if n := len(busy.Received()); n == backlog {
		t.Error("the event waited for the end of the backlog")
	}
}

// TestRun_Stops checks that a stopped loop records the attempts that end within the grace
// period. Interrupted and waiting deliveries are due immediately.
func TestRun_Stops(t *testing.T) {
	t.Parallel()
	var stalled atomic.Bool
	stalled.Store(true)
	begun := make(chan bool, 100)
	release := make(chan bool)
	r := testkit.NewReceiver(t, func(_ http.ResponseWriter, r *http.Request) {
		begun <- true
		if stalled.Load() {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
	})
	s := newHarness(t, nil, func(c *webhook.Config) { c.Grace = 300 * time.Millisecond })
	s.subscribe(t, r.URL)
	s.enqueue(t, 5)
	stop := s.run(t)
	<-begun
	time.AfterFunc(100*time.Millisecond, func() { release <- true }) // within grace
	stop()
	if total := s.loop.Totals(); total.Delivered != 1 {
		t.Errorf("got %+v, want one delivered during the grace", total)
	}
	stop = s.run(t)
	<-begun
	stop() // interrupts the attempt
	if dead, health := s.deadLetters(t), s.health(t)[0]; len(dead) != 0 || health.Queued != 4 || !strings.Contains(*health.LastError, "interrupted") {
		t.Errorf("%d dead, %+v", len(dead), health)
	}
	stalled.Store(false)
	if total := s.deliver(t); total.Delivered != 4 || total.Failed != 0 {
		t.Errorf("got %+v", total)
	}
}

// TestRun_Killed kills a process during deliveries. A second process then delivers every
// event.
func TestRun_Killed(t *testing.T) {
	t.Parallel()
	if path := os.Getenv("GOVSVC_TEST_KILL"); path != "" {
		s := harnessOver(t, path, nil)
		_, _ = os.Stdout.WriteString("running\n")
		_ = s.loop.Run(t.Context())
		return
	}
	s := newHarness(t, nil)
	arrived := make(chan bool, 1000)
	r := testkit.NewReceiver(t, func(http.ResponseWriter, *http.Request) { arrived <- true; time.Sleep(3 * time.Millisecond) })
	s.subscribe(t, r.URL)
	s.enqueue(t, 200)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestRun_Killed$")
	child.Env = append(os.Environ(), "GOVSVC_TEST_KILL="+s.path)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	for range 30 {
		<-arrived
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	later := testkit.NewClock(time.Now().Add(leaseOfClaims + time.Second))
	after := harnessOver(t, s.path, later)
	after.deliver(t)
	ids := ids(r)
	slices.Sort(ids)
	if unique := len(slices.Compact(slices.Clone(ids))); unique != 200 {
		t.Errorf("%d of 200 events arrived", unique)
	}
	if again := len(ids) - 200; again > 40 {
		t.Errorf("%d events arrived twice, more than were in progress", again)
	}
	if h := after.health(t)[0]; h.Queued != 0 || h.Dead != 0 {
		t.Errorf("got %+v", h)
	}
}
