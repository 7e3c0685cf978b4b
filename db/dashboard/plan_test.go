package dashboard

import (
	"path/filepath"
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/internal/testkit"
)

// TestOverviewPlans checks that SQLite reads each part of the overview through an
// index of its own.
func TestOverviewPlans(t *testing.T) {
	t.Parallel()
	store, err := db.Open(t.Context(), db.Options{Path: filepath.Join(t.TempDir(), "govsvc.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // the test only reads
	for name, row := range map[string]struct {
		query string
		args  []any
		want  string
	}{
		"open risks":     {openRisks, []any{1}, "risks_open (org_id=?)"},
		"open incidents": {openIncidents, []any{1}, "incidents_open (org_id=?)"},
		"running clocks": {"SELECT id" + runningClocks + " ORDER BY notification_deadline, seq LIMIT 10", []any{1}, "incidents_clocks (org_id=?)"},
		"renewals":       {"SELECT id" + ending + " ORDER BY contract_end, seq LIMIT 10", []any{1, "", ""}, "vendors_by_contract_end (org_id=? AND contract_end>? AND contract_end<?)"},
	} {
		plan := testkit.ExplainSQL(t, store.File.Path(), row.query, row.args...)
		if !strings.Contains(plan, row.want) || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("the plan of %s is\n%s", name, plan)
		}
	}
}
