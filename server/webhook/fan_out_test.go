package webhook_test

import (
	"database/sql"
	"flag"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/server/webhook"

	_ "modernc.org/sqlite" // the driver, for what the store does not allow
)

// The figures of the attack are 6400 subscriptions and 79 writes.
var (
	attackSubscriptions = flag.Int("attack.subscriptions", 640, "subscriptions of the attacker in TestFanOutAttack")
	attackWrites        = flag.Int("attack.writes", 20, "writes of the attacker in TestFanOutAttack")
)

// subscribeMany inserts subscriptions into the data file directly, because the
// store refuses more than 250 for one organisation.
func (s *scene) subscribeMany(t testing.TB, org db.Org, n int, url string) {
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

func (s *scene) organisation(t testing.TB, name string) db.By {
	t.Helper()
	o, err := s.store.CreateOrganisation(t.Context(), db.By{Actor: "system"}, name, db.Enterprise)
	if err != nil {
		t.Fatal(err)
	}
	return db.By{Org: o.Org, Actor: "system"}
}

// raiseBy writes one change with one event and returns how long that took.
func (s *scene) raiseBy(t testing.TB, by db.By) time.Duration {
	t.Helper()
	began := time.Now()
	err := s.store.Write(t.Context(), by, func(tx *db.Tx) error {
		if err := tx.Raise("risk.created", map[string]any{"risk": map[string]any{"n": 1}}); err != nil {
			return err
		}
		return tx.Audit(db.AuditEvent{Action: "test.raised", Category: db.System, Severity: db.SeverityWrite})
	})
	if err != nil {
		t.Error(err)
	}
	return time.Since(began)
}

// TestFanOutAttack measures the writes of one organisation while another one
// with many subscriptions raises events and the loop delivers them.
func TestFanOutAttack(t *testing.T) {
	s := newScene(t, nil, func(c *webhook.Config) { c.Grace = 10 * time.Millisecond })
	attacker, victim := s.organisation(t, "attacker"), s.by(t)
	sample := func(n int, more func() bool) (all []time.Duration) {
		for i := 0; i < n || more != nil && more(); i++ {
			all = append(all, s.raiseBy(t, victim))
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
			s.raiseBy(t, attacker)
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
	t.Logf("quiet: median %v, longest %v; attacked (%d writes): median %v, longest %v", median(quiet), worst(quiet), len(attacked), median(attacked), worst(attacked))
}
