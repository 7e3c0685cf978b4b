package dashboard

import (
	"strings"
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
		{openRisks, []any{1, ""}, "USING COVERING INDEX risks_open (org_id=?)"},
		{openIncidents, []any{1}, "incidents_open (org_id=?)"},
	} {
		testkit.CheckPlan(t, path, row.want, row.query, row.args...)
	}
	// the groups of this one are few
	if plan := testkit.ExplainSQL(t, path, regimeDeadlines, 1, ""); !strings.Contains(plan, "USING COVERING INDEX obligations_due (org_id=?") {
		t.Errorf("got the plan\n%s", plan)
	}
	plan := testkit.ExplainSQL(t, path, changedRisks, 1, "", 1)
	for _, want := range []string{"SEARCH risks USING COVERING INDEX risks_by_updated (org_id=? AND updated_at>?)", "SEARCH e USING INDEX audit_events_by_resource (resource_id=?)"} {
		if !strings.Contains(plan, want) {
			t.Errorf("got the plan\n%swant %q", plan, want)
		}
	}
}

// TestKPITrendsPlan checks that SQLite reads only the latest periods of each key result.
func TestKPITrendsPlan(t *testing.T) {
	t.Parallel()
	plan := testkit.ExplainSQL(t, testdb.EmptyFile(t), kpiTrends, 1, "[]", 24)
	if want := "SEARCH c USING INDEX sqlite_autoindex_kpi_checkins_1 (kpi_seq=?)"; !strings.Contains(plan, want) || strings.Contains(plan, "TEMP B-TREE") {
		t.Errorf("want %q and no sort in:\n%s", want, plan)
	}
}
