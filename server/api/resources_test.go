package api_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/db/resource"
	"govsvc/internal/testkit"
	"govsvc/server/api"
	"govsvc/server/openapi"
)

// The tests of this file compare the descriptors of package resource with the OpenAPI
// document. A descriptor may only use names of the document, and may not contradict it.

func eachResource(t *testing.T, check func(*testing.T, *openapi.Document, *resource.Resource)) {
	t.Helper()
	d := testkit.Document(t)
	for _, r := range resource.Records() {
		t.Run(r.Type, func(t *testing.T) {
			t.Parallel()
			check(t, d, r)
		})
	}
}

func fieldsOf(d *openapi.Document, r *resource.Resource) map[string]openapi.Field {
	fields := map[string]openapi.Field{}
	for _, field := range d.Fields(r.Type) {
		fields[field.Name] = field
	}
	return fields
}

func TestResources_Members(t *testing.T) {
	t.Parallel()
	eachResource(t, func(t *testing.T, d *openapi.Document, r *resource.Resource) {
		fields := fieldsOf(d, r)
		known := func(list string, members ...string) {
			for _, member := range members {
				if _, ok := fields[member]; !ok {
					t.Errorf("%s has %q, which the document does not have", list, member)
				}
			}
		}
		isInternal := func(column string) bool { return slices.Contains(r.Internal, column) }
		known("Key", slices.DeleteFunc(slices.Clone(r.Key), isInternal)...)
		known("Derived", r.Derived...)
		if to := r.Reference.To; to != nil {
			known("Reference", r.Reference.Member)
			if !slices.Contains(to.Key, r.Reference.By) {
				t.Errorf("refers to %s by %s, which is not its key", to.Type, r.Reference.By)
			}
		}
		known("Sorts", r.SortNames()...)
		known("Searched", r.Searched...)
		for _, filter := range r.ListFilters() {
			known("Filters", filter.Column)
		}
		for column, name := range r.Choices {
			known("Choices", column)
			if r.FilterOf(column) == "" {
				t.Errorf("Choices has %q, which is not a filter", column)
			}
			if name != "" {
				known("Choices", name)
			}
		}
		if r.List.OrderBy != "" {
			known("List.OrderBy", r.List.OrderBy)
		}
		if r.Page != nil {
			known("Page.Names", r.Page.Names...)
			known("Page.Columns", r.Page.Columns...)
			for _, c := range api.Columns(d, r) {
				if c.Description == "" {
					t.Errorf("column %s has no description", c.Name)
				}
			}
			shown := 0
			for _, c := range api.Columns(d, r) {
				if c.Default {
					shown++
				}
			}
			if shown != len(r.Page.Columns) {
				t.Errorf("%d default columns, want %d", shown, len(r.Page.Columns))
			}
			if r.Page.State != "" {
				known("Page.State", r.Page.State)
			}
		}
	})
}

// TestResources_Columns compares the columns in the descriptors with the types of the
// members.
// TestResources_Attention checks the members and the statuses of the rules for what
// needs attention.
func TestResources_Attention(t *testing.T) {
	t.Parallel()
	eachResource(t, func(t *testing.T, d *openapi.Document, r *resource.Resource) {
		a := r.Attention
		if a == nil {
			return
		}
		fields := fieldsOf(d, r)
		for _, member := range []string{a.Due, a.Owner, a.Band, a.Required, a.Done} {
			if _, ok := fields[member]; !ok && member != "" {
				t.Errorf("Attention has %q, which the document does not have", member)
			}
		}
		for _, status := range a.Closed {
			if !slices.Contains(fields["status"].Enum, status) {
				t.Errorf("Closed has %q, which is no status", status)
			}
		}
		if a.Task == "" || a.Days <= 0 || len(a.Closed) == 0 || r.Page == nil {
			t.Errorf("got %+v, want a task, days, closed statuses and pages", a)
		}
	})
}

func TestResources_Columns(t *testing.T) {
	t.Parallel()
	// members that are not columns of the resource's own table
	elsewhere := map[string][]string{"incident": {"timeline"}}
	eachResource(t, func(t *testing.T, d *openapi.Document, r *resource.Resource) {
		var instants, structured, booleans []string
		for _, f := range d.Fields(r.Type) {
			switch {
			case slices.Contains([]string{"created_at", "updated_at"}, f.Name) || slices.Contains(elsewhere[r.Type], f.Name):
			case f.Format == "date-time":
				instants = append(instants, f.Name)
			case f.Type == "array" || f.Type == "object":
				structured = append(structured, f.Name)
			case f.Type == "boolean":
				booleans = append(booleans, f.Name)
			}
		}
		for name, lists := range map[string][2][]string{
			"Instants": {r.Instants, instants}, "JSON": {r.JSON, structured}, "Booleans": {r.Booleans, booleans},
		} {
			got, want := slices.Clone(lists[0]), lists[1]
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-document +descriptor):\n%s", name, diff)
			}
		}
	})
}

