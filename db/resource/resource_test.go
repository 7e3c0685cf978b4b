package resource_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/db/resource"
)

// TestTypes pins the order of import and export (contract, section 5).
func TestTypes(t *testing.T) {
	t.Parallel()
	want := []string{
		"assessment", "risk", "signal", "roadmap", "milestone", "compliance_posture", "obligation",
		"vendor_portfolio", "vendor", "talent_readiness", "talent_gap", "kpi", "kpi_checkin", "incident", "link",
	}
	if diff := cmp.Diff(want, resource.Types()); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
	for _, r := range resource.Records() {
		if resource.Find(r.Type) != r {
			t.Errorf("Find(%q) does not return its descriptor", r.Type)
		}
	}
	if resource.Find("webhook_subscription") != nil || resource.Find("") != nil {
		t.Error("Find returned a resource that is not part of the data format")
	}
}

// TestDescriptors checks that the facts of a descriptor fit each other, and that
// no two descriptors share a path, a place or the name of a list.
func TestDescriptors(t *testing.T) {
	t.Parallel()
	taken := map[string]string{}
	claim := func(r *resource.Resource, what, value string) {
		if value == "" {
			return
		}
		if other := taken[what+value]; other != "" {
			t.Errorf("%s and %s have the same %s %q", other, r.Type, what, value)
		}
		taken[what+value] = r.Type
	}
	for _, r := range resource.All() {
		claim(r, "type", r.Type)
		claim(r, "table", r.Table)
		claim(r, "list", r.List.Name)
		for _, operation := range []string{r.List.Operation, r.Current.Operation, r.Create, r.Update} {
			claim(r, "operation", operation)
		}
		if r.Singular == "" || r.Plural == "" {
			t.Errorf("%s has no words", r.Type)
		}
		if (r.List.OrderBy == "") != (r.List.Name == "") || r.Current.Operation != "" && (r.Current.Column == "" || r.List.OrderBy == "") {
			t.Errorf("%s: the list is %+v, the current object %+v", r.Type, r.List, r.Current)
		}
		if r.Update != "" && !r.Editable || r.Create != "" && !r.Addable {
			t.Errorf("%s has operations that the dashboard does not use", r.Type)
		}
		if to := r.Reference.To; to != nil && to.ImportOrder > r.ImportOrder {
			t.Errorf("%s is imported before %s, which it refers to", r.Type, to.Type)
		}
		if r.Page == nil {
			continue
		}
		checkPage(t, r)
		claim(r, "place in the navigation", strconv.Itoa(r.Page.Order))
		claim(r, "path of a list", r.Page.List)
		claim(r, "path of records", r.Page.Base)
		claim(r, "tab", r.Page.Title+" "+r.Page.Tab)
	}
}

func checkPage(t *testing.T, r *resource.Resource) {
	t.Helper()
	page := r.Page
	if len(page.Names) == 0 || len(page.Columns) == 0 || page.Columns[0] != page.Names[0] {
		t.Errorf("%s: its names %v and columns %v do not start alike", r.Type, page.Names, page.Columns)
	}
	for _, path := range []string{page.List, page.Base} {
		if strings.Trim(path, "/abcdefghijklmnopqrstuvwxyz-") != "" || !strings.HasPrefix(path, "/") {
			t.Errorf("%s: path %q", r.Type, path)
		}
	}
	if !slices.ContainsFunc(page.Columns, func(column string) bool { return slices.Contains(r.SortNames(), column) }) {
		t.Errorf("%s: no column sorts its list", r.Type)
	}
	if page.Empty == "" || len(r.Searched) == 0 {
		t.Errorf("%s: says nothing in an empty list, or can't be searched", r.Type)
	}
	if page.VersionOf != nil && page.VersionOf.ImportOrder > r.ImportOrder {
		t.Errorf("%s is imported before %s, to whose versions it belongs", r.Type, page.VersionOf.Type)
	}
}
