package web_test

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/db/resource"
	"govsvc/web/ui"
)

// TestRecordRoutes checks that each resource has its pages, with the forms that
// its descriptor allows and no others.
func TestRecordRoutes(t *testing.T) {
	t.Parallel()
	have := map[string]bool{}
	for _, route := range routes() {
		have[route.Method+" "+route.Path] = true
	}
	for _, res := range resource.Pages() {
		base := res.Page.Base
		for route, want := range map[string]bool{
			"GET " + res.Page.List: true, "GET " + base + ".csv": true, "GET " + base + "/{id}": true,
			"GET " + base + "/new": res.Addable, "POST " + base: res.Addable,
			"GET " + base + "/{id}/edit": res.Editable, "POST " + base + "/{id}": res.Editable,
		} {
			if have[route] != want {
				t.Errorf("%s: the route %s exists: %v, want %v", res.Type, route, have[route], want)
			}
		}
	}
}

// TestLists opens each list and the first record that it links to, with each role.
func TestLists(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	first := regexp.MustCompile(`<th scope="row"[^>]*><a href="([^"]+)"`)
	for _, res := range resource.Pages() {
		for _, role := range []auth.Role{auth.Viewer, auth.Editor} {
			c := h.as(role)
			list := c.get(res.Page.List)
			c.expect(list, 200, "<caption", `<nav class="pager"`, `name="q"`, res.Page.Base+".csv")
			if add := strings.Contains(list.body, res.Page.Base+`/new"`); add != (res.Addable && role == auth.Editor) {
				t.Errorf("%s, %s: a button to add: %v", res.Type, role, add)
			}
			_, rows, _ := strings.Cut(list.body, `name="q"`) // after the summary
			match := first.FindStringSubmatch(rows)
			if match == nil {
				t.Errorf("%s: no link to a record in\n%.2000s", res.Type, list.body)
				continue
			}
			record := c.get(match[1])
			c.expect(record, 200, "Details", "History", `href="`+res.Page.List+`"`)
			if change := strings.Contains(record.body, `/edit"`); change != (res.Editable && role == auth.Editor) {
				t.Errorf("%s, %s: a button to change: %v", res.Type, role, change)
			}
			if res.Editable && role == auth.Editor {
				c.expect(c.get(match[1]+"/edit"), 200, `action="`+match[1]+`"`)
			}
		}
	}
}

// TestLists_Views filters, sorts, searches and moves through the pages in both directions.
func TestLists_Views(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.importRisks(120)
	c := h.as(auth.Viewer)

	r := c.get("/risks")
	c.expect(r, 200, "160 risks", `rel="next"`, `!rel="prev"`)
	if n := countRows(r.body); n != 50 {
		t.Errorf("%d rows, want 50", n)
	}
	seen, pages := map[string]bool{}, []string{"/risks"}
	link := func(r response, rel string) string {
		match := regexp.MustCompile(`rel="` + rel + `" href="([^"]+)"`).FindStringSubmatch(r.body)
		if match == nil {
			return ""
		}
		return html.UnescapeString(match[1])
	}
	for {
		for _, match := range regexp.MustCompile(`class="under">(RISK-\d+)`).FindAllStringSubmatch(r.body, -1) {
			if seen[match[1]] {
				t.Errorf("%s is listed twice", match[1])
			}
			seen[match[1]] = true
		}
		next := link(r, "next")
		if next == "" {
			break
		}
		pages = append(pages, next)
		r = c.get(next)
	}
	if len(seen) != 160 || len(pages) != 4 {
		t.Errorf("%d risks on %d pages, want 160 on 4", len(seen), len(pages))
	}
	for range 3 {
		if r = c.get(link(r, "prev")); r.status != 200 {
			t.Fatalf("got status %d on the way back to the first page", r.status)
		}
	}
	c.expect(r, 200, `rel="next"`, `!rel="prev"`)

	c.expect(c.get("/risks?severity=CRITICAL&q=number"), 200, "30 risks", `<option value="CRITICAL" selected>`, `value="number"`, `href="/risks">Clear`)
	c.expect(c.get("/risks?severity=CRITICAL,LOW&q=number"), 200, "60 risks", "Critical or Low")
	c.expect(c.get("/risks?q=nothing-has-this-word"), 200, "No matching risks", "Clear filters", `!<nav class="pager"`)
	c.expect(c.get("/risks?updated_since=2026-12-01"), 200, "No matching risks")
	sorted := c.get("/risks?sort=-title&q=number")
	c.expect(sorted, 200, `aria-sort="descending"`, `href="/risks?q=number&amp;sort=title"`)
	expectOrder(t, sorted.body, "Risk number 99<", "Risk number 98<", "Risk number 97<")
	sorted = c.get("/risks?sort=severity&q=number")
	expectOrder(t, sorted.body, `aria-sort="ascending"`, ">Low<", ">Low<")

	for _, bad := range []string{"/risks?cursor=forged", "/risks?sort=password", "/risks?severity=HUGE", "/risks?q=" + strings.Repeat("x", 201)} {
		c.expect(c.get(bad), 400, "request is not valid")
	}
	c.expect(c.get("/risks/0190d6a1-0000-7000-8000-000000000000"), 404, "Page not found")
	c.expect(c.get("/risks?unknown=1"), 200)
}

