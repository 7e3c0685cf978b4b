package web_test

import (
	"fmt"
	"strings"
	"testing"

	"govsvc/db/auth"
)

// TestAttention checks that the overview begins with what needs attention: by urgency,
// with the name, the task, the owner, the due date and the action of each record.
func TestAttention(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: usersOnly})
	h.importRecords(attentionLines...)
	c := h.as(auth.Editor)
	r := c.get("/")
	incident, kpi, risk := h.pathOf("/incidents", "incident", "leak"), h.pathOf("/kpis", "kpi", "coverage"), h.pathOf("/risks", "risk", "drift")
	vendor, gap := h.pathOf("/vendors/inventory", "vendor", "Acme"), h.pathOf("/talent/gaps", "talent_gap", "Engineer")
	expectOrder(t, r.body, "Needs attention",
		`<h3 class="alarm">Overdue <span class="muted">3</span></h3>`,
		`<a href="`+incident+`">Data leak</a> <span class="badge tone-critical">Critical</span>`, "Notify the regulator", "Ada", "26 h 0 min overdue",
		`href="`+incident+`/notification">Record notification <span class="unseen">Data leak</span>`,
		`<a href="`+kpi+`">Coverage</a>`, "Add the check-in", "No owner", `<span class="alarm">overdue by 24 days</span>`, `href="`+kpi+`/checkins/new">Add check-in`,
		`<a href="`+risk+`">Model drift</a> <span class="badge tone-high">High</span>`, "Treat the risk", "Bob", `<span class="alarm">overdue by 1 day</span>`,
		`<time datetime="2026-09-30"`, `href="`+risk+`/edit">Edit <span class="unseen">Model drift</span>`,
		"<h3>Due within 7 days <span class=\"muted\">2</span></h3>", "due today", "due tomorrow",
		"<h3>Due within 30 days <span class=\"muted\">1</span></h3>", `<a href="`+gap+`">Engineer</a>`, "due in 14 days",
		"<h3>Due within 90 days <span class=\"muted\">1</span></h3>", `<a href="`+vendor+`">Acme</a>`, "Renew or end the contract", "due in 90 days",
		`id="assessment"`)
	c.expect(r, 200, `<option value="">All</option><option value="(none)">No owner (2)</option><option value="Ada">Ada (2)</option><option value="Bob">Bob (3)</option>`, "!Show all")

	for path, texts := range map[string][]string{
		"/?owner=Ada":                         {"Data leak", "Log the use", "!Model drift", "!Add the check-in", `<option value="Ada" selected>`},
		"/?owner=(none)":                      {"Add the check-in", "!Data leak", `<option value="(none)" selected>`},
		"/?owner=Eve":                         {"Nothing of this owner is overdue or due within 30 days.", "Eve (0)", `href="/">Clear`},
		"/attention":                          {"7 tasks", "Data leak", "Acme", "Overdue (3)", `<a href="/">Overview</a>`},
		"/attention?due=overdue":              {"3 tasks", "Data leak", "!Acme"},
		"/attention?type=risk&owner=Bob":      {"1 task", "Model drift", "!Data leak"},
		"/attention?type=assessment":          {"400", "is not a type that needs attention"},
		"/attention?due=later":                {"400", "ue must be one of"},
		"/attention?due=month&type=vendor":    {"No matching tasks", "Clear filters"},
		"/attention?cursor=x":                 {"400", "cursor"},
		"/attention?owner=Ada&type=incident":  {"1 task", "Data leak"},
		"/attention?owner=(none)&due=overdue": {"1 task", "Coverage"},
	} {
		status := 200
		if texts[0] == "400" {
			status, texts = 400, texts[1:]
		}
		c.expect(c.get(path), status, texts...)
	}
}

// attentionLines are due around 2026-10-01T12:00:00Z.
var attentionLines = []string{
	`{"object":"incident","incident_key":"I-1","title":"Data leak","severity":"critical","status":"open","owner":"Ada","notification_required":true,"notification_deadline":"2026-09-30T10:00:00.000Z"}`,
	`{"object":"risk","risk_id":"R-1","title":"Model drift","description":"d","severity":"HIGH","status":"Open","owner_name":"Bob","target_date":"2026-09-30"}`,
	`{"object":"risk","risk_id":"R-2","title":"Closed","description":"d","severity":"HIGH","status":"Closed","owner_name":"Bob","target_date":"2026-09-30"}`,
	`{"object":"obligation","obligation_key":"O-1","regime_id":"r","regime_name":"R","jurisdiction":"EU","title":"Log the use","priority_band":"LOW","status":"in_progress","owner_role":"Ada","target_date":"2026-10-01"}`,
	`{"object":"obligation","obligation_key":"O-2","regime_id":"r","regime_name":"R","jurisdiction":"EU","title":"Name a contact","priority_band":"LOW","status":"in_progress","owner_role":"Bob","target_date":"2026-10-02"}`,
	`{"object":"talent_gap","gap_key":"g","role_title":"Engineer","function_area":"a","headcount_needed":1,"priority_band":"HIGH","recommended_path":"buy","status":"open","target_date":"2026-10-15"}`,
	`{"object":"vendor","vendor_key":"v","vendor_name":"Acme","category":"c","initial_risk_band":"HIGH","contract_end":"2026-12-30","status":"active","renewal_owner_role":"Bob"}`,
	`{"object":"kpi","code":"k","statement":"s","metric_name":"Coverage","unit":"%","direction":"increase","target_value":5,"current_value":2,"current_as_of":"2026-07-01T00:00:00Z","measurement_frequency":"monthly","status":"active"}`,
}

