package db_test

import (
	"context"
	"fmt"
	"testing"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/db/dashboard"
	"govsvc/internal/testkit/testdb"
)

// openLarge opens a data file with n risks whose values differ as in a real register.
func openLarge(t testing.TB, n int) (*db.DB, db.Organisation) {
	t.Helper()
	store := newStore(t)
	org := testdb.DefaultOrg(t, store)
	severities := []any{"CRITICAL", "HIGH", "MEDIUM", "LOW", nil}
	likelihoods := []any{"RARE", "UNLIKELY", "POSSIBLE", "LIKELY", "ALMOST_CERTAIN", nil}
	statuses := []any{"Open", "InProgress", "Mitigated", "Accepted", "Closed"}
	for start := 0; start < n; start += 10_000 {
		put(t, store, "risk", min(10_000, n-start), func(i int) db.Record {
			i += start
			return db.Record{
				"risk_id": fmt.Sprintf("RISK-%06d", i), "title": fmt.Sprintf("Risk %d of system %d", i, i%977),
				"description": fmt.Sprintf("What may happen number %d, in one or two sentences of the usual length, with a cause and an effect.", i),
				"severity":    severities[i%5], "likelihood": likelihoods[i%6], "status": statuses[i%7%5],
				"owner_name": fmt.Sprintf("Owner %d", i%53), "dimension": "OTHER",
				"mitigation_action": "Something is being done about it, step by step.",
				"target_date":       fmt.Sprintf("20%02d-%02d-%02d", 20+i%20, 1+i%12, 1+i%28),
				"created_at":        fmt.Sprintf("2026-%02d-%02dT%02d:%02d:00.000Z", 1+i%9, 1+i%28, i%24, i/24%60),
			}
		})
	}
	return store, org
}

// put writes n records in one transaction.
func put(t testing.TB, store *db.DB, object string, n int, record func(i int) db.Record) {
	t.Helper()
	err := store.Write(t.Context(), testdb.Operator(t, store), func(tx *db.Tx) error {
		for i := range n {
			if _, err := tx.Put(object, record(i)); err != nil {
				return err
			}
		}
		return tx.Audit(audit.Event{Action: "put", Category: audit.DataChange, Severity: audit.SeverityWrite})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// BenchmarkBrowse reads pages of 100,000 risks.
func BenchmarkBrowse(b *testing.B) {
	store, org := openLarge(b, 100_000)
	middle := func(sort string) string {
		page, err := dashboard.Browse(context.Background(), store, org, "risk", dashboard.BrowseQuery{Limit: 5000, Sort: sort})
		if err != nil {
			b.Fatal(err)
		}
		return page.Next
	}
	for _, row := range []struct {
		name string
		q    dashboard.BrowseQuery
	}{
		{"first page", dashboard.BrowseQuery{}},
		{"behind 5000", dashboard.BrowseQuery{Cursor: middle("")}},
		{"by severity", dashboard.BrowseQuery{Filters: map[string][]string{"severity": {"HIGH"}}}},
		{"by severity and likelihood", dashboard.BrowseQuery{Filters: map[string][]string{"severity": {"HIGH"}, "likelihood": {"RARE"}}}},
		{"by open statuses", dashboard.BrowseQuery{Filters: map[string][]string{"status": {"Open", "InProgress"}}}},
		{"sorted by severity", dashboard.BrowseQuery{Sort: "-severity"}},
		{"sorted by severity, behind 5000", dashboard.BrowseQuery{Sort: "-severity", Cursor: middle("-severity")}},
		{"sorted by title", dashboard.BrowseQuery{Sort: "title"}},
		{"sorted by updated", dashboard.BrowseQuery{Sort: "-updated_at"}},
		{"sorted by due date", dashboard.BrowseQuery{Sort: "target_date"}},
		{"overdue", dashboard.BrowseQuery{Due: dashboard.Due{Overdue: true}}},
		{"overdue, sorted by due date", dashboard.BrowseQuery{Due: dashboard.Due{Overdue: true}, Sort: "target_date"}},
		{"by a part of the owner", dashboard.BrowseQuery{Texts: map[string]string{"owner_name": "owner 1"}}},
		{"search that all match", dashboard.BrowseQuery{Words: []string{"risk"}}},
		{"search that few match", dashboard.BrowseQuery{Words: []string{"number", "99999"}}},
		{"search that none match", dashboard.BrowseQuery{Words: []string{"unobtainium"}}},
		{"search that none match, sorted", dashboard.BrowseQuery{Words: []string{"unobtainium"}, Sort: "title"}},
		{"search beyond ASCII", dashboard.BrowseQuery{Words: []string{"größe"}}},
	} {
		b.Run(row.name, func(b *testing.B) {
			row.q.Limit = 25
			for b.Loop() {
				if _, err := dashboard.Browse(b.Context(), store, org, "risk", row.q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOverview adds up a file of 100,000 risks and as many vendors and
// obligations.
func BenchmarkOverview(b *testing.B) {
	store, org := openLarge(b, 100_000)
	bands := []any{"CRITICAL", "HIGH", "MEDIUM", "LOW"}
	statuses := []any{"not_started", "in_progress", "compliant", "at_risk", "non_compliant", "not_applicable"}
	put(b, store, "vendor", 100_000, func(i int) db.Record {
		return db.Record{
			"vendor_key": fmt.Sprint("v", i), "vendor_name": "N", "category": "C", "initial_risk_band": bands[i%4],
			"contract_end": fmt.Sprintf("20%02d-%02d-%02d", 20+i%20, 1+i%12, 1+i%28),
		}
	})
	put(b, store, "obligation", 100_000, func(i int) db.Record {
		return db.Record{
			"obligation_key": fmt.Sprint("o", i), "regime_id": fmt.Sprint("r", i%12), "regime_name": "R", "jurisdiction": "EU", "title": "T",
			"priority_band": bands[i%4], "status": statuses[i%7%6], "owner_role": fmt.Sprintf("Owner %d", i%53),
			"target_date": fmt.Sprintf("20%02d-%02d-%02d", 20+i%20, 1+i%12, 1+i%28),
		}
	})
	b.Run("posture", func(b *testing.B) {
		for b.Loop() {
			if _, err := dashboard.ReadOverview(b.Context(), store, org, ""); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, owner := range []string{"", "Owner 7"} {
		b.Run("attention, owner "+owner, func(b *testing.B) {
			for b.Loop() {
				if _, err := dashboard.CountAttention(b.Context(), store, org, "", dashboard.AttentionQuery{Owner: owner}); err != nil {
					b.Fatal(err)
				}
				for _, urgency := range dashboard.Urgencies() {
					if _, err := dashboard.ReadAttention(b.Context(), store, org, "", dashboard.AttentionQuery{Owner: owner, Urgency: urgency, Limit: 6}); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
