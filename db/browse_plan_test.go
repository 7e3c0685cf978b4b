package db

import (
	"regexp"
	"strings"
	"testing"

	"govsvc/db/resource"
)

// TestBrowsePlans pins how SQLite finds the first page of each family in the
// API's order, and the pages around a cursor: along an index, without a sort of
// its own.
func TestBrowsePlans(t *testing.T) {
	t.Parallel()
	d := opened(t)
	org, err := d.Orgs.ByName(t.Context(), DefaultOrganisation)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range resource.Pages() {
		for _, place := range []string{"", forwards, backwards} {
			b, err := d.browsing(org, r.Type, BrowseQuery{})
			if err != nil {
				t.Fatal(err)
			}
			if place != "" {
				if err := b.start(b.cursor(place, position{"2026-10-01T12:00:00.000Z", "x"})); err != nil {
					t.Fatal(err)
				}
			}
			query, args := b.statement(25)
			plan := explain(t, d, query, args)
			passes := strings.NewReplacer("SCAN p\n", "", "SCAN (subquery-5)\n", "").Replace(plan)
			if !served.MatchString(plan) && !covered.MatchString(plan) || strings.Contains(passes, "SCAN") || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("%s, cursor %q:\n%s", r.Type, place, plan)
			}
		}
	}
}

var covered = regexp.MustCompile(`SEARCH \w+ USING COVERING INDEX \w+ \(org_id=\?`)

// TestAuditSearchPlans pins the reads of the audit log by pages.
func TestAuditSearchPlans(t *testing.T) {
	t.Parallel()
	d := opened(t)
	history, args := AuditSearch{ResourceID: "x", ResourceType: "risk", Limit: 10}.statement([]any{1, 2, "", "~", 3, 4})
	search, searchArgs := AuditSearch{Actor: "x", Action: "y", Limit: 10}.statement([]any{1, 2, "", "~", 3, 4})
	for name, test := range map[string]struct {
		query string
		args  []any
		has   string
	}{
		"a record's history":        {history, args, "audit_events_by_resource (resource_id=? AND rowid<?)"},
		"a search of the audit log": {search, searchArgs, "audit_events_by_org (org_id=? AND seq>? AND seq<?)"},
	} {
		plan := explain(t, d, test.query, test.args)
		if !strings.Contains(plan, test.has) || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s:\n%s", name, plan)
		}
	}
}
