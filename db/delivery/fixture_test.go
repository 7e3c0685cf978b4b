package delivery_test

import (
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/delivery"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// fixture is a data file with subscriptions. Its clock starts at testkit.Start.
type fixture struct {
	*db.DB
	clock *testkit.Clock
	org   db.Organisation
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{clock: testkit.NewClock(testkit.Start)}
	f.DB = testdb.Open(t, db.Options{Now: f.clock.Now})
	f.org = testdb.DefaultOrg(t, f.DB)
	return f
}

// actor returns the operator.
func (f *fixture) actor() db.Actor { return db.Actor{Org: f.org.Org, ID: "system"} }

// subscribe adds a subscription and returns its id.
func (f *fixture) subscribe(t *testing.T, path string) string {
	t.Helper()
	var made db.Object
	f.change(t, func(tx *db.Tx) (err error) {
		made, _, err = tx.CreateSubscription(db.Record{"url": "https://example.com/" + path})
		return err
	})
	return made.ID
}

// enqueue adds a risk for each name, a minute after the one before, which enqueues an
// event.
func (f *fixture) enqueue(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		f.clock.Advance(time.Minute)
		f.change(t, func(tx *db.Tx) error { return testdb.PutRisk(tx, name) })
	}
}

// expand makes the deliveries of all events.
func (f *fixture) expand(t *testing.T) {
	t.Helper()
	for more := true; more; {
		result, err := delivery.RunRound(t.Context(), f.DB, delivery.Round{Expand: true})
		if err != nil {
			t.Fatal(err)
		}
		more = result.Unexpanded
	}
}

// settle claims all due deliveries and ends each claim. The function how returns the
// result by the subscription and the number of the event within it, from 1.
func (f *fixture) settle(t *testing.T, how func(subscription int64, n int) (delivery.State, delivery.Attempt)) {
	t.Helper()
	f.expand(t)
	due, _, err := delivery.DueSubscriptions(t.Context(), f.DB)
	if err != nil {
		t.Fatal(err)
	}
	for _, subscription := range due {
		claimed, err := delivery.SettleAndClaim(t.Context(), f.DB, nil, []delivery.Claim{{Subscription: subscription, Limit: 100}}, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		var settled []delivery.Settlement
		for i, d := range claimed {
			state, attempt := how(subscription, i+1)
			attempt.At, attempt.Duration = f.clock.Now(), 42*time.Millisecond
			settled = append(settled, delivery.Settlement{ClaimKey: d.ClaimKey, Attempt: &attempt, State: state, Counts: true, DueAt: f.clock.Now().Add(time.Hour)})
		}
		if _, err := delivery.SettleAndClaim(t.Context(), f.DB, settled, nil, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
}

func (f *fixture) change(t *testing.T, run func(*db.Tx) error) {
	t.Helper()
	if err := f.Write(t.Context(), f.actor(), run); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) update(t *testing.T, id string, record db.Record) {
	t.Helper()
	f.change(t, func(tx *db.Tx) error { _, err := tx.UpdateSubscription(id, record); return err })
}

func (f *fixture) remove(t *testing.T, id string) {
	t.Helper()
	f.change(t, func(tx *db.Tx) error { return tx.DeleteSubscription(id) })
}

// counted returns the result of a query that counts rows.
func (f *fixture) counted(t *testing.T, query string) string {
	t.Helper()
	for text := range testkit.CountSQL(t, f.File.Path(), query) {
		return text
	}
	return ""
}

// queuedOf returns the number of queued deliveries of each subscription, by the last part
// of its URL.
func (f *fixture) queuedOf(t *testing.T) map[string]int {
	t.Helper()
	queued := map[string]int{}
	err := delivery.EachSubscription(t.Context(), f.DB, f.org.Org, func(h delivery.SubscriptionSummary) error {
		queued[h.URL[len("https://example.com/"):]] = h.Queued
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return queued
}

func (f *fixture) dead(t *testing.T) (list []delivery.DeadLetter) {
	t.Helper()
	if err := delivery.EachDeadLetter(t.Context(), f.DB, f.org.Org, func(l delivery.DeadLetter) error { list = append(list, l); return nil }); err != nil {
		t.Fatal(err)
	}
	return list
}
