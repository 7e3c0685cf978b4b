package db_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/dashboard"
	"govsvc/db/resource"
	"govsvc/internal/testkit/testdb"
)

// TestCursor_AnyKey reads pages of lists that are ordered by a natural key. Each record
// occurs once, for keys with any characters and of any length.
func TestCursor_AnyKey(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	org := testdb.DefaultOrg(t, store)
	want := []string{
		"a", "a\x00b", "a\x00c", "a\x1eb", "a\x1fb", "a\nb", `a"\b`, strings.Repeat("x", 200), strings.Repeat("名", 200), strings.Repeat("😀", 200),
	}
	slices.Sort(want)
	put(t, store, "signal", len(want), func(i int) db.Record {
		return db.Record{"signal_type": want[i], "module_id": "m", "as_of": "2026-03-01T00:00:00Z"}
	})
	put(t, store, "kpi", len(want), func(i int) db.Record {
		return db.Record{
			"code": want[i], "statement": "s", "metric_name": "m", "unit": "%", "direction": "increase", "target_value": json.Number("9"),
			"measurement_frequency": "monthly", "status": "active",
		}
	})
	for _, limit := range []int{1, 3} {
		var listed []string
		for cursor, pages := "", 0; pages == 0 || cursor != "" && pages <= len(want); pages++ {
			page, err := store.List(t.Context(), org, resource.Signal, db.ListQuery{Limit: limit, Cursor: cursor})
			if err != nil {
				t.Fatalf("signals, %d a page, after %q: %v", limit, listed, err)
			}
			var signals []struct {
				Type string `json:"signal_type"`
			}
			if err := json.Unmarshal([]byte("["+string(page.Rows)+"]"), &signals); err != nil {
				t.Fatal(err)
			}
			for _, s := range signals {
				listed = append(listed, s.Type)
			}
			cursor = page.Next
		}
		if diff := cmp.Diff(want, listed); diff != "" {
			t.Errorf("signals, %d a page (-want +got):\n%s", limit, diff)
		}
		for object, member := range map[string]string{"signal": "signal_type", "kpi": "code"} {
			var browsed []string
			for cursor, pages := "", 0; pages == 0 || cursor != "" && pages <= len(want); pages++ {
				page := browse(t, store, org, object, dashboard.BrowseQuery{Sort: member, Limit: limit, Cursor: cursor})
				for _, text := range page.Records {
					var record map[string]any
					if err := json.Unmarshal(text, &record); err != nil {
						t.Fatal(err)
					}
					browsed = append(browsed, record[member].(string))
				}
				cursor = page.Next
			}
			if diff := cmp.Diff(want, browsed); diff != "" {
				t.Errorf("%s by %s, %d a page (-want +got):\n%s", object, member, limit, diff)
			}
		}
	}
}
