package dashboard

import (
	"regexp"
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// TestBrowsePlans checks that SQLite reads the first page of each resource, and the pages
// before and after a cursor, along an index and without sorting.
func TestBrowsePlans(t *testing.T) {
	t.Parallel()
	store := testdb.Open(t, db.Options{})
	org := testdb.DefaultOrg(t, store)
	for _, r := range resource.Pages() {
		for _, place := range []string{"", forwards, backwards} {
			b, err := newBrowsing(t.Context(), store, org, r.Type, BrowseQuery{})
			if err != nil {
				t.Fatal(err)
			}
			if place != "" {
				if err := b.start(b.cursor(place, position{"2026-10-01T12:00:00.000Z", "x"})); err != nil {
					t.Fatal(err)
				}
			}
			query, args := b.statement(25)
			plan := testkit.ExplainSQL(t, store.File.Path(), query, args...)
			passes := strings.NewReplacer("SCAN p\n", "", "SCAN (subquery-5)\n", "", "SCAN (subquery-7)\n", "").Replace(plan)
			if !served.MatchString(plan) && !covered.MatchString(plan) || strings.Contains(passes, "SCAN") || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("%s, cursor %q: got the plan\n%s", r.Type, place, plan)
			}
		}
	}
}

var (
	served  = regexp.MustCompile(`SEARCH \w+ USING INDEX \w+ \(org_id=\?`)
	covered = regexp.MustCompile(`SEARCH \w+ USING COVERING INDEX \w+ \(org_id=\?`)
)

// TestSearchPlan checks that the candidates of a search lead to the records.
func TestSearchPlan(t *testing.T) {
	t.Parallel()
	store := testdb.Open(t, db.Options{})
	org := testdb.DefaultOrg(t, store)
	b, err := newBrowsing(t.Context(), store, org, "risk", BrowseQuery{Words: []string{"model", "x"}, Filters: map[string][]string{"status": {"Open"}}})
	if err != nil {
		t.Fatal(err)
	}
	source := b.source()
	plan := testkit.ExplainSQL(t, store.File.Path(), "SELECT seq FROM "+source+" WHERE org_id = ?1"+b.where, b.args...)
	if !strings.Contains(plan, "VIRTUAL TABLE INDEX") || !strings.Contains(plan, "SEARCH risks USING INTEGER PRIMARY KEY (rowid=?)") || strings.Contains(plan, "TEMP B-TREE") {
		t.Errorf("got the plan\n%s", plan)
	}
}

// TestBrowsePlans_Choices checks that the values of a filter are read from an index, one
// step for each, and that an index finds the records with one of them.
func TestBrowsePlans_Choices(t *testing.T) {
	t.Parallel()
	store := testdb.Open(t, db.Options{})
	org := testdb.DefaultOrg(t, store)
	for _, r := range resource.Pages() {
		for column, name := range r.Choices {
			query, err := choicesQuery(r, column)
			if err != nil {
				t.Fatal(err)
			}
			plan := testkit.ExplainSQL(t, store.File.Path(), query, org.Org)
			steps := regexp.MustCompile(`SEARCH `+r.Table+` USING COVERING INDEX \w+ \(org_id=\?( AND roadmap_id=\?)? AND `+column+`>\?\)`).FindAllString(plan, -1)
			named := name == "" || strings.Contains(plan, "SEARCH "+r.Table+" USING INDEX "+r.Table+"_by_regime (org_id=? AND "+column+"=?)")
			if len(steps) != 2 || !named || strings.Contains(plan, "TEMP B-TREE") || strings.Contains(plan, "SCAN "+r.Table) {
				t.Errorf("%s by %s: got the plan\n%s", r.Type, column, plan)
			}
			b, err := newBrowsing(t.Context(), store, org, r.Type, BrowseQuery{Filters: map[string][]string{r.FilterOf(column): {"x"}}})
			if err != nil {
				t.Fatal(err)
			}
			query, args := b.statement(25)
			plan = testkit.ExplainSQL(t, store.File.Path(), query, args...)
			if !strings.Contains(plan, " AND "+column+"=?") || strings.Contains(plan, "SCAN "+r.Table) {
				t.Errorf("%s with a %s: got the plan\n%s", r.Type, column, plan)
			}
		}
	}
}
