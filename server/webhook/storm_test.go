package webhook_test

import (
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/db/delivery"
	"govsvc/internal/testkit"
	"govsvc/server/webhook"
)

// stormEvents is the number of events that TestRun_Storm enqueues. A run with 10000, the
// size in the issue, takes minutes.
var stormEvents = flag.Int("storm.events", 60, "events that TestRun_Storm sends to 50 subscriptions")

// receivers is one server for many subscriptions, which differ in their path.
type receivers struct {
	*httptest.Server
	mutex  sync.Mutex
	seen   map[string]map[string]int // path → event → arrivals
	counts map[string]int            // path → distinct events
}

func newReceivers(t testing.TB) *receivers {
	t.Helper()
	c := &receivers{seen: map[string]map[string]int{}, counts: map[string]int{}}
	c.Server = testkit.ServeTLS(t, c)
	return c
}

func (c *receivers) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.seen[r.URL.Path] == nil {
		c.seen[r.URL.Path] = map[string]int{}
	}
	if c.seen[r.URL.Path][r.Header.Get("webhook-id")]++; c.seen[r.URL.Path][r.Header.Get("webhook-id")] == 1 {
		c.counts[r.URL.Path]++
	}
}

// complete reports whether each of the paths received n events.
func (c *receivers) complete(paths, n int) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for i := range paths {
		if c.counts[fmt.Sprint("/", i)] < n {
			return false
		}
	}
	return true
}

func (c *receivers) repeated() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	n := 0
	for _, events := range c.seen {
		for _, arrivals := range events {
			n += arrivals - 1
		}
	}
	return n
}

// dead returns receivers that never acknowledge. Two accept the connection and do
// not answer, one of them after the TLS handshake. The third answers 500, slowly.
func dead(t testing.TB) []string {
	t.Helper()
	silent := raw(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	mute := overTLS(t, func(c *tls.Conn) { _, _ = io.Copy(io.Discard, c) })
	slow := testkit.NewReceiver(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(time.Second):
		case <-r.Context().Done():
		}
		w.WriteHeader(500)
	})
	return []string{silent, mute, slow.URL}
}

// enqueueMany enqueues n events in transactions of a hundred.
func (s *harness) enqueueMany(t testing.TB, n int) {
	t.Helper()
	for ; n > 0; n -= 100 {
		s.enqueue(t, min(n, 100))
	}
}

// TestRun_Storm sends many events to 50 subscriptions, three of which never acknowledge.
// The others receive each event once, while those three are at their first attempt.
func TestRun_Storm(t *testing.T) {
	t.Parallel()
	const healthy = 47
	events := *stormEvents
	if testing.Short() {
		events = 20
	}
	s := newHarness(t, nil, func(c *webhook.Config) { c.Grace = 100 * time.Millisecond })
	for _, url := range dead(t) {
		s.subscribe(t, url)
	}
	c := newReceivers(t)
	for i := range healthy {
		s.subscribe(t, fmt.Sprint(c.URL, "/", i))
	}
	began := time.Now()
	s.enqueueMany(t, events)
	raised := time.Since(began)
	stop := s.run(t)
	eventually(t, time.Minute+time.Duration(events)*500*time.Millisecond, "the healthy have their events", func() bool {
		time.Sleep(10 * time.Millisecond)
		return c.complete(healthy, events)
	})
	took := time.Since(began) - raised
	stop()
	t.Logf("%d deliveries queued in %v, %d delivered in %v (%.0f/s)", 50*events, raised, healthy*events, took, float64(healthy*events)/took.Seconds())
	if n := c.repeated(); n > 0 {
		t.Errorf("%d events arrived twice", n)
	}
	queued := 0
	for _, h := range s.health(t) {
		queued += h.Queued
	}
	if queued != 3*events || len(s.deadLetters(t)) != 0 {
		t.Errorf("%d still queued, want %d", queued, 3*events)
	}
	if events > 1000 {
		s.backlogCosts(t)
	}
}

// backlogCosts measures how long the loop's queries take with a long queue.
func (s *harness) backlogCosts(t *testing.T) {
	t.Helper()
	began := time.Now()
	if _, _, err := delivery.DueSubscriptions(t.Context(), s.store); err != nil {
		t.Fatal(err)
	}
	asked := time.Since(began)
	s.write(t, func(tx *db.Tx) error {
		return tx.Audit(audit.Event{Action: "test.measured", Category: audit.System, Severity: audit.SeverityRead})
	})
	t.Logf("the query for due subscriptions took %v", asked)
	if asked > 100*time.Millisecond {
		t.Errorf("the query for due subscriptions took %v, want at most 100ms", asked)
	}
}
