package db

import (
	"encoding/json"
	"strings"
	"testing"

	"govsvc/db/resource"
)

// The JSON of a new record's changes is that of the changes in the general form,
// which other imports store.
func TestColumnSet_AppendGiven(t *testing.T) {
	r := &storedResource{Resource: &resource.Resource{
		Table: "risks", Derived: []string{"roadmap_version"}, Internal: []string{"untreated_baseline"},
		JSON: []string{"phases"}, Booleans: []string{"notification_required"},
	}}
	defaults := map[string]map[string]any{"risks": {"status": "Open", "sequence": int64(1)}}
	set := &columnSet{resource: r, names: []string{"title", "description", "owner_name", "untreated_baseline", "phases", "notification_required", "status"}}
	set.members = newMembers(&DB{defaults: defaults}, r, set)
	long := strings.Repeat("é", 2048)
	for name, values := range map[string][]any{
		"all":   {"A \"title\"", "text", "Head", "HIGH", `["a",{"b":1}]`, 1, "Closed"},
		"nulls": {nil, nil, nil, "HIGH", nil, nil, nil},
		"long":  {long, "text", nil, nil, `["` + long + `"]`, 0, "Open"},
	} {
		record := Record{"roadmap_version": json.Number("7")}
		got := set.appendChanges(nil, record, values)
		if want := set.changes(record, values).Digested().AppendJSON(nil); string(got) != string(want) || !json.Valid(got) {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
	if got := string((&columnSet{}).appendChanges(nil, nil, nil)); got != "{}" {
		t.Errorf("no members: got %s", got)
	}
}
