package db_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/internal/testkit"
)

func (p *post) change(t *testing.T, run func(*db.Tx) error) {
	t.Helper()
	if err := p.Write(t.Context(), db.Actor{Org: p.org.Org, ID: "system"}, run); err != nil {
		t.Fatal(err)
	}
}

func (p *post) update(t *testing.T, id string, record db.Record) {
	t.Helper()
	p.change(t, func(tx *db.Tx) error { _, err := tx.UpdateSubscription(id, record); return err })
}

func (p *post) remove(t *testing.T, id string) {
	t.Helper()
	p.change(t, func(tx *db.Tx) error { return tx.DeleteSubscription(id) })
}

// counted is the number of rows that a query counts.
func (p *post) counted(t *testing.T, query string) string {
	t.Helper()
	for text := range testkit.CountSQL(t, p.Path(), query) {
		return text
	}
	return ""
}

// queuedOf is what is queued for each subscription, by the last part of its URL.
func (p *post) queuedOf(t *testing.T) map[string]int {
	t.Helper()
	queued := map[string]int{}
	err := p.SubscriptionsHealth(t.Context(), p.org.Org, func(h db.SubscriptionHealth) error {
		queued[h.URL[len("https://example.com/"):]] = h.Queued
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return queued
}

// TestFanOut_Receivers checks which subscriptions receive an event whose
// deliveries are made later: those that were active and matched when it was
// raised, except those deleted since.
func TestFanOut_Receivers(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		before, after func(p *post, t *testing.T, a, b string)
		want          map[string]int
	}{
		"both": {want: map[string]int{"a": 1, "b": 1}},
		"a subscription made after the event": {
			after: func(p *post, t *testing.T, _, _ string) { t.Helper(); p.subscribe(t, "c") },
			want:  map[string]int{"a": 1, "b": 1, "c": 0},
		},
		"one that takes the number of a deleted one": {
			after: func(p *post, t *testing.T, _, b string) { t.Helper(); p.remove(t, b); p.subscribe(t, "c") },
			want:  map[string]int{"a": 1, "c": 0},
		},
		"one paused before the event": {
			before: func(p *post, t *testing.T, a, _ string) { t.Helper(); p.update(t, a, db.Record{"active": false}) },
			after:  func(p *post, t *testing.T, a, _ string) { t.Helper(); p.update(t, a, db.Record{"active": true}) },
			want:   map[string]int{"a": 0, "b": 1},
		},
		"one paused after the event": {
			after: func(p *post, t *testing.T, a, _ string) { t.Helper(); p.update(t, a, db.Record{"active": false}) },
			want:  map[string]int{"a": 1, "b": 1},
		},
		"one for other events": {
			before: func(p *post, t *testing.T, a, _ string) {
				t.Helper()
				p.update(t, a, db.Record{"event_types": []any{"roadmap.updated"}})
			},
			after: func(p *post, t *testing.T, a, _ string) {
				t.Helper()
				p.update(t, a, db.Record{"event_types": []any{}})
			},
			want: map[string]int{"a": 0, "b": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := openPost(t)
			a, b := p.subscribe(t, "a"), p.subscribe(t, "b")
			p.raise(t, "earlier") // makes a receiver set
			p.expand(t)
			p.settle(t, func(int64, int) (db.DeliveryState, db.Attempt) { return db.Delivered, db.Attempt{Status: 200} })
			if row.before != nil {
				row.before(p, t, a, b)
			}
			p.raise(t, "1")
			if got := p.counted(t, "SELECT count(*) FROM deliveries WHERE state = 'pending'"); got != "0" {
				t.Errorf("the write made %s deliveries", got)
			}
			if row.after != nil {
				row.after(p, t, a, b)
			}
			if diff := cmp.Diff(row.want, p.queuedOf(t)); diff != "" {
				t.Errorf("queued before the deliveries are made (-want +got):\n%s", diff)
			}
			p.expand(t)
			if diff := cmp.Diff(row.want, p.queuedOf(t)); diff != "" {
				t.Errorf("queued after the deliveries are made (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFanOut_CountsUnexpanded checks that what waits for its deliveries counts as
// queued everywhere.
func TestFanOut_CountsUnexpanded(t *testing.T) {
	t.Parallel()
	p := openPost(t)
	a, b := p.subscribe(t, "a"), p.subscribe(t, "b")
	p.raise(t, "1", "2", "3")
	p.update(t, b, db.Record{"active": false})
	first := db.Timestamp(at.Add(time.Minute))
	for _, when := range []string{"before", "after"} {
		stats, err := p.QueueStats(t.Context())
		if err != nil || stats.Due != 3 || stats.Paused != 3 || stats.Later != 0 || stats.Oldest != 2*time.Minute {
			t.Errorf("%s: %+v, %v", when, stats, err)
		}
		status, err := p.Status(t.Context())
		if err != nil || status.Queued != 3 || status.OldestDue == nil || *status.OldestDue != first {
			t.Errorf("%s: %+v, %v", when, status, err)
		}
		if n, oldest, err := p.Stuck(t.Context(), p.now); n != 2 || oldest != first || err != nil {
			t.Errorf("%s: %d stuck since %s, %v", when, n, oldest, err)
		}
		h, err := p.DeliveryHealth(t.Context(), p.org.Org, a)
		if err != nil || h.Pending != 3 || h.OldestPending == nil || *h.OldestPending != first {
			t.Errorf("%s: %+v, %v", when, h, err)
		}
		p.expand(t)
	}
}

// TestFanOut_RemovesFormerSets checks that receiver sets do not pile up with
// changes of the subscriptions.
func TestFanOut_RemovesFormerSets(t *testing.T) {
	t.Parallel()
	p := openPost(t)
	a := p.subscribe(t, "a")
	for i := range 5 {
		p.raise(t, fmt.Sprint(i))
		p.update(t, a, db.Record{"event_types": []any{[]string{"risk.created", "roadmap.updated"}[i%2], "risk.created"}})
		p.expand(t)
	}
	for range 5 {
		p.raise(t, "more")
		p.expand(t)
	}
	if got := p.counted(t, "SELECT (SELECT count(*) FROM receiver_sets) || ' ' || (SELECT count(*) FROM receiver_set_members) || ' ' || (SELECT count(*) FROM fan_outs)"); got != "1 1 0" {
		t.Errorf("got %s sets, members and fan-outs, want 1 1 0", got)
	}
}

// TestQueueLimit fills a queue: the oldest deliveries become dead letters with a
// reason, and a replay goes as far as the queue has room.
func TestQueueLimit(t *testing.T) {
	t.Parallel()
	p := openPost(t)
	id := p.subscribe(t, "a")
	const excess = 7
	p.change(t, func(tx *db.Tx) error {
		for range db.QueueLimit + excess {
			if err := tx.Enqueue("risk.created", map[string]any{}); err != nil {
				return err
			}
		}
		return tx.Audit(db.AuditEvent{Action: "test.raised", Category: db.System, Severity: db.SeverityWrite})
	})
	p.expand(t)
	dead := p.dead(t)
	if got := p.queuedOf(t)["a"]; got != db.QueueLimit || len(dead) != excess {
		t.Fatalf("%d queued and %d dead letters, want %d and %d", got, len(dead), db.QueueLimit, excess)
	}
	want := "The queue of the subscription was full: 10000 newer deliveries were waiting."
	page, err := p.Deliveries(t.Context(), p.org, db.DeliveryQuery{Subscription: id, State: db.Dead, Limit: 100})
	if err != nil || len(page.Deliveries) != excess {
		t.Fatal(len(page.Deliveries), err)
	}
	for i, l := range page.Deliveries {
		if l.Number != int64(excess-i) || l.Reason == nil || *l.Reason != want || dead[i].Reason == nil || *dead[i].Reason != want {
			t.Errorf("dead letter %+v, want one of the oldest with the reason", l)
		}
	}
	by := db.Actor{Org: p.org.Org, ID: "system"}
	if n, err := p.ReplayDeadLetters(t.Context(), by, dead[0].ID); n != 0 || !db.Is(err, db.Conflict) {
		t.Errorf("replayed %d into a full queue, %v", n, err)
	}
	if n, err := p.ReplayDeadLetters(t.Context(), by); n != 0 || err != nil {
		t.Errorf("replayed %d into a full queue, %v", n, err)
	}
	claimed, err := p.Deliver(t.Context(), nil, []db.Claim{{Subscription: 1, Limit: 3}}, time.Minute)
	if err != nil || len(claimed) != 3 {
		t.Fatal(len(claimed), err)
	}
	var settled []db.Settlement
	for _, d := range claimed {
		settled = append(settled, db.Settlement{DeliveryKey: d.DeliveryKey, Attempt: &db.Attempt{At: p.now, Status: 200}, State: db.Delivered, Counts: true})
	}
	if _, err := p.Deliver(t.Context(), settled, nil, time.Minute); err != nil {
		t.Fatal(err)
	}
	if n, err := p.ReplayDeadLetters(t.Context(), by); n != 3 || err != nil {
		t.Errorf("replayed %d, want the 3 that fit, %v", n, err)
	}
	if got := p.queuedOf(t)["a"]; got != db.QueueLimit || len(p.dead(t)) != excess-3 {
		t.Errorf("%d queued and %d dead letters after the replay", got, len(p.dead(t)))
	}
}

// TestQueueLimit_KeepsDelivered checks that a delivery that leaves a full queue
// while it is sent counts as delivered if the receiver acknowledges it.
func TestQueueLimit_KeepsDelivered(t *testing.T) {
	t.Parallel()
	p := openPost(t)
	p.subscribe(t, "a")
	p.raise(t, "1")
	p.expand(t)
	claimed, err := p.Deliver(t.Context(), nil, []db.Claim{{Subscription: 1, Limit: 1}}, time.Minute)
	if err != nil || len(claimed) != 1 {
		t.Fatal(len(claimed), err)
	}
	testkit.ExecSQL(t, p.Path(), "UPDATE delivery_queues SET queued = 10000")
	p.raise(t, "2")
	p.expand(t)
	if dead := p.dead(t); len(dead) != 1 {
		t.Fatalf("%d dead letters, want 1", len(dead))
	}
	settled := db.Settlement{DeliveryKey: claimed[0].DeliveryKey, Attempt: &db.Attempt{At: p.now, Status: 200}, State: db.Delivered, Counts: true}
	if _, err := p.Deliver(t.Context(), []db.Settlement{settled}, nil, time.Minute); err != nil {
		t.Fatal(err)
	}
	if dead := p.dead(t); len(dead) != 0 {
		t.Errorf("%d dead letters after the receiver acknowledged, want none", len(dead))
	}
}

func (p *post) dead(t *testing.T) (list []db.DeadLetter) {
	t.Helper()
	if err := p.DeadLetters(t.Context(), p.org.Org, func(l db.DeadLetter) error { list = append(list, l); return nil }); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestFanOut_RemovedOrganisation checks that an organisation without records and
// subscriptions can be removed although the outbox still has events of it. Their
// fan-outs end afterwards.
func TestFanOut_RemovedOrganisation(t *testing.T) {
	t.Parallel()
	p := openPost(t)
	by := db.Actor{Org: p.org.Org, ID: "system"}
	var err error
	if p.org, err = p.Orgs.Create(t.Context(), by, "acme", db.Enterprise); err != nil {
		t.Fatal(err)
	}
	a := p.subscribe(t, "a")
	p.change(t, func(tx *db.Tx) error {
		if err := tx.Enqueue("risk.created", map[string]any{}); err != nil {
			return err
		}
		return tx.Audit(db.AuditEvent{Action: "e", Category: db.System})
	})
	p.remove(t, a)
	if _, err := auth.New(p.DB).Memberships.RemoveOrganisation(t.Context(), by, "acme"); err != nil {
		t.Error(err)
	}
	p.expand(t)
	if got := p.counted(t, "SELECT (SELECT count(*) FROM deliveries) || ' ' || (SELECT count(*) FROM fan_outs)"); got != "0 0" {
		t.Errorf("got %s deliveries and fan-outs, want 0 0", got)
	}
}
