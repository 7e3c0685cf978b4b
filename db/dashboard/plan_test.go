package dashboard

import (
	"testing"

	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// TestOverviewPlans checks that SQLite reads each part of the overview through a
// separate index.
func TestOverviewPlans(t *testing.T) {
	t.Parallel()
	path := testdb.EmptyFile(t)
	for _, row := range []struct {
		query string
		args  []any
		want  string
	}{
		{openRisks, []any{1}, "risks_open (org_id=?)"},
		{openIncidents, []any{1}, "incidents_open (org_id=?)"},
		{"SELECT id" + runningClocks + " ORDER BY notification_deadline, seq LIMIT 10", []any{1}, "incidents_clocks (org_id=?)"},
		{"SELECT id" + ending + " ORDER BY contract_end, seq LIMIT 10", []any{1, "", ""}, "vendors_by_contract_end (org_id=? AND contract_end>? AND contract_end<?)"},
	} {
		testkit.CheckPlan(t, path, row.want, row.query, row.args...)
	}
}