// TestAttention_Roles checks that only roles that may write records see the actions.
func TestAttention_Roles(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: usersOnly})
	h.importRecords(attentionLines...)
	for role, may := range map[auth.Role]bool{auth.Viewer: false, auth.Auditor: false, auth.Editor: true, auth.Admin: true} {
		for _, path := range []string{"/", "/attention"} {
			c := h.as(role)
			r := c.get(path)
			c.expect(r, 200, "Data leak", "Model drift")
			for _, action := range []string{"Record notification", "Add check-in", ">Edit "} {
				if strings.Contains(r.body, action) != may {
					t.Errorf("%s, %s: got action %q %v, want %v", path, role, action, !may, may)
				}
			}
		}
	}
}

// TestAttention_WorkedThrough checks that each action of the overview removes its task.
func TestAttention_WorkedThrough(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: usersOnly})
	h.importRecords(attentionLines...)
	c := h.as(auth.Editor)
	c.expect(c.get("/"), 200, "Data leak", "Coverage", "Model drift", `<h3 class="alarm">`)
	c.expect(c.post(h.pathOf("/incidents", "incident", "leak")+"/notification", "at", "2026-10-01T12:00", "to", "The authority"), 303)
	for _, month := range []string{"2026-08-01", "2026-09-01"} { // the form offers the first period without a value
		c.expect(c.get(h.pathOf("/kpis", "kpi", "coverage")+"/checkins/new"), 200, `value="`+month+`"`)
		c.expect(c.post(h.pathOf("/kpis", "kpi", "coverage")+"/checkins", "value", "4", "period_start", month, "source", "manual"), 303)
	}
	c.expect(c.post(h.pathOf("/risks", "risk", "drift"), "status", "Mitigated"), 303)
	_, rest, _ := strings.Cut(c.get("/").body, "Needs attention")
	tasks, _, _ := strings.Cut(rest, `id="assessment"`)
	for _, name := range []string{"Data leak", "Coverage", "Model drift", "Overdue"} {
		if strings.Contains(tasks, name) {
			t.Errorf("%s still needs attention", name)
		}
	}
}

// TestAttention_Many checks that the overview stays small with many tasks, and that the
// pages of "Needs attention" show each of them once.
func TestAttention_Many(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: usersOnly})
	const n = 130
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf(`{"object":"risk","risk_id":"R-%03d","title":"Task %03d.","description":"d","severity":"HIGH","status":"Open","owner_name":"Owner %d","target_date":"2026-09-%02d"}`, i, i, i, 1+i%30))
	}
	h.importRecords(lines...)
	c := h.as(auth.Editor)
	r := c.get("/")
	c.expect(r, 200, `Overdue <span class="muted">130</span>`, `<a href="/attention?due=overdue">Show all</a>`)
	if shown := strings.Count(r.body, "overdue by"); shown != 6 || len(r.body) > maxPage {
		t.Errorf("got %d tasks in %d bytes, want 6 in at most %d", shown, len(r.body), maxPage)
	}
	path, pages, all := "/attention?due=overdue", 0, ""
	for path != "" {
		page := c.get(path)
		c.expect(page, 200, "130 tasks")
		if len(page.body) > maxPage {
			t.Errorf("page %d has %d bytes, want at most %d", pages, len(page.body), maxPage)
		}
		pages, all, path = pages+1, all+page.body, ""
		if _, next, more := strings.Cut(page.body, `rel="next" href="`); more {
			next, _, _ = strings.Cut(next, `"`)
			path = strings.ReplaceAll(next, "&amp;", "&")
		}
	}
	for i := range n {
		if found := strings.Count(all, fmt.Sprintf(">Task %03d.</a>", i)); found != 1 {
			t.Errorf("task %d: got %d times, want once", i, found)
		}
	}
	if pages != 3 || !strings.Contains(all, "Back to the most urgent") {
		t.Errorf("got %d pages, want 3 with a link back", pages)
	}
}
