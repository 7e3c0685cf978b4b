package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/internal/testkit"
)

// TestReport checks the parts of the report of the demonstration organisation.
func TestReport(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Viewer)
	c.expect(c.get("/report"), 200,
		"AI governance report", "No earlier report is saved", "Optimisation", "The overall score is 71.3, after 66.7 on 10 Jun 2026.",
		`<title id="scores-title">Overall score: 47.8 at 27 Nov 2024, 71.3 at 7 Oct 2026. Adjusted score: 42.6 at 27 Nov 2024, 68 at 7 Oct 2026.</title>`,
		"24 open risks: 5 critical, 12 high, 5 medium, 2 low.", "Proxy discrimination in motor pricing", "Movement",
		"4 open incidents: 1 critical, 2 high, 1 low. 3 notifications are pending.", "Swedish authority asks how Ravn profiles customers",
		"54 of 116 applicable obligations are met", "26 of 49 met", "Next deadlines",
		"0 of 8 active KPIs are on target.", "Lowest selection-rate ratio in screened vacancies", "71\u00a0%",
		"Changes since", "3 of 14",
		"!Save this report", "!<table class=\"heat\"", "!not rated")
}

// TestReport_SaveAndCompare saves a report as an editor. Later reports compare with it, and
// with the one that is chosen.
func TestReport_SaveAndCompare(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: usersOnly})
	h.importRecords(
		`{"object":"risk","risk_id":"RISK-A","title":"Wrong letters","description":"One of many.","severity":"MEDIUM","likelihood":"RARE","status":"Open"}`,
		`{"object":"assessment","overall_score":60,"adjusted_score":55,"verdict":"REMEDIATION","methodology_version":"4","completed_at":"2026-09-01T10:00:00.000Z"}`,
	)
	h.clock.Advance(time.Minute)
	c := h.as(auth.Editor)
	c.expect(c.get("/report"), 200, "Save this report", "A saved report keeps its figures", "!Compare with", "!>Change<")
	c.expect(c.post("/report", "title", " "), 422, `id="f-title-error">Title is required`)
	c.expect(c.post("/report", "title", strings.Repeat("x", 121)), 422, "Title must have at most 120 characters")
	c.expect(c.follow(c.post("/report", "title", "Board <1>"), "/report"), 200, "The report is saved.", "Board &lt;1&gt;", "Compare with", "no change", "Unchanged", ">editor<")
	if !h.hasAuditEvent("report.saved", auth.Editor) {
		t.Error("the audit log has no report.saved event by the editor")
	}
	h.clock.Advance(time.Hour)
	h.importRecords(
		`{"object":"risk","risk_id":"RISK-A","title":"Wrong letters","description":"One of many.","severity":"CRITICAL","likelihood":"RARE","status":"Open"}`,
		`{"object":"risk","risk_id":"RISK-B","title":"Leaked prompts","description":"Another one.","severity":"HIGH","likelihood":"LIKELY","status":"Open"}`,
		`{"object":"assessment","overall_score":66,"adjusted_score":61,"verdict":"OPTIMIZATION","methodology_version":"4","completed_at":"2026-10-01T12:30:00.000Z"}`,
		`{"object":"incident","incident_key":"I-1","title":"Letters sent twice","incident_type":"other","severity":"high","status":"open"}`,
	)
	viewer := h.as(auth.Viewer)
	viewer.expect(viewer.get("/report"), 200, "Up from medium", ">New<", "&#43;6", "&#43;1", "1 risk was added and 1 incident was declared.", "Leaked prompts", "Letters sent twice",
		"The verdict was remediation.", "Compared with “Board &lt;1&gt;”")
	c.follow(c.post("/report", "title", "Board 2"), "/report")
	r := c.get("/report")
	c.expect(r, 200, "Compared with “Board 2”", "0 risks were added", "!Up from medium")
	first := testkit.QuerySQL(t, h.path, "SELECT id FROM saved_reports ORDER BY seq LIMIT 1")[0]
	c.expect(c.get("/report?since="+first), 200, "Compared with “Board &lt;1&gt;”", "Up from medium")
	c.expect(c.get("/report?since="+unknownID), 404)
	viewer.expect(viewer.post("/report", "title", "No"), 403)
	other := h.as(auth.Admin)
	other.follow(other.post("/organisation", "name", "subsidiary", "next", "/"), "/")
	other.expect(other.get("/report?since="+first), 404)
	other.expect(other.get("/report"), 200, "No assessment yet", "0 open risks", "!Board 2")
}

// TestReport_PlanWithoutIncidents checks that the report has no incidents if the plan does
// not include them.
func TestReport_PlanWithoutIncidents(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	if _, err := h.store.Orgs.SetPlan(t.Context(), h.by(), db.DefaultOrganisation, db.Starter, ""); err != nil {
		t.Fatal(err)
	}
	c := h.as(auth.Viewer)
	c.expect(c.get("/report"), 200, "Top risks", "!Incidents and clocks", "!Swedish authority asks", "!incident was declared", "!Open incidents")
}

