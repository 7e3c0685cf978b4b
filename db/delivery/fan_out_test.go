package delivery_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/db/auth"
	"govsvc/db/dashboard"
	"govsvc/db/delivery"
	"govsvc/internal/testkit"
)

// TestFanOut_Receivers checks which subscriptions receive an event whose
// deliveries are made later: those that were active and matched when it was
// enqueued, except those deleted since.
func TestFanOut_Receivers(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		before, after func(f *fixture, t *testing.T, a, b string)
		want          map[string]int
	}{
		"both": {want: map[string]int{"a": 1, "b": 1}},
		"a subscription made after the event": {
			after: func(f *fixture, t *testing.T, _, _ string) { t.Helper(); f.subscribe(t, "c") },
			want:  map[string]int{"a": 1, "b": 1, "c": 0},
		},
		"one that takes the number of a deleted one": {
			after: func(f *fixture, t *testing.T, _, b string) { t.Helper(); f.remove(t, b); f.subscribe(t, "c") },
			want:  map[string]int{"a": 1, "c": 0},
		},
		"one paused before the event": {
			before: func(f *fixture, t *testing.T, a, _ string) { t.Helper(); f.update(t, a, db.Record{"active": false}) },
			after:  func(f *fixture, t *testing.T, a, _ string) { t.Helper(); f.update(t, a, db.Record{"active": true}) },
			want:   map[string]int{"a": 0, "b": 1},
		},
		"one paused after the event": {
			after: func(f *fixture, t *testing.T, a, _ string) { t.Helper(); f.update(t, a, db.Record{"active": false}) },
			want:  map[string]int{"a": 1, "b": 1},
		},
		"one for other events": {
			before: func(f *fixture, t *testing.T, a, _ string) {
				t.Helper()
				f.update(t, a, db.Record{"event_types": []any{"roadmap.updated"}})
			},
			after: func(f *fixture, t *testing.T, a, _ string) {
				t.Helper()
				f.update(t, a, db.Record{"event_types": []any{}})
			},
			want: map[string]int{"a": 0, "b": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			a, b := f.subscribe(t, "a"), f.subscribe(t, "b")
			f.enqueue(t, "earlier") // makes a receiver set
			f.expand(t)
			f.settle(t, func(int64, int) (delivery.State, delivery.Attempt) {
				return delivery.Delivered, delivery.Attempt{Status: 200}
			})
			if row.before != nil {
				row.before(f, t, a, b)
			}
			f.enqueue(t, "1")
			if got := f.counted(t, "SELECT count(*) FROM deliveries WHERE state = 'pending'"); got != "0" {
				t.Errorf("the write made %s deliveries", got)
			}
			if row.after != nil {
				row.after(f, t, a, b)
			}
			if diff := cmp.Diff(row.want, f.queuedOf(t)); diff != "" {
				t.Errorf("queued before the deliveries are made (-want +got):\n%s", diff)
			}
			f.expand(t)
			if diff := cmp.Diff(row.want, f.queuedOf(t)); diff != "" {
				t.Errorf("queued after the deliveries are made (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFanOut_CountsUnexpanded checks that the deliveries of unexpanded events count as
// queued everywhere.
func TestFanOut_CountsUnexpanded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a, b := f.subscribe(t, "a"), f.subscribe(t, "b")
	f.enqueue(t, "1", "2", "3")
	f.update(t, b, db.Record{"active": false})
	first := db.Timestamp(testkit.Start.Add(time.Minute))
	for _, when := range []string{"before", "after"} {
		stats, err := delivery.ReadStats(t.Context(), f.DB)
		if err != nil || stats.Due != 3 || stats.Paused != 3 || stats.Later != 0 || stats.Oldest != 2*time.Minute {
			t.Errorf("%s: %+v, %v", when, stats, err)
		}
		status, err := dashboard.ReadStatus(t.Context(), f.DB)
		if err != nil || status.Queued != 3 || status.OldestDue == nil || *status.OldestDue != first {
			t.Errorf("%s: %+v, %v", when, status, err)
		}
		if n, oldest, err := delivery.Stuck(t.Context(), f.DB, f.clock.Now()); n != 2 || oldest != first || err != nil {
			t.Errorf("%s: %d stuck since %s, %v", when, n, oldest, err)
		}
		h, err := delivery.ReadHealth(t.Context(), f.DB, f.org.Org, a)
		if err != nil || h.Pending != 3 || h.OldestPending == nil || *h.OldestPending != first {
			t.Errorf("%s: %+v, %v", when, h, err)
		}
		f.expand(t)
	}
}

// TestFanOut_RemovesFormerSets checks that receiver sets are removed after the
// subscriptions changed.
func TestFanOut_RemovesFormerSets(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.subscribe(t, "a")
	for i := range 5 {
		f.enqueue(t, fmt.Sprint(i))
		f.update(t, a, db.Record{"event_types": []any{[]string{"risk.created", "roadmap.updated"}[i%2], "risk.created"}})
		f.expand(t)
	}
	for range 5 {
		f.enqueue(t, "more")
		f.expand(t)
	}
	if got := f.counted(t, "SELECT (SELECT count(*) FROM receiver_sets) || ' ' || (SELECT count(*) FROM receiver_set_members) || ' ' || (SELECT count(*) FROM fan_outs)"); got != "1 1 0" {
		t.Errorf("got %s sets, members and fan-outs, want 1 1 0", got)
	}
}

// TestQueueLimit fills a queue. The oldest deliveries become dead letters with a reason. A
// replay replays as many as the queue has room for.
func TestQueueLimit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.subscribe(t, "a")
	const excess = 7
	f.change(t, func(tx *db.Tx) error {
		for range delivery.QueueLimit + excess {
			if err := tx.Enqueue("risk.created", map[string]any{}); err != nil {
				return err
			}
		}
		return tx.Audit(audit.Event{Action: "test.raised", Category: audit.System, Severity: audit.SeverityWrite})
	})
	f.expand(t)
	dead := f.dead(t)
	if got := f.queuedOf(t)["a"]; got != delivery.QueueLimit || len(dead) != excess {
		t.Fatalf("%d queued and %d dead letters, want %d and %d", got, len(dead), delivery.QueueLimit, excess)
	}
	want := "The queue of the subscription was full: 10000 newer deliveries were waiting."
	page, err := delivery.List(t.Context(), f.DB, f.org, delivery.Query{Subscription: id, State: delivery.Dead, Limit: 100})
	if err != nil || len(page.Deliveries) != excess {
		t.Fatal(len(page.Deliveries), err)
	}
	for i, l := range page.Deliveries {
		if l.Number != int64(excess-i) || l.Reason == nil || *l.Reason != want || dead[i].Reason == nil || *dead[i].Reason != want {
			t.Errorf("dead letter %+v, want one of the oldest with the reason", l)
		}
	}
	by := db.Actor{Org: f.org.Org, ID: "system"}
	if n, err := delivery.Replay(t.Context(), f.DB, by, dead[0].ID); n != 0 || !db.Is(err, db.Conflict) {
		t.Errorf("replayed %d into a full queue, %v", n, err)
	}
	if n, err := delivery.Replay(t.Context(), f.DB, by); n != 0 || err != nil {
		t.Errorf("replayed %d into a full queue, %v", n, err)
	}
	claimed, err := delivery.SettleAndClaim(t.Context(), f.DB, nil, []delivery.Claim{{Subscription: 1, Limit: 3}}, time.Minute)
	if err != nil || len(claimed) != 3 {
		t.Fatal(len(claimed), err)
	}
	var settled []delivery.Settlement
	for _, d := range claimed {
		settled = append(settled, delivery.Settlement{ClaimKey: d.ClaimKey, Attempt: &delivery.Attempt{At: f.clock.Now(), Status: 200}, State: delivery.Delivered, Counts: true})
	}
	if _, err := delivery.SettleAndClaim(t.Context(), f.DB, settled, nil, time.Minute); err != nil {
		t.Fatal(err)
	}
	if n, err := delivery.Replay(t.Context(), f.DB, by); n != 3 || err != nil {
		t.Errorf("replayed %d, want the 3 that fit, %v", n, err)
	}
	if got := f.queuedOf(t)["a"]; got != delivery.QueueLimit || len(f.dead(t)) != excess-3 {
		t.Errorf("%d queued and %d dead letters after the replay", got, len(f.dead(t)))
	}
}

// TestQueueLimit_KeepsDelivered checks that a delivery that leaves a full queue
// while it is sent counts as delivered if the receiver acknowledges it.
func TestQueueLimit_KeepsDelivered(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.subscribe(t, "a")
	f.enqueue(t, "1")
	f.expand(t)
	claimed, err := delivery.SettleAndClaim(t.Context(), f.DB, nil, []delivery.Claim{{Subscription: 1, Limit: 1}}, time.Minute)
	if err != nil || len(claimed) != 1 {
		t.Fatal(len(claimed), err)
	}
	testkit.ExecSQL(t, f.File.Path(), "UPDATE delivery_queues SET queued = 10000")
	f.enqueue(t, "2")
	f.expand(t)
	if dead := f.dead(t); len(dead) != 1 {
		t.Fatalf("%d dead letters, want 1", len(dead))
	}
	settled := delivery.Settlement{ClaimKey: claimed[0].ClaimKey, Attempt: &delivery.Attempt{At: f.clock.Now(), Status: 200}, State: delivery.Delivered, Counts: true}
	if _, err := delivery.SettleAndClaim(t.Context(), f.DB, []delivery.Settlement{settled}, nil, time.Minute); err != nil {
		t.Fatal(err)
	}
	if dead := f.dead(t); len(dead) != 0 {
		t.Errorf("%d dead letters after the receiver acknowledged, want none", len(dead))
	}
}

// TestRunRound_SettlesGroups settles full groups of acknowledged deliveries. One of them is
// all as expected. The others have a delivery whose subscription was deleted, that left a
// full queue, that was claimed again, or that is settled twice.
func TestRunRound_SettlesGroups(t *testing.T) {
	t.Parallel()
	const group = 16
	for name, row := range map[string]struct {
		change string
		want   string // delivered, other deliveries, attempts
	}{
		"as expected":   {"SELECT 1", "16 0 16"},
		"deleted":       {"DELETE FROM deliveries WHERE event_seq = 3", "15 0 15"},
		"dropped":       {"UPDATE deliveries SET state = 'dead', due_at = NULL, reason = 'full' WHERE event_seq = 3", "16 0 16"},
		"failed":        {"UPDATE deliveries SET state = 'dead', due_at = NULL WHERE event_seq = 3", "15 1 16"},
		"claimed again": {"UPDATE deliveries SET lease = 2 WHERE event_seq = 3", "16 0 16"},
		"settled before": {`UPDATE deliveries SET state = 'delivered', due_at = NULL WHERE event_seq = 3;
			INSERT INTO delivery_attempts (event_seq, subscription_seq, number, at, duration_ms) VALUES (3, 1, 1, '', 1)`, "16 0 17"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.subscribe(t, "a")
			f.change(t, func(tx *db.Tx) error {
				for range group {
					if err := tx.Enqueue("risk.created", map[string]any{}); err != nil {
						return err
					}
				}
				return tx.Audit(audit.Event{Action: "test.raised", Category: audit.System, Severity: audit.SeverityWrite})
			})
			f.settle(t, func(_ int64, n int) (delivery.State, delivery.Attempt) {
				if n == group { // all are claimed
					testkit.ExecSQL(t, f.File.Path(), row.change)
				}
				return delivery.Delivered, delivery.Attempt{Status: 200, Answer: []byte("ok")}
			})
			got := f.counted(t, `SELECT (SELECT count(*) FROM deliveries WHERE state = 'delivered') || ' ' ||
				(SELECT count(*) FROM deliveries WHERE state <> 'delivered') || ' ' || (SELECT count(*) FROM delivery_attempts)`)
			if got != row.want || f.queuedOf(t)["a"] != 0 {
				t.Errorf("got %s delivered, other deliveries and attempts, want %s; %d are queued", got, row.want, f.queuedOf(t)["a"])
			}
			if got := f.counted(t, "SELECT count(*) FROM delivery_attempts WHERE status = 200 AND answer = 'ok' AND error IS NULL AND duration_ms = 42"); got < "15" {
				t.Errorf("%s attempts have all values of the attempt", got)
			}
		})
	}
}

// TestReceiverCache_OfClaim checks that a delivery that was claimed some time ago is looked
// up again, and that a change of the subscription is seen at once.
func TestReceiverCache_OfClaim(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.subscribe(t, "a")
	f.enqueue(t, "1", "2")
	f.expand(t)
	claimed, err := delivery.SettleAndClaim(t.Context(), f.DB, nil, []delivery.Claim{{Subscription: 1, Limit: 2}}, time.Minute)
	if err != nil || len(claimed) != 2 {
		t.Fatal(len(claimed), err)
	}
	var cache delivery.ReceiverCache
	for _, path := range []string{"a", "b"} {
		f.update(t, id, db.Record{"url": "https://example.com/" + path})
		if to, err := cache.OfClaim(t.Context(), f.DB, claimed[0]); err != nil || to.URL != "https://example.com/"+path || to.Subscription != id {
			t.Errorf("got %+v, %v", to, err)
		}
	}
	time.Sleep(1100 * time.Millisecond) // the cache uses the clock of the machine
	testkit.ExecSQL(t, f.File.Path(), "UPDATE deliveries SET lease = 2 WHERE event_seq = 1")
	if to, err := cache.OfClaim(t.Context(), f.DB, claimed[0]); !db.Is(err, db.NotFound) {
		t.Errorf("the claim has ended: got %+v, %v", to, err)
	}
	if _, err := cache.OfClaim(t.Context(), f.DB, claimed[1]); err != nil {
		t.Error(err)
	}
	f.remove(t, id)
	f.subscribe(t, "c") // has the number of the removed one
	if to, err := cache.OfClaim(t.Context(), f.DB, claimed[1]); !db.Is(err, db.NotFound) {
		t.Errorf("the subscription was removed: got %+v, %v", to, err)
	}
}

// TestFanOut_RemovedOrganisation checks that an organisation without records and
// subscriptions can be removed although the outbox still has events of it. Their
// fan-outs end afterwards.
func TestFanOut_RemovedOrganisation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	by := db.Actor{Org: f.org.Org, ID: "system"}
	var err error
	if f.org, err = f.Orgs.Create(t.Context(), by, "acme", db.Enterprise); err != nil {
		t.Fatal(err)
	}
	a := f.subscribe(t, "a")
	f.change(t, func(tx *db.Tx) error {
		if err := tx.Enqueue("risk.created", map[string]any{}); err != nil {
			return err
		}
		return tx.Audit(audit.Event{Action: "e", Category: audit.System})
	})
	f.remove(t, a)
	if _, err := auth.New(f.DB).Memberships.RemoveOrganisation(t.Context(), by, "acme"); err != nil {
		t.Error(err)
	}
	f.expand(t)
	if got := f.counted(t, "SELECT (SELECT count(*) FROM deliveries) || ' ' || (SELECT count(*) FROM fan_outs)"); got != "0 0" {
		t.Errorf("got %s deliveries and fan-outs, want 0 0", got)
	}
}
