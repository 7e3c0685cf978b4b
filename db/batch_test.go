package db_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/internal/testkit/testdb"
)

// TestWrite_BatchesWithFailures writes from many goroutines at once, so that changes share
// transactions. Some fail after they have appended to the audit log, and some change the
// subscriptions that receive the events of others. The log stays a chain of the successful
// changes, and each event has the receivers that existed before it.
func TestWrite_BatchesWithFailures(t *testing.T) {
	t.Parallel()
	for name, repeatable := range map[string]bool{"repeatable": true, "with savepoints": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newStore(t)
			org := testdb.DefaultOrg(t, store)
			by := db.Actor{Org: org.Org, ID: "ada"}
			write := store.Write
			if repeatable {
				write = store.WriteRepeatable
			}
			refused := errors.New("refused by the test")
			const writers, each = 24, 10
			var done sync.WaitGroup
			for w := range writers {
				done.Go(func() {
					for i := range each {
						fails := (w+i)%5 == 0
						err := write(t.Context(), by, func(tx *db.Tx) error {
							_, err := tx.Create(resource.Risk, db.Record{"description": fmt.Sprint(w, " ", i)})
							if w == 0 && i%4 == 1 && err == nil {
								_, _, err = tx.CreateSubscription(db.Record{"url": fmt.Sprintf("https://example.com/%d", i), "event_types": []any{"risk.created"}})
							}
							if fails && err == nil {
								err = refused
							}
							return err
						})
						if fails != errors.Is(err, refused) || !fails && err != nil {
							t.Errorf("writer %d, change %d: %v", w, i, err)
						}
					}
				})
			}
			done.Wait()
			var risks, events int
			if err := store.Row(t.Context(), "SELECT (SELECT count(*) FROM risks), (SELECT count(*) FROM audit_events WHERE action = 'risk.created')").Scan(&risks, &events); err != nil {
				t.Fatal(err)
			}
			if want := writers * each * 4 / 5; risks != want || events != want {
				t.Errorf("got %d risks and %d of their audit events, want %d", risks, events, want)
			}
			if _, broken, err := store.Audit.Verify(t.Context(), org.Org); broken != nil || err != nil {
				t.Errorf("the audit log is broken: %+v, %v", broken, err)
			}
			// An event of a risk has as many receivers as there were subscriptions before it.
			var wrong int
			if err := store.Row(t.Context(), `SELECT count(*) FROM audit_events a JOIN audit_events s ON s.action = 'webhook_subscription.created' AND s.seq < a.seq
				WHERE a.action = 'risk.created' AND NOT EXISTS (SELECT 1 FROM events e JOIN fan_outs f ON f.event_seq = e.seq
					JOIN receiver_set_members m ON m.set_seq = f.set_seq JOIN webhook_subscriptions w ON w.seq = m.subscription_seq
					WHERE w.id = s.resource_id AND json_extract(e.body, '$.data.risk.id') = a.resource_id)`).Scan(&wrong); err != nil {
				t.Fatal(err)
			}
			if wrong != 0 {
				t.Errorf("%d receivers are missing", wrong)
			}
		})
	}
}