// TestReport_Bounds checks that the page has few rows with many records.
func TestReport_Bounds(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: usersOnly})
	h.importManyRecords(300)
	c := h.as(auth.Viewer)
	r := c.get("/report")
	c.expect(r, 200, "And 42 more regimes", "300 risks were added")
	if rows := strings.Count(r.body, "<tr>"); rows > 80 || len(r.body) > 60_000 {
		t.Errorf("got %d rows and %d bytes, want at most 80 and 60,000", rows, len(r.body))
	}
}

// importManyRecords imports n records of each type that the report lists, with long texts.
func (h *harness) importManyRecords(n int) {
	h.t.Helper()
	long := strings.Repeat("A long text that fills several lines of the page. ", 5)
	var lines []string
	for i := range n {
		month := i%12 + 1
		lines = append(lines,
			fmt.Sprintf(`{"object":"risk","risk_id":"RISK-%d","title":"Risk %d. %.200s","description":"One of many.","severity":"CRITICAL","likelihood":"LIKELY","residual_severity":"HIGH","status":"Open","owner_name":"%.60s","target_date":"2026-%02d-01"}`, 10_000+i, i, long, long, month),
			fmt.Sprintf(`{"object":"obligation","obligation_key":"O-%d","regime_id":"regime-%d","regime_name":"Regime %d. %.150s","jurisdiction":"EU","title":"Obligation %d. %.200s","priority_band":"HIGH","status":"in_progress","owner_role":"%.60s","target_date":"2026-%02d-01"}`, i, i%60, i%60, long, i, long, long, month),
			fmt.Sprintf(`{"object":"incident","incident_key":"I-%d","title":"Incident %d. %.200s","incident_type":"other","severity":"critical","status":"open","notification_required":true,"notification_deadline":"2026-10-02T10:00:00.000Z"}`, i, i, long),
			fmt.Sprintf(`{"object":"kpi","code":"K-%d","statement":"One of many.","metric_name":"KPI %d. %.150s","unit":"percent","direction":"increase","baseline_value":10,"target_value":90,"current_value":%d,"current_as_of":"2026-09-01T00:00:00.000Z","measurement_frequency":"monthly","status":"active"}`, i, i, long, 20+i%60),
		)
	}
	for i := range 40 {
		lines = append(lines, fmt.Sprintf(`{"object":"assessment","overall_score":%d,"adjusted_score":%d,"verdict":"REMEDIATION","methodology_version":"4","completed_at":"2023-%02d-%02dT10:00:00.000Z"}`, 40+i, 35+i, i%12+1, i%28+1))
	}
	h.importRecords(lines...)
}

// TestSummaries checks what is above the lists of the demonstration organisation. A filtered
// list and further pages have no summary.
func TestSummaries(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Viewer)
	c.expect(c.get("/compliance"), 200, "Progress by regime", "26 of 49 met", "Next deadlines", "General Data Protection Regulation", "Overdue")
	c.expect(c.get("/compliance?status=at_risk"), 200, "!Progress by regime")
	c.expect(c.get("/roadmap"), 200, "Timeline", "1 of 4 completed", "Stabilise", `class="marker tone-critical"`, "Jan 2027", "Today")
	if body := c.get("/roadmap").body; strings.Index(body, ">Stabilise<") > strings.Index(body, ">Embed<") || strings.Index(body, ">Embed<") > strings.Index(body, ">Certify<") {
		t.Error("the phases are not in the order of the roadmap")
	}
	c.expect(c.get("/roadmap?phase=Embed"), 200, "!Timeline")
	c.expect(c.get("/assessments"), 200, "Scores over time", "Adjusted score", "Score, 0 to 100", "Jan 2025")
	c.expect(c.get("/"), 200, "!Progress by regime")
	empty := newHarness(t, options{data: usersOnly}).as(auth.Viewer)
	for _, path := range []string{"/compliance", "/roadmap", "/assessments", "/signals"} {
		empty.expect(empty.get(path), 200, "!Progress by regime", "!Timeline", "!History")
	}
}

// TestSignalHistory checks the charts of signals with several values, above the list and on
// the page of a signal.
func TestSignalHistory(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: usersOnly})
	for i, value := range []string{`12,"rag":"RED"`, `7,"rag":"AMBER"`, `3,"rag":"GREEN"`} {
		h.importRecords(fmt.Sprintf(`{"object":"signal","signal_type":"risk.open_critical","module_id":"register","numeric_value":%s,"as_of":"2026-0%d-01T00:00:00.000Z"}`, value, 7+i))
	}
	h.importRecords(`{"object":"signal","signal_type":"other.once","module_id":"register","numeric_value":1,"rag":"RED","as_of":"2026-07-01T00:00:00.000Z"}`)
	c := h.as(auth.Viewer)
	shown := []string{"risk.open_critical: 12 at 1 Jul 2026, 3 at 1 Sep 2026.", `class="marker tone-critical"`, `class="marker tone-medium"`, `class="marker tone-good"`, "As a table", ">Red<"}
	r := c.get("/signals")
	c.expect(r, 200, append(shown, "History", "!other.once: ")...)
	c.expect(c.get(h.pathOf("/signals", "signal", "risk.open_critical")), 200, shown...)
}
