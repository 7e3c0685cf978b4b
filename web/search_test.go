package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/auth"
)

// TestSearch_Records checks what the search of all records finds, in which order, and
// which part of a record it shows.
func TestSearch_Records(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Viewer)
	for _, row := range []struct {
		query string
		want  []string
	}{
		{"", []string{"Search for words, names", `href="/risks"`, "!href=\"/risks/"}},
		{"a", []string{"from 2 characters", "!href=\"/risks/"}},
		{"risk-0040", []string{`<mark>RISK-0040</mark>`, h.pathOf("/risks", "risk", "RISK-0040"), "!All matching"}},
		{"claims", []string{"<mark>claims</mark>", "Risks", "All matching risks", `href="/risks?q=claims"`}},
		{"norrhav cloud", []string{h.pathOf("/vendors/inventory", "vendor", "norrhav-cloud"), "Vendors"}},
		{"KR-INV-01", []string{h.pathOf("/kpis", "kpi", "KR-INV-01"), "KPIs"}},
		{"agent letters", []string{"<mark>Agent</mark> <mark>letters</mark> reach"}},
		{"embed", []string{"Phases: ", "<mark>Embed</mark>", "!&#34;phase&#34;"}},
		{"nothing-like-it", []string{"Nothing found", "!section"}},
		{"<b>&quot;", []string{"Nothing found", "!<b>&"}},
		{"roadmap versions", []string{"<mark>Roadmap</mark>: <mark>Versions</mark>", `href="/roadmap/versions"`}},
	} {
		r := c.get("/search?q=" + strings.NewReplacer(" ", "+", "&", "%26", ";", "%3B").Replace(row.query))
		c.expect(r, http.StatusOK, row.want...)
	}
}

// TestSearch_Ranks checks that a record whose name is the searched text comes before newer
// ones with the word in another text.
func TestSearch_Ranks(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: usersOnly})
	c := h.as(auth.Editor)
	for _, title := range []string{"Zebra", "Zebra crossing", "Other one", "Other two", "Other three"} {
		h.clock.Advance(time.Second)
		c.expect(c.post("/risks", "title", title, "description", "The zebra model decides who may cross the road.",
			"severity", "LOW", "likelihood", "RARE", "dimension", "OTHER"), http.StatusSeeOther)
	}
	body := c.get("/search?q=zebra").body
	var last int
	for _, name := range []string{"<mark>Zebra</mark></span>", "<mark>Zebra</mark> crossing", "Other three", "Other two", "Other one"} {
		at := strings.Index(body, name)
		if at < last {
			t.Errorf("%q is missing or too early in\n%s", name, body)
		}
		last = at
	}
	c.expect(c.get("/search?q=zebra"), http.StatusOK, "Description: The <mark>zebra</mark> model", "!All matching")
}

// TestSearch_Permissions checks that the search offers what the role and the plan of the
// user include, and nothing else.
func TestSearch_Permissions(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for role, want := range map[auth.Role][]string{
		auth.Viewer:  {">Risks<", "!Add a risk", "!Create API key", "!/audit", "!Import a file"},
		auth.Editor:  {">Risks<", "Add a risk", "Import a file", "!Create API key", "!/audit"},
		auth.Auditor: {">Risks<", ">Audit<", "Verify the audit log", "!Add a risk", "!Create API key"},
		auth.Admin:   {">Risks<", ">Audit<", "Add a risk", "Create API key", "Add webhook"},
	} {
		c := h.as(role)
		r := c.get("/search")
		_, r.body, _ = strings.Cut(r.body, `id="found"`)
		c.expect(r, http.StatusOK, want...)
	}
	c := h.as(auth.Admin)
	c.expect(c.get("/search?q=chatbot"), http.StatusOK, "/incidents/")
	if _, err := h.store.Orgs.SetPlan(t.Context(), h.by(), db.DefaultOrganisation, db.Professional, ""); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"chatbot", "incident"} {
		c.expect(c.get("/search?q="+query), http.StatusOK, "!/incidents/")
	}
	other := h.as(auth.Admin)
	other.follow(other.post("/organisation", "name", "subsidiary"), "/")
	other.expect(other.get("/search?q=claims"), http.StatusOK, "Nothing found")
}

// TestSearch_Bounds checks that a search is limited like that of a list, and that it
// leaves no event in the audit log.
func TestSearch_Bounds(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Viewer)
	before := h.auditLog()
	c.expect(c.get("/search?q=claims"), http.StatusOK)
	c.expect(c.get("/search?q="+strings.Repeat("x", 201)), http.StatusBadRequest, "at most 200 characters")
	c.expect(c.get("/search?q="+strings.Repeat("xx+", 9)), http.StatusBadRequest, "at most 8 words")
	c.expect(c.get("/search?q=a%00b"), http.StatusBadRequest)
	if after := h.auditLog(); after != before {
		t.Errorf("searches left events: %s", strings.TrimPrefix(after, before))
	}
	c.expect(h.anonymous().get("/search?q=claims"), http.StatusSeeOther)

	h = newHarness(t, options{searchTime: 200 * time.Millisecond})
	endlessSearches(h)
	c = h.as(auth.Viewer)
	c.expect(c.get("/search?q=cloud"), http.StatusServiceUnavailable, "The search took too long")
}
