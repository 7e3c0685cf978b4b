package db_test

import (
	"fmt"
	"testing"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/internal/testkit/testdb"
)

// BenchmarkSearchAudit searches a log of 200,000 events.
func BenchmarkSearchAudit(b *testing.B) {
	store := newStore(b)
	org := testdb.DefaultOrg(b, store)
	for start := range 20 {
		by := testdb.Operator(b, store)
		by.ID = fmt.Sprintf("key:01993e0a-52c0-7c3e-9d2b-6f1f0c7a4b%02d", start)
		err := store.Write(b.Context(), by, func(tx *db.Tx) error {
			for i := range 10_000 {
				changes := audit.Changes{"status": {From: "Open", To: "InProgress"}, "owner_name": {To: "Head of Customer Care"}}
				if err := tx.AuditChange("risk", "updated", fmt.Sprint(start, "-", i%1000), changes); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	for _, row := range []struct {
		name string
		q    db.AuditSearch
	}{
		{"newest", db.AuditSearch{}},
		{"an unknown actor", db.AuditSearch{Actor: "unknown"}},
		{"a record's", db.AuditSearch{ResourceID: "3-7"}},
		{"an action of long ago", db.AuditSearch{ActionPrefix: "vendor.", Until: "2020-01-01"}},
	} {
		b.Run(row.name, func(b *testing.B) {
			row.q.Limit = 50
			for b.Loop() {
				if _, err := store.Audit.Search(b.Context(), org, row.q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
