package db

import (
	"strings"
	"testing"

	"govsvc/internal/testkit"
)

// TestSearchPlan checks that the candidates of a search lead to the records.
func TestSearchPlan(t *testing.T) {
	t.Parallel()
	d, org := opened(t)
	b, err := newBrowsing(d, org, "risk", BrowseQuery{Words: []string{"model", "x"}, Filters: map[string][]string{"status": {"Open"}}})
	if err != nil {
		t.Fatal(err)
	}
	source := b.source()
	plan := testkit.ExplainSQL(t, d.File.Path(), "SELECT seq FROM "+source+" WHERE org_id = ?1"+b.where, b.args...)
	if !strings.Contains(plan, "VIRTUAL TABLE INDEX") || !strings.Contains(plan, "SEARCH risks USING INTEGER PRIMARY KEY (rowid=?)") || strings.Contains(plan, "TEMP B-TREE") {
		t.Errorf("got the plan\n%s", plan)
	}
}
