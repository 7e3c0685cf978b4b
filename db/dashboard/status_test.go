package dashboard_test

import (
	"fmt"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/dashboard"
	"govsvc/db/delivery"
	"govsvc/db/resource"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// TestReadStatus checks the state of a file with three risks and two subscriptions:
// of each one's deliveries one is dead, one arrived and one waits. The second
// subscription is paused.
func TestReadStatus(t *testing.T) {
	t.Parallel()
	store := testdb.Open(t, db.Options{})
	write := func(change func(*db.Tx) error) {
		t.Helper()
		if err := store.Write(t.Context(), db.Actor{Org: 1, ID: "system"}, change); err != nil {
			t.Fatal(err)
		}
	}
	var second db.Object
	for _, path := range []string{"a", "b"} {
		write(func(tx *db.Tx) (err error) {
			second, _, err = tx.CreateSubscription(db.Record{"url": "https://example.com/" + path})
			return err
		})
	}
	for i := range 3 {
		write(func(tx *db.Tx) error {
			return testdb.PutRisk(tx, fmt.Sprint(i))
		})
	}
	due := testkit.Start.Add(time.Hour)
	settleDeliveries(t, store, due)
	write(func(tx *db.Tx) error {
		_, err := tx.UpdateSubscription(second.ID, db.Record{"active": false})
		return err
	})

	s, err := dashboard.ReadStatus(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	if s.Path != store.File.Path() || s.Size == 0 || s.Size%s.PageSize != 0 || s.WALSize == 0 || s.Pages < 50 || s.FreePages < 0 {
		t.Errorf("the file: %+v", s)
	}
	if s.Queued != 1 || s.OldestDue == nil || *s.OldestDue != db.Timestamp(due) || s.DeadLetters != 2 || s.AuditEvents != 6 {
		t.Errorf("the queue: %+v, oldest %v", s, s.OldestDue)
	}
	if len(s.Counts) != len(resource.Types()) || s.Counts[1] != (dashboard.RecordCount{Object: "risk", Count: 3}) || s.Counts[0].Count != 0 {
		t.Errorf("counts: %+v", s.Counts)
	}
}

// settleDeliveries makes the deliveries of all events. Of each subscription the
// first becomes a dead letter, the second arrives and the third is due later.
func settleDeliveries(t *testing.T, store *db.DB, due time.Time) {
	t.Helper()
	if _, err := delivery.RunRound(t.Context(), store, delivery.Round{Expand: true}); err != nil {
		t.Fatal(err)
	}
	var settled []delivery.Settlement
	for subscription := range int64(2) {
		claimed, err := delivery.SettleAndClaim(t.Context(), store, nil, []delivery.Claim{{Subscription: subscription + 1, Limit: 3}}, time.Minute)
		if err != nil || len(claimed) != 3 {
			t.Fatal(len(claimed), err)
		}
		for i, state := range []delivery.State{delivery.Dead, delivery.Delivered, delivery.Pending} {
			settled = append(settled, delivery.Settlement{
				ClaimKey: claimed[i].ClaimKey, State: state, Counts: true, DueAt: due,
				Attempt: &delivery.Attempt{At: testkit.Start, Duration: 42 * time.Millisecond, Status: 500},
			})
		}
	}
	if _, err := delivery.SettleAndClaim(t.Context(), store, settled, nil, time.Minute); err != nil {
		t.Fatal(err)
	}
}
