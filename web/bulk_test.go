package web_test

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"govsvc/db/auth"
	"govsvc/db/resource"
	"govsvc/internal/testkit"
)

// bulk sends the form below a list: names and values of the change, then the ids.
func (c *client) bulk(path string, ids []string, pairs ...string) response {
	for _, id := range ids {
		pairs = append(pairs, "id", id)
	}
	return c.post(path, pairs...)
}

// read returns a record.
func (h *harness) read(object, id string) map[string]any {
	h.t.Helper()
	text, err := h.store.Record(h.t.Context(), h.org().Org, object, id)
	if err != nil {
		h.t.Fatal(err)
	}
	return testkit.Object(h.t, string(text))
}

// confirmation returns what the form of a preview sends, with further names and values.
func confirmation(t *testing.T, r response, pairs ...string) []string {
	t.Helper()
	_, form, found := strings.Cut(r.body, `/bulk/apply"`)
	if !found || r.status != 200 && r.status != 409 && r.status != 422 {
		t.Fatalf("got status %d, no preview:\n%.3000s", r.status, r.body)
	}
	for _, match := range regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`).FindAllStringSubmatch(form, -1) {
		pairs = append(pairs, match[1], html.UnescapeString(match[2]))
	}
	return pairs
}

// TestBulk changes the status and the owner of several records of each type that allows
// it: first a preview, which changes nothing, then all at once with an audit event each.
func TestBulk(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Editor)
	for _, row := range []struct {
		res           *resource.Resource
		status, owner string
	}{
		{resource.Risk, "InProgress", "owner_name"},
		{resource.Milestone, "blocked", "owner_role"},
		{resource.Obligation, "in_progress", "owner_role"},
		{resource.Vendor, "under_review", "renewal_owner_role"},
		{resource.Incident, "investigating", "owner"},
	} {
		list := c.get(row.res.Page.List)
		ids := optionValues(list.body, "id")
		if len(ids) < 5 {
			t.Fatalf("%s: check boxes %v", row.res.Type, ids)
		}
		h.as(auth.Viewer).expect(h.as(auth.Viewer).get(row.res.Page.List), 200, `!type="checkbox" name="id"`, "!Preview changes")
		ids = ids[:5]
		events := func() int { return strings.Count(h.auditLog(), `"action":"`+row.res.Type+`.updated"`) }
		before := events()
		preview := c.bulk(row.res.Page.Base+"/bulk", ids, "status", row.status, row.owner, "Nobody yet")
		c.expect(preview, 200, "<h1>Change 5 "+row.res.Plural+"</h1>", "Nothing has been changed yet.", "Nobody yet")
		if events() != before {
			t.Errorf("%s: the preview changed something", row.res.Type)
		}
		done := c.follow(c.post(row.res.Page.Base+"/bulk/apply", confirmation(t, preview)...), row.res.Page.List)
		c.expect(done, 200, "5 "+row.res.Plural+" have been changed.")
		if n := events() - before; n != 5 {
			t.Errorf("%s: %d events, want 5", row.res.Type, n)
		}
		for _, id := range ids {
			record := h.read(row.res.Type, id)
			if record["status"] != row.status || record[row.owner] != "Nobody yet" {
				t.Errorf("%s %s: got status %v, owner %v", row.res.Type, id, record["status"], record[row.owner])
			}
		}
		c.expect(c.bulk(row.res.Page.Base+"/bulk", ids, "status", row.status), 422, "have these values already", `value="`+ids[0]+`" form="bulk" aria-label=`)
	}
}

// TestBulk_Refuses checks that a bulk change has the rules of a single one, and that it
// changes all records or none.
func TestBulk_Refuses(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: usersOnly})
	h.importRisks(8) // two of each severity
	c := h.as(auth.Editor)
	ids := optionValues(c.get("/risks").body, "id")
	state := func() string {
		var all []string
		for _, id := range ids {
			all = append(all, fmt.Sprint(h.read("risk", id)["status"]))
		}
		return strings.Join(all, " ")
	}
	before := state()
	c.expect(c.bulk("/risks/bulk", nil, "status", "Closed"), 422, "Select at least one of the risks.")
	c.expect(c.bulk("/risks/bulk", ids), 422, "Choose what to change", `checked></td>`)
	c.expect(c.bulk("/risks/bulk", []string{unknownID}, "status", "Closed"), 404)
	c.expect(c.bulk("/risks/bulk", make500(ids), "status", "Closed"), 422, "Select at most 500 risks.")
	c.expect(h.as(auth.Viewer).bulk("/risks/bulk", ids, "status", "Closed"), 403)
	c.expect(h.as(auth.Viewer).bulk("/risks/bulk/apply", ids, "status", "Closed"), 403)

	preview := c.bulk("/risks/bulk", ids, "status", "Closed", "query", "sort=title")
	c.expect(preview, 200, "2 risks need a justification: a critical risk", `name="severity_change_reason"`, `href="/risks?sort=title">Cancel`)
	for reason, want := range map[string]string{"": "Rating justification is required", "Too short.": "at least 20 characters"} {
		r := c.post("/risks/bulk/apply", confirmation(t, preview, "severity_change_reason", reason)...)
		c.expect(r, 422, want, "Nothing has been changed.")
	}
	c.expect(c.post("/risks/bulk/apply", confirmation(t, c.bulk("/risks/bulk", ids, "status", "Void"))...), 422, "Nothing has been changed.")
	if got := state(); got != before {
		t.Errorf("got statuses %s, want %s", got, before)
	}

	// a record that changed after the preview shows the preview again
	c.post("/risks/"+ids[0], "title", "Changed by somebody else")
	again := c.post("/risks/bulk/apply", confirmation(t, preview, "severity_change_reason", "The system has been switched off.")...)
	c.expect(again, 409, "have changed in the meantime", "Changed by somebody else", "The system has been switched off.")
	if got := state(); got != before {
		t.Errorf("got statuses %s, want %s", got, before)
	}
	c.expect(c.follow(c.post("/risks/bulk/apply", confirmation(t, again, "severity_change_reason", "The system has been switched off.")...), "/risks"), 200, "8 risks have been changed.")
	if got := strings.Count(h.auditLog(), "The system has been switched off."); got != 2 {
		t.Errorf("%d events have the justification, want 2", got)
	}
}

// make500 returns more than 500 ids.
func make500(ids []string) []string {
	for i := range 501 {
		ids = append(ids, fmt.Sprintf("0190d6a1-0000-7000-8000-%012d", i))
	}
	return ids
}

// TestBulk_AllPages selects all records of a filtered list with several pages.
func TestBulk_AllPages(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: usersOnly})
	h.importRisks(240)
	c := h.as(auth.Editor)
	c.expect(c.get("/risks?q=number&severity=HIGH,LOW"), 200, "Select all 120 risks of this list")
	preview := c.post("/risks/bulk", "all", "true", "query", "q=number&severity=HIGH,LOW", "owner_name", "Head of AI")
	c.expect(preview, 200, "<h1>Change 120 risks</h1>")
	c.expect(c.follow(c.post("/risks/bulk/apply", confirmation(t, preview)...), "/risks"), 200, "120 risks have been changed.", "120 risks</p>")
	c.expect(c.get("/risks?owner_name=head+of+ai&q=number"), 200, "120 risks</p>")
	h.importRisks(510)
	c.expect(c.get("/risks?q=number"), 200, "510 risks", "!Select all 510")
	c.expect(c.post("/risks/bulk", "all", "true", "query", "q=number", "owner_name", "Nobody"), 422, "Select at most 500 risks.")
}
