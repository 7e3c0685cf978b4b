package db

import (
	"regexp"
	"strings"
	"testing"

	"govsvc/db/resource"
	"govsvc/internal/testkit"
)

// TestBrowsePlans checks that SQLite reads the first page of each resource, and the pages
// before and after a cursor, along an index and without sorting.
func TestBrowsePlans(t *testing.T) {
	t.Parallel()
	d, org := opened(t)
	for _, r := range resource.Pages() {
		for _, place := range []string{"", forwards, backwards} {
			b, err := newBrowsing(d, org, r.Type, BrowseQuery{})
			if err != nil {
				t.Fatal(err)
			}
			if place != "" {
				if err := b.start(b.cursor(place, position{"2026-10-01T12:00:00.000Z", "x"})); err != nil {
					t.Fatal(err)
				}
			}
			query, args := b.statement(25)
			plan := testkit.ExplainSQL(t, d.File.Path(), query, args...)
			passes := strings.NewReplacer("SCAN p\n", "", "SCAN (subquery-5)\n", "").Replace(plan)
			if !served.MatchString(plan) && !covered.MatchString(plan) || strings.Contains(passes, "SCAN") || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("%s, cursor %q: got the plan\n%s", r.Type, place, plan)
			}
		}
	}
}

var covered = regexp.MustCompile(`SEARCH \w+ USING COVERING INDEX \w+ \(org_id=\?`)

// TestAuditSearchPlans checks how pages read the audit log.
func TestAuditSearchPlans(t *testing.T) {
	t.Parallel()
	d, _ := opened(t)
	history, args := AuditSearch{ResourceID: "x", ResourceType: "risk", Limit: 10}.statement([]any{1, 2, "", "~", 3, 4})
	search, searchArgs := AuditSearch{Actor: "x", Action: "y", Limit: 10}.statement([]any{1, 2, "", "~", 3, 4})
	testkit.CheckPlan(t, d.File.Path(), "audit_events_by_resource (resource_id=? AND rowid<?)", history, args...)
	testkit.CheckPlan(t, d.File.Path(), "audit_events_by_org (org_id=? AND seq>? AND seq<?)", search, searchArgs...)
}
