package db

import (
	"strings"
	"testing"
)

// TestSearchPlan checks that the candidates of a search lead to the records.
func TestSearchPlan(t *testing.T) {
	t.Parallel()
	d := opened(t)
	org, err := d.Orgs.ByName(t.Context(), DefaultOrganisation)
	if err != nil {
		t.Fatal(err)
	}
	b, err := d.browsing(org, "risk", BrowseQuery{Words: []string{"model", "x"}, Filters: map[string][]string{"status": {"Open"}}})
	if err != nil {
		t.Fatal(err)
	}
	source := b.source()
	plan := explain(t, d, "SELECT seq FROM "+source+" WHERE org_id = ?1"+b.where, b.args)
	if !strings.Contains(plan, "VIRTUAL TABLE INDEX") || !strings.Contains(plan, "SEARCH risks USING INTEGER PRIMARY KEY (rowid=?)") || strings.Contains(plan, "TEMP B-TREE") {
		t.Error(plan)
	}
}