// TestLists_Empty checks that an empty list offers the first action to roles with the
// permission.
func TestLists_Empty(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: usersOnly})
	for _, res := range resource.Pages() {
		h.as(auth.Viewer).expect(h.as(auth.Viewer).get(res.Page.List), 200, "yet</p>", "!/import\"><", "!"+res.Page.Base+"/new")
		want := `href="/import"`
		if res.Addable {
			want = `href="` + res.Page.Base + `/new"`
		}
		h.as(auth.Editor).expect(h.as(auth.Editor).get(res.Page.List), 200, "yet</p>", want)
	}
}

// TestLists_NeedPlan checks that pages explain that the plan lacks incidents.
func TestLists_NeedPlan(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	incident := h.pathOf("/incidents", "incident", "chatbot")
	if _, err := h.store.Orgs.SetPlan(t.Context(), h.by(), db.DefaultOrganisation, db.Professional, ""); err != nil {
		t.Fatal(err)
	}
	c := h.as(auth.Editor)
	const lacks = "not part of this organisation&#39;s plan"
	c.expect(c.get("/incidents"), 403, "Incidents are "+lacks, "professional", `!id="f-q"`)
	c.expect(c.get("/incidents/new"), 403, lacks)
	for _, path := range []string{incident, incident + "/edit", incident + "/notification", "/incidents.csv"} {
		c.expect(c.get(path), 403, "!chatbot")
	}
	c.expect(c.post("/incidents", "title", "An incident"), 403)
	risk := c.get(h.pathOf("/risks", "risk", "register"))
	c.expect(risk, 200)
}

// TestRecords_EscapeTexts checks that every list, record, form and search escapes the
// content of records.
func TestRecords_EscapeTexts(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: usersOnly})
	h.importRecords(hostileRecords()...)
	c := h.as(auth.Editor)
	links := regexp.MustCompile(`href="(/[^"]+)"`)
	for _, res := range resource.Pages() {
		list := c.get(res.Page.List)
		expectEscaped(t, res.Page.List, list)
		c.expect(list, 200, "&lt;script&gt;")
		for _, match := range links.FindAllStringSubmatch(list.body, -1) {
			if path := html.UnescapeString(match[1]); strings.HasPrefix(path, res.Page.Base+"/0") {
				r := c.get(path)
				c.expect(r, 200, "&lt;script&gt;")
				expectEscaped(t, path, r)
				for _, form := range []string{"/edit", "/notification", "/checkins/new"} {
					expectEscaped(t, path+form, c.get(path+form))
				}
			}
		}
	}
	expectEscaped(t, "search", c.get(ui.WithQuery("/risks", "q", hostile)))
	expectEscaped(t, "filter", c.get(ui.WithQuery("/signals", "type", hostile)))
	expectEscaped(t, "form", c.post("/risks", "title", hostile, "severity", hostile, "description", hostile, "target_date", hostile))
	expectEscaped(t, "upload", c.upload("/import", []uploadedFile{{"file", hostile + ".json", `{"object":"` + strings.ReplaceAll(hostile, `"`, `\"`) + `"}`}}, "type", hostile))
	expectEscaped(t, "pack", c.upload("/evidence", nil, "title", " ", "regime_id", hostile))
	if log := h.log.String(); strings.Contains(log, "level=ERROR") {
		t.Error(log)
	}
}

