package webhook_test

import (
	"database/sql"
	"flag"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver, for changes that the store does not allow

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/db/delivery"
	"govsvc/server/webhook"
)

// The figures of the attack are 6400 subscriptions and 79 writes.
var (
	attackSubscriptions = flag.Int("attack.subscriptions", 640, "subscriptions of the attacker in TestFanOut_Attack")
	attackWrites        = flag.Int("attack.writes", 20, "writes of the attacker in TestFanOut_Attack")
)

// subscribeMany inserts subscriptions into the data file directly, because the
// store refuses more than 250 for one organisation.
func (s *harness) subscribeMany(t testing.TB, org db.Org, n int, url string) {
	t.Helper()
	file, err := sql.Open("sqlite", "file:"+s.path+"?_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // the statement was checked
	if _, err := file.ExecContext(t.Context(), `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
		INSERT INTO webhook_subscriptions (org_id, id, url, created_via, secret, created_at, updated_at)
		SELECT ?1, printf('01993e0a-52c0-7c3e-8d2b-%012d', i), ?3 || i, 'api', 'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=', '', '' FROM n`, org, n, url); err != nil {
		t.Fatal(err)
	}
}

func (s *harness) organisation(t testing.TB, name string) db.Actor {
	t.Helper()
	o, err := s.store.Orgs.Create(t.Context(), db.Actor{ID: "system"}, name, db.Enterprise)
	if err != nil {
		t.Fatal(err)
	}
	return db.Actor{Org: o.Org, ID: "system"}
}

// enqueueBy writes a change with one event and returns its duration.
func (s *harness) enqueueBy(t testing.TB, by db.Actor) time.Duration {
	t.Helper()
	began := time.Now()
	err := s.store.Write(t.Context(), by, func(tx *db.Tx) error {
		if err := tx.Enqueue("risk.created", map[string]any{"risk": map[string]any{"n": 1}}); err != nil {
			return err
		}
		return tx.Audit(audit.Event{Action: "test.raised", Category: audit.System, Severity: audit.SeverityWrite})
	})
	if err != nil {
		t.Error(err)
	}
	return time.Since(began)
}

// TestFanOut_BoundsRounds enqueues many deliveries of one organisation and then one of
// another. One transaction of the loop creates only some of the first, and the second
// organisation does not wait for the rest.
func TestFanOut_BoundsRounds(t *testing.T) {
	t.Parallel()
	s := newHarness(t, newClock())
	attacker, victim := s.organisation(t, "attacker"), s.by(t)
	s.subscribeMany(t, attacker.Org, 2000, "https://127.0.0.1:1/")
	for range 20 {
		s.enqueueBy(t, attacker)
	}
	s.subscribe(t, "https://127.0.0.1:1/")
	s.enqueueBy(t, victim)
	for round := 1; s.queued(t, victim) == 0; round++ {
		if round > 2 {
			t.Fatal("the second organisation had no delivery after two rounds")
		}
		result, err := delivery.RunRound(t.Context(), s.store, delivery.Round{Expand: true})
		if err != nil {
			t.Fatal(err)
		}
		if !result.Unexpanded || !result.More {
			t.Fatal("one transaction made 40000 deliveries")
		}
	}
}

// queued counts the deliveries of an organisation that exist and are due.
func (s *harness) queued(t testing.TB, by db.Actor) (n int) {
	t.Helper()
	file, err := sql.Open("sqlite", "file:"+s.path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // the query was checked
	if err := file.QueryRowContext(t.Context(), "SELECT count(*) FROM deliveries d JOIN events e ON e.seq = d.event_seq WHERE e.org_id = ?", by.Org).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestFanOut_SeveralProcesses enqueues events while two loops work on one file. Each
// event arrives once at each subscription.
func TestFanOut_SeveralProcesses(t *testing.T) {
	t.Parallel()
	const subscriptions, events = 40, 25
	s := newHarness(t, nil)
	other := harnessOver(t, s.path, nil)
	c := newReceivers(t)
	for i := range subscriptions {
		s.subscribe(t, fmt.Sprint(c.URL, "/", i))
	}
	s.run(t)
	other.run(t)
	for range events {
		s.enqueue(t, 1)
	}
	eventually(t, time.Minute, "all arrive", func() bool { return c.complete(subscriptions, events) })
	if n := c.repeated(); n > 0 {
		t.Errorf("%d arrived twice", n)
	}
}

// TestFanOut_Attack measures the writes of one organisation while another organisation
// with many subscriptions enqueues events and the loop delivers them.
func TestFanOut_Attack(t *testing.T) {
	s := newHarness(t, nil, func(c *webhook.Config) { c.Grace = 10 * time.Millisecond })
	attacker, victim := s.organisation(t, "attacker"), s.by(t)
	sample := func(n int, more func() bool) (all []time.Duration) {
		for i := 0; i < n || more != nil && more(); i++ {
			all = append(all, s.enqueueBy(t, victim))
			time.Sleep(2 * time.Millisecond)
		}
		slices.Sort(all)
		return all
	}
	stop := s.run(t)
	defer stop()
	quiet := sample(50, nil)
	s.subscribeMany(t, attacker.Org, *attackSubscriptions, raw(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })+"/")
	done, until := make(chan struct{}), time.Now().Add(2*time.Second)
	go func() {
		defer close(done)
		for range *attackWrites {
			s.enqueueBy(t, attacker)
		}
	}()
	attacked := sample(50, func() bool {
		select {
		case <-done:
			return time.Now().Before(until)
		default:
			return true
		}
	})
	median, worst := func(l []time.Duration) time.Duration { return l[len(l)/2] }, func(l []time.Duration) time.Duration { return l[len(l)-1] }
	if *attackSubscriptions >= 6400 && median(attacked) > 3*median(quiet)+10*time.Millisecond {
		t.Error("a write during the attack takes longer than three times a write without it, plus 10 ms")
	}
	t.Logf("quiet: median %v, longest %v; attacked (%d writes): median %v, longest %v", median(quiet), worst(quiet), len(attacked), median(attacked), worst(attacked))
}
