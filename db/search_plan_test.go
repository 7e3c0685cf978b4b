package db

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// TestSearchTriggers checks that the triggers of the file watch the texts that
// are searched, and number the types as the program does.
func TestSearchTriggers(t *testing.T) {
	t.Parallel()
	d := opened(t)
	if len(searchedResources) == 0 {
		t.Fatal("no resource is in the search index")
	}
	for _, r := range searchedResources {
		var text string
		if err := d.Row(t.Context(), "SELECT sql FROM sqlite_schema WHERE name = ?", r.Table+"_search_changed").Scan(&text); err != nil {
			t.Fatal(r.Type, err)
		}
		list := func(before string) string { return before + strings.Join(r.Searched, ", "+before) }
		for _, part := range []string{
			"AFTER UPDATE OF " + list("") + " ON " + r.Table + "\n", "(" + list("new.") + ")", "(" + list("old.") + ")",
			fmt.Sprintf("VALUES ((%d << %d) + (new.org_id << %d) + new.seq)", r.SearchNumber, kindShift, orgShift),
		} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: the trigger lacks %q:\n%s", r.Type, part, text)
			}
		}
	}
}

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

// TestUpdateSearchIndex_Rests checks that other writers have their turn while
// the index is filled, and that its work is bounded and ends.
func TestUpdateSearchIndex_Rests(t *testing.T) {
	t.Parallel()
	d := opened(t)
	org, err := d.Orgs.ByName(t.Context(), DefaultOrganisation)
	if err != nil {
		t.Fatal(err)
	}
	by := Actor{Org: org.Org, ID: "system"}
	err = d.Write(t.Context(), by, func(tx *Tx) error {
		for i := range 3 * indexedAtOnce {
			if _, err := tx.Put("risk", Record{"risk_id": fmt.Sprint("R", i), "description": strings.Repeat("a text ", 20)}); err != nil {
				return err
			}
		}
		return tx.Audit(AuditEvent{Action: "put", Category: DataChange})
	})
	if err != nil {
		t.Fatal(err)
	}
	before := d.WriteStats().Changes
	if err := d.UpdateSearchIndex(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := d.WriteStats().Changes
	transactions := uint64(0)
	for i := range after.Counts {
		transactions += after.Counts[i] - before.Counts[i]
	}
	if transactions < 3 {
		t.Errorf("%d transactions for %d records, want at least 3", transactions, 3*indexedAtOnce)
	}
	if behind, err := d.searchBehind(t.Context()); behind || err != nil {
		t.Error(behind, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.UpdateSearchIndex(ended); err == nil {
		t.Error("it ran after its context ended")
	}
}
