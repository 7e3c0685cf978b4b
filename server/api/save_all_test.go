package api_test

import (
	"slices"
	"strings"
	"testing"

	"govsvc/server/api"
)

// TestSaveAll changes records of a type that the API writes and of one that it only reads.
// All of them change, or none does, by the rules of a single change.
func TestSaveAll(t *testing.T) {
	t.Parallel()
	f := newDemoFixture(t)
	first := func(object string, filters map[string]string, n int) (ids []string) {
		t.Helper()
		page, err := api.Browse(f.ctx, f.Caller, object, api.View{Limit: n, Filters: filters})
		if err != nil || len(page.Records) != n {
			t.Fatalf("%s: %d records, %v", object, len(page.Records), err)
		}
		for _, record := range page.Records {
			ids = append(ids, record["id"].(string))
		}
		return ids
	}
	member := func(object, name string, ids []string) string {
		t.Helper()
		var values []string
		for _, id := range ids {
			record, err := api.ReadRecord(f.ctx, f.Caller, object, id)
			if err != nil {
				t.Fatal(err)
			}
			value, _ := record[name].(string)
			if !slices.Contains(values, value) {
				values = append(values, value)
			}
		}
		return strings.Join(values, " ")
	}
	changes := func(ids []string, body map[string]any) (all []api.RecordChange) {
		for _, id := range ids {
			all = append(all, api.RecordChange{ID: id, Body: body})
		}
		return all
	}
	open := map[string]string{"severity": "CRITICAL", "status": "Open,InProgress"}
	risks, milestones := first("risk", open, 2), first("milestone", nil, 3)
	for _, row := range []struct {
		object string
		ids    []string
		body   map[string]any
		want   string // "" for a change that is made
	}{
		{"risk", risks, map[string]any{"owner_name": "Ada"}, ""},
		{"risk", risks, map[string]any{"status": "Closed"}, "invalid_parameter severity_change_reason"},
		{"risk", risks, map[string]any{"status": "Void"}, "invalid_parameter status"},
		{"risk", append(slices.Clone(risks), "0190d6a1-0000-7000-8000-000000000000"), map[string]any{"owner_name": "Eve"}, "not_found"},
		{"milestone", milestones, map[string]any{"status": "blocked", "owner_role": "Ada"}, ""},
		{"milestone", milestones, map[string]any{"status": "late"}, "invalid_parameter status"},
		{"milestone", milestones, map[string]any{"created_at": "2026-01-01T00:00:00Z"}, "invalid_parameter created_at"},
		{"roles", milestones, map[string]any{"status": "blocked"}, "method_not_allowed"},
		{"risk", make([]string, api.MaxSaveAll+1), map[string]any{"owner_name": "Eve"}, "invalid_parameter ids"},
	} {
		before := f.auditLog(t, 10)
		err := api.SaveAll(f.ctx, f.Caller, row.object, changes(row.ids, row.body))
		if got := refusal(err); row.want == "" && err != nil || !strings.HasPrefix(got, row.want) || row.want != "" && err == nil {
			t.Errorf("%s %v: got %q, want %q", row.object, row.body, got, row.want)
		}
		after := f.auditLog(t, 10)
		switch {
		case row.want != "":
			if !slices.Equal(before, after) {
				t.Errorf("%s %v: a refused change left audit events", row.object, row.body)
			}
		case !slices.Equal(after[len(row.ids):], before[:10-len(row.ids)]):
			t.Errorf("%s %v: got audit events\n%s", row.object, row.body, strings.Join(after, "\n"))
		default:
			for name, value := range row.body {
				if got := member(row.object, name, row.ids); got != value {
					t.Errorf("%s: got %s %q, want %q", row.object, name, got, value)
				}
			}
		}
	}
	if id, cause := api.FailedRecord(api.SaveAll(f.ctx, f.Caller, "risk", changes(risks, map[string]any{"status": "Closed"}))); id != risks[0] || refusal(cause) == "" {
		t.Errorf("got the error of the record %q: %v", id, cause)
	}
}