// TestResources_Keys checks that a natural key of the store is that of the
// document.
func TestResources_Keys(t *testing.T) {
	t.Parallel()
	differ := map[string][]string{
		"signal":      {"signal_type", "as_of"},        // the store keeps the history of a type
		"milestone":   {"roadmap_id", "milestone_key"}, // roadmap_version names the roadmap
		"kpi_checkin": nil,                             // belongs to a KPI
		"incident":    nil,                             // is found by either of two members
		"link":        {"record_type", "record_id", "other_type", "other_id"},
	}
	eachResource(t, func(t *testing.T, d *openapi.Document, r *resource.Resource) {
		want, ok := differ[r.Type]
		if !ok {
			want = d.RecordKey(r.Type)
		}
		if diff := cmp.Diff(want, r.Key); diff != "" {
			t.Errorf("key (-document +descriptor):\n%s", diff)
		}
	})
}

// TestResources_Scales checks that the order of an enumeration is that of the
// document, or its reverse.
func TestResources_Scales(t *testing.T) {
	t.Parallel()
	eachResource(t, func(t *testing.T, d *openapi.Document, r *resource.Resource) {
		fields := fieldsOf(d, r)
		for _, s := range r.Sorts {
			if s.Kind != resource.SortRank {
				continue
			}
			want := slices.Clone(fields[s.Member].Enum)
			want = slices.DeleteFunc(want, func(value string) bool { return value == "" })
			got := slices.Clone(s.Values)
			if r == resource.Obligation && s.Member == "status" { // values that need work come first
				slices.Sort(want)
				slices.Sort(got)
			} else if want[0] != got[0] {
				slices.Reverse(want)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-document +descriptor):\n%s", s.Member, diff)
			}
		}
	})
}

// TestResources_Operations checks the operations that a descriptor names, and
// that its feature is theirs.
func TestResources_Operations(t *testing.T) {
	t.Parallel()
	eachResource(t, func(t *testing.T, d *openapi.Document, r *resource.Resource) {
		for _, id := range []string{r.List.Operation, r.Current.Operation, r.Create, r.Update} {
			if id == "" {
				continue
			}
			op := d.Operation(id)
			if op == nil {
				t.Fatalf("the document has no operation %s", id)
			}
			if op.Feature != r.Feature {
				t.Errorf("%s needs the feature %q, the descriptor has %q", id, op.Feature, r.Feature)
			}
		}
		if r.Current.Operation != "" {
			if got := d.Operation(r.Current.Operation).Returns.Object; got != r.Current.Object {
				t.Errorf("Current.Object is %q, the document has %q", r.Current.Object, got)
			}
		}
		if r.List.Operation == "" {
			return
		}
		filters := api.Filters(d, r)
		for _, p := range d.Operation(r.List.Operation).Parameters {
			at := slices.IndexFunc(filters, func(known api.Filter) bool { return known.Name == p.Name })
			if p.Name != "cursor" && p.Name != "limit" && (at < 0 || !slices.Equal(filters[at].Values, p.Enum)) {
				t.Errorf("no filter %s of %v: %+v", p.Name, p.Enum, filters)
			}
		}
	})
}

// TestResources_Pages checks that the dashboard can list and read each resource
// that has pages, and offers the forms that the descriptor names.
func TestResources_Pages(t *testing.T) {
	t.Parallel()
	f := newDemoFixture(t)
	for _, r := range resource.Pages() {
		page, err := api.Browse(f.ctx, f.Caller, r.Type, api.View{Limit: 3})
		if err != nil || len(page.Records) == 0 {
			t.Fatalf("%s: %v", r.Type, err)
		}
		id := page.Records[0]["id"].(string)
		if diff := cmp.Diff(page.Records[0], f.read(t, r.Type, id)); diff != "" {
			t.Errorf("%s in a list and alone:\n%s", r.Type, diff)
		}
		for _, c := range api.Columns(f.Document, r) {
			if _, ok := page.Records[0][c.Name]; !ok {
				t.Errorf("%s: column %s is not in %v", r.Type, c.Name, page.Records[0])
			}
		}
		for _, changing := range []bool{false, true} {
			if fields := api.FormFields(f.Document, r.Type, changing); (fields != nil) != (changing && r.Editable || !changing && r.Addable) {
				t.Errorf("%s: Addable %v, Editable %v, but fields %v", r.Type, r.Addable, r.Editable, fields)
			}
		}
	}
	var without []string
	for _, r := range resource.Records() {
		if r.Page == nil {
			without = append(without, r.Type)
		}
	}
	if diff := cmp.Diff([]string{"kpi_checkin", "link"}, without); diff != "" {
		t.Errorf("resources without pages (-want +got):\n%s", diff)
	}
}
