package search_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/db/search"
	"govsvc/internal/testkit/testdb"
)

// TestTriggers checks that the triggers of the tables cover the searched columns and use
// the search numbers of the resources.
func TestTriggers(t *testing.T) {
	t.Parallel()
	store := testdb.Open(t, db.Options{})
	if len(search.Resources) == 0 {
		t.Fatal("no resource is in the search index")
	}
	for _, r := range search.Resources {
		var text string
		if err := store.Row(t.Context(), "SELECT sql FROM sqlite_schema WHERE name = ?", r.Table+"_search_changed").Scan(&text); err != nil {
			t.Fatal(r.Type, err)
		}
		list := func(before string) string { return before + strings.Join(r.Searched, ", "+before) }
		for _, part := range []string{
			"AFTER UPDATE OF " + list("") + " ON " + r.Table + "\n", "(" + list("new.") + ")", "(" + list("old.") + ")",
			fmt.Sprintf("VALUES ((%d << %d) + (new.org_id << %d) + new.seq)", r.SearchNumber, search.KindShift, search.OrgShift),
		} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: the trigger lacks %q:\n%s", r.Type, part, text)
			}
		}
	}
}

// TestUpdate_SmallTransactions checks that the index is filled in several transactions,
// is complete at the end, and that Update stops when its context ends.
func TestUpdate_SmallTransactions(t *testing.T) {
	t.Parallel()
	store := testdb.Open(t, db.Options{})
	err := store.Write(t.Context(), db.Actor{Org: 1, ID: "system"}, func(tx *db.Tx) error {
		for i := range 3 * search.MaxRecords {
			if _, err := tx.Put("risk", db.Record{"risk_id": fmt.Sprint("R", i), "description": strings.Repeat("a text ", 20)}); err != nil {
				return err
			}
		}
		return tx.Audit(audit.Event{Action: "put", Category: audit.DataChange})
	})
	if err != nil {
		t.Fatal(err)
	}
	before := store.File.WriteStats().Changes
	if err := store.SearchIndex.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := store.File.WriteStats().Changes
	transactions := uint64(0)
	for i := range after.Counts {
		transactions += after.Counts[i] - before.Counts[i]
	}
	if transactions < 3 {
		t.Errorf("%d transactions for %d records, want at least 3", transactions, 3*search.MaxRecords)
	}
	if behind, err := search.IsBehind(t.Context(), store.SearchIndex); behind || err != nil {
		t.Error(behind, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := store.SearchIndex.Update(ended); err == nil {
		t.Error("got no error after the context ended")
	}
}