// hostileRecords returns one record of each type, with the hostile text in every
// member that can hold text.
func hostileRecords() []string {
	text := strings.ReplaceAll(hostile, `"`, `\"`)
	var lines []string
	for _, line := range []string{
		`{"object":"assessment","methodology_version":"X","completed_at":"2026-01-01T00:00:00Z","frameworks_applied":["X","short"]}`,
		`{"object":"risk","risk_id":"X","title":"X","description":"X","dimension":"X","source":"X","owner_name":"X","mitigation_action":"X","residual_gap_reason":"X"}`,
		`{"object":"signal","signal_type":"X","module_id":"X","source_version":"X","as_of":"2026-01-01T00:00:00Z"}`,
		`{"object":"roadmap","version_number":1,"executive_summary":"X","framework_blend":{"X":0.5},"phases":[{"phase":"X","objective":"X"}],"generated_at":"2026-01-01T00:00:00Z"}`,
		`{"object":"milestone","milestone_key":"X","title":"X","phase":"X","sequence":1,"status":"blocked","rag_status":"RED","owner_role":"X","progress_pct":1}`,
		`{"object":"compliance_posture","version_number":1,"overall_posture":"COMPLIANT","primary_jurisdictions":["X"],"regimes":[{"regime_id":"X","posture":"COMPLIANT","open_obligations":1}],"executive_summary":"X","generated_at":"2026-01-01T00:00:00Z"}`,
		`{"object":"obligation","obligation_key":"X","regime_id":"X","regime_name":"X","jurisdiction":"X","title":"X","priority_band":"LOW","status":"compliant","owner_role":"X"}`,
		`{"object":"vendor_portfolio","version_number":1,"portfolio_posture":"WATCH","executive_summary":"X","cross_vendor_risks":["X"],"recommended_actions":[{"action":"X","priority":"X"}],"generated_at":"2026-01-01T00:00:00Z"}`,
		`{"object":"vendor","vendor_key":"X","vendor_name":"X","category":"X","ai_role":"X","initial_risk_band":"LOW","renewal_owner_role":"X","notes":"X"}`,
		`{"object":"talent_readiness","version_number":1,"overall_readiness":"READY","executive_summary":"X","build_buy_borrow":{"build":1,"buy":1,"borrow":1},"generated_at":"2026-01-01T00:00:00Z"}`,
		`{"object":"talent_gap","gap_key":"X","role_title":"X","function_area":"X","headcount_needed":1,"priority_band":"LOW","recommended_path":"buy","status":"open","owner_role":"X"}`,
		`{"object":"incident","incident_key":"X","title":"X","description":"X","affected_systems":"X","jurisdictions":"X","owner":"X","timeline":[{"at":"2026-01-01T00:00:00Z","status":"open","note":"X","actor":"X"}]}`,
		`{"object":"kpi","code":"X","statement":"X","metric_name":"X","unit":"X","direction":"increase","target_value":1,"measurement_frequency":"weekly","status":"active"}`,
		`{"object":"kpi_checkin","key_result_code":"X","period_start":"2026-01-05","value":1,"source":"X","evidence_ref":"X","note":"X"}`,
	} {
		line = strings.ReplaceAll(line, `"X"`, `"`+text+`"`)
		lines = append(lines, strings.ReplaceAll(line, `"source":"`+text, `"source":"`+text[:50]))
	}
	return lines
}

// TestRecords_LinkRelated checks that records link to the records that they belong to.
func TestRecords_LinkRelated(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Viewer)
	milestone := h.find("milestone", "incident-drill")
	roadmap := "/roadmap/versions/" + milestone["roadmap_id"].(string)
	c.expect(c.get("/roadmap/milestones/"+milestone["id"].(string)), 200, `href="`+roadmap+`"`, "Incident drill")
	c.expect(c.get(roadmap), 200, "Phases", "Framework blend", "NIST AI RMF")
	c.expect(c.get("/roadmap"), 200, `href="`+roadmap+`"`, `aria-current="page">Milestones`)
	posture := c.get(h.pathOf("/compliance/postures", "compliance_posture", "ISO/IEC internal audit"))
	c.expect(posture, 200, `href="/compliance?regime_id=eu-ai-act"`)
	c.expect(c.get("/compliance?regime_id=eu-ai-act"), 200, "EU AI Act", `value="eu-ai-act"`)
	c.expect(c.get(h.pathOf("/risks", "risk", "RISK-0001")), 200, "Residual risk justification", "Quarterly network", "!severity_change_reason")
	c.expect(c.get(h.pathOf("/vendors/inventory", "vendor", "norrhav-cloud")), 200, "DORA register", "Chief Information Officer", "1,480,000")
	c.expect(c.do(http.MethodHead, "/risks", "", ""), 200)
}
