package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/db/delivery"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
	"govsvc/server/webhook"
)

func newClock() *testkit.Clock { return testkit.NewClock(testkit.Start) }

// ids returns the events that arrived, in order.
func ids(r *testkit.Receiver) []string {
	var ids []string
	for _, a := range r.Received() {
		ids = append(ids, a.Header.Get("webhook-id"))
	}
	return ids
}

// dns resolves names from a table or with a function.
type dns func(host string) ([]netip.Addr, error)

func (d dns) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) { return d(host) }

func table(hosts map[string]string) dns {
	return func(host string) ([]netip.Addr, error) {
		list, known := hosts[host]
		if !known {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
		var addresses []netip.Addr
		for address := range strings.FieldsSeq(list) {
			addresses = append(addresses, netip.MustParseAddr(address))
		}
		return addresses, nil
	}
}

// newSender returns a sender that may connect to loopback and trusts the receivers of
// the test.
func newSender(t testing.TB, set ...func(*webhook.SenderConfig)) *webhook.Sender {
	t.Helper()
	c := webhook.SenderConfig{
		Version: "1.2.3", Allow: webhook.Loopback, Roots: testkit.ReceiverRoot(),
		Resolver: table(map[string]string{"localhost": "127.0.0.1", "example.com": "127.0.0.1"}),
	}
	for _, s := range set {
		s(&c)
	}
	sender, err := webhook.NewSender(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sender.Close)
	return sender
}

// harness is a data file with a delivery loop and its log.
type harness struct {
	store *db.DB
	clock *testkit.Clock
	log   *testkit.LogBuffer
	loop  *webhook.Deliverer
	path  string
}

// newHarness returns a harness with an injected clock and no jitter. A nil clock means
// the real clock.
func newHarness(t testing.TB, c *testkit.Clock, set ...func(*webhook.Config)) *harness {
	t.Helper()
	return harnessOver(t, testdb.EmptyFile(t), c, set...)
}

func harnessOver(t testing.TB, path string, c *testkit.Clock, set ...func(*webhook.Config)) *harness {
	t.Helper()
	now := time.Now
	if c != nil {
		now = c.Now
	}
	store, err := db.Open(t.Context(), db.Options{Path: path, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	s := &harness{store: store, clock: c, log: &testkit.LogBuffer{}, path: path}
	config := webhook.Config{
		Store:  store,
		Sender: newSender(t, func(c *webhook.SenderConfig) { c.Now = now }),
		Logger: slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Chance: func() float64 { return 0 },
	}
	for _, f := range set {
		f(&config)
	}
	s.loop = webhook.NewDeliverer(config)
	return s
}

func (s *harness) by(t testing.TB) db.Actor {
	t.Helper()
	org, err := s.store.Orgs.ByName(t.Context(), db.DefaultOrganisation)
	if err != nil {
		t.Fatal(err)
	}
	return db.Actor{Org: org.Org, ID: "system"}
}

func (s *harness) write(t testing.TB, run func(*db.Tx) error) {
	t.Helper()
	if err := s.store.Write(t.Context(), s.by(t), run); err != nil {
		t.Fatal(err)
	}
}

// subscribe makes a subscription and returns its id and secret.
func (s *harness) subscribe(t testing.TB, url string, types ...any) (id, secret string) {
	t.Helper()
	s.write(t, func(tx *db.Tx) error {
		id = fmt.Sprintf("01993e0a-52c0-7c3e-9d2b-%012x", time.Now().UnixNano()&0xffffffffffff)
		var err error
		_, secret, err = tx.CreateSubscription(db.Record{"id": id, "url": url, "event_types": append([]any{}, types...)})
		return err
	})
	return id, secret
}

// enqueue enqueues n events in one transaction.
func (s *harness) enqueue(t testing.TB, n int) {
	t.Helper()
	s.write(t, func(tx *db.Tx) error {
		for i := range n {
			if err := tx.Enqueue("risk.created", map[string]any{"risk": map[string]any{"n": i}}); err != nil {
				return err
			}
		}
		return tx.Audit(audit.Event{Action: "test.raised", Category: audit.System, Severity: audit.SeverityWrite})
	})
}

// expand creates the deliveries of all events.
func (s *harness) expand(t testing.TB) {
	t.Helper()
	for more := true; more; {
		result, err := delivery.RunRound(t.Context(), s.store, delivery.Round{Expand: true})
		if err != nil {
			t.Fatal(err)
		}
		more = result.Unexpanded
	}
}

// deliver delivers everything that is due.
func (s *harness) deliver(t testing.TB) webhook.Totals {
	t.Helper()
	total, err := s.loop.DeliverDue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return total
}

// run runs the loop until the returned function is called, or the test ends.
func (s *harness) run(t testing.TB) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.loop.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func (s *harness) deadLetters(t testing.TB) []delivery.DeadLetter {
	t.Helper()
	return collect(t, s, delivery.EachDeadLetter)
}

func (s *harness) health(t testing.TB) []delivery.SubscriptionSummary {
	t.Helper()
	return collect(t, s, delivery.EachSubscription)
}

// collect returns what a function lists of the default organisation.
func collect[T any](t testing.TB, s *harness, each func(context.Context, *db.DB, db.Org, func(T) error) error) []T {
	t.Helper()
	var list []T
	if err := each(t.Context(), s.store, s.by(t).Org, func(one T) error { list = append(list, one); return nil }); err != nil {
		t.Fatal(err)
	}
	return list
}

// eventually waits until a condition holds.
func eventually(t testing.TB, within time.Duration, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", within, what)
		}
	}
}
