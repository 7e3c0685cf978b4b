package db

import (
	"database/sql"
	"flag"
	"fmt"
	"testing"

	"govsvc/db/audit"
)

var sinceRisks = flag.Int("since.risks", 100_000, "risks in the register of BenchmarkSince")

// BenchmarkSince reads a page of the risks changed since an instant. All of them are in the
// older half of the register.
//
//	go test ./db -run '^$' -bench Since -since.risks 1000000
func BenchmarkSince(b *testing.B) {
	d, org := opened(b)
	putRisks(b, d, org, *sinceRisks)
	file, err := sql.Open("sqlite", "file:"+d.File.Path()+"?_pragma=busy_timeout(10000)")
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	marked := 0
	for _, changed := range []int{1_000, 1_010, 2_000, 10_000, 50_000, 100_000, 500_000} {
		if changed > *sinceRisks/2 {
			break
		}
		// the first rows are the oldest of the list
		if _, err := file.ExecContext(b.Context(), "UPDATE risks SET updated_at = ? WHERE seq > ? AND seq <= ?", after, marked, changed); err != nil {
			b.Fatal(err)
		}
		marked = changed
		for _, by := range []struct {
			name    string
			filters map[string]string
		}{
			{"none", nil},
			{"severity", map[string]string{"severity": "LOW"}},
			{"status", map[string]string{"status": "Open"}},
			{"both", map[string]string{"severity": "LOW", "status": "Open"}},
		} {
			b.Run(fmt.Sprintf("changed=%d/filter=%s", changed, by.name), func(b *testing.B) {
				l, err := newListing(d, org, risks, ListQuery{Limit: 25, Filters: by.filters})
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if page, err := l.since(b.Context(), edge, usual); err != nil || len(page.Rows) == 0 {
						b.Fatal(err, page)
					}
				}
			})
		}
	}
}

// putRisks fills a register, in the order of its list from the oldest on.
func putRisks(b *testing.B, d *DB, org Organisation, n int) {
	b.Helper()
	severities := []string{"CRITICAL", "HIGH", "MEDIUM", "LOW"}
	statuses := []string{"Open", "InProgress", "Mitigated", "Accepted", "Closed"}
	for i := 0; i < n; {
		err := d.Write(b.Context(), Actor{Org: org.Org, ID: "system"}, func(tx *Tx) error {
			for until := min(n, i+10_000); i < until; i++ {
				if _, err := tx.Put("risk", Record{
					"risk_id": fmt.Sprintf("LOAD-%07d", i), "title": "Drift", "likelihood": "POSSIBLE",
					"description": "The scoring model drifts from the population it was trained on, and the owners do not notice.",
					"severity":    severities[i%len(severities)], "status": statuses[i%len(statuses)],
					"created_at": fmt.Sprintf("2026-01-%02dT%02d:%02d:%02d.%03dZ", 1+i/86_400_000, i/3_600_000%24, i/60_000%60, i/1000%60, i%1000),
					"updated_at": before,
				}); err != nil {
					return err
				}
			}
			return tx.Audit(audit.Event{Action: "test", Category: audit.DataChange, Severity: audit.SeverityWrite})
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
