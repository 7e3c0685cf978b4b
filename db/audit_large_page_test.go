package db_test

import (
	"errors"
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/internal/testkit/testdb"
)

// TestAuditEvents_LargePage checks that a page that turns out to be large holds no events,
// because its caller must wait for memory then.
func TestAuditEvents_LargePage(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	org := testdb.DefaultOrg(t, store)
	err := store.Write(t.Context(), db.Actor{Org: org.Org, ID: "system"}, func(tx *db.Tx) error {
		for range 10 {
			event := audit.Event{Action: "e", Category: audit.System, Metadata: audit.Metadata{"text": strings.Repeat("x", 1000)}}
			if err := tx.Audit(event); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	page, err := store.Audit.Events(t.Context(), org, db.AuditQuery{Limit: 10, Size: db.PageSize{Small: 5000}})
	if !errors.Is(err, db.ErrLargePage) {
		t.Fatalf("got %v, want ErrLargePage", err)
	}
	if len(page.Events) != 0 {
		t.Errorf("got %d events, want none", len(page.Events))
	}
}
