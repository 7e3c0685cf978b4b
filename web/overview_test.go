package web_test

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/internal/testkit"
)

// maxPage bounds the HTML of a page in bytes. With its compressed style sheet and scripts,
// a page has at most 60 KB.
const maxPage = 50_000

// TestOverview checks the overview of the demonstration organisation.
func TestOverview(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Viewer)
	r := c.get("/")
	c.expect(r, 200,
		"Optimisation", "71.3", `<title id="score-title">Overall score: 47.8 at 27 Nov 2024, 71.3 at 7 Oct 2026.</title>`, // assessment
		"Verdict unchanged, 4.6 points higher since 10 Jun 2026.", "24 open, 5 critical",
		"54 of 116 met (46\u00a0%)", "EU AI Act (Regulation (EU) 2024/1689): 16 compliant, 15 in progress, 5 at risk, 1 non-compliant, 7 not started.",
		"3 of 14 completed", "Certify: 1 open.", "0 of 8 on target", "Near target: 80\u00a0% or more of the way to the target.",
		`<rect class="tone-critical" width="714`, `<span class="badge tone-critical">Off target</span>`, `<span class="badge tone-medium">Near target</span>`,
		"Claims agent sent settlement letters to former addresses", "51 days left", `data-now="2026-10-01T12:00:00.000Z"`,
		"47.8\u00a0%, target 45\u00a0%", "0.81, target 0.85", "Command line imported 459 records", "158 check-ins, 120 obligations, 40 risks",
		"!No records yet", "!signed in", "!User created", "!class=\"tone-info\" width") // no bar of a KPI is blue
	expectOrder(t, r.body, `id="attention"`, `id="assessment"`, `id="incidents"`, `id="kpis"`, `id="risks"`, `id="obligations"`, `id="roadmap"`, `id="changes"`)
	expectOrder(t, r.body, ">Stabilise</a>", ">Embed</a>", ">Conform</a>", ">Certify</a>") // as in the roadmap
	if len(r.body) > maxPage {
		t.Errorf("the page has %d bytes, want at most %d", len(r.body), maxPage)
	}
	if low, high := strings.Index(r.body, "Lowest selection-rate"), strings.Index(r.body, "Triage proposals changed"); low < 0 || high < low {
		t.Errorf("the KPI furthest from its target is not the first: got positions %d and %d", low, high)
	}
	ids := map[string]bool{}
	for _, id := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(r.body, -1) {
		if ids[id[1]] {
			t.Errorf("two elements have the ID %s", id[1])
		}
		ids[id[1]] = true
	}
	for _, id := range regexp.MustCompile(` aria-labelledby="([^"]*)"`).FindAllStringSubmatch(r.body, -1) {
		if !ids[id[1]] {
			t.Errorf("no element has the ID %s", id[1])
		}
	}
}

// TestOverview_Links checks that each number links to a list with that number of
// records.
func TestOverview_Links(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Viewer)
	page := c.get("/").body
	cells := regexp.MustCompile(`<td class="tone-\w+"><a href="([^"]+)" aria-label="(\d+(?: [^" ]+)? open risks?), severity \w+, likelihood [^"]+"><span>(\d+)[ <]`).FindAllStringSubmatch(page, -1)
	if len(cells) != 9 {
		t.Fatalf("%d cells of the heat map link to lists, want 9", len(cells))
	}
	counted := regexp.MustCompile(`<p class="muted">(\d+) \w+</p>`)
	count := func(path string) string {
		r := c.get(html.UnescapeString(path))
		found := counted.FindStringSubmatch(r.body)
		if r.status != http.StatusOK || found == nil {
			t.Fatalf("%s: got status %d and no count, want 200 and a count", path, r.status)
		}
		return found[1]
	}
	for _, cell := range cells {
		if got := count(cell[1]); got != cell[3] {
			t.Errorf("%s lists %s records, want %s", cell[1], got, cell[2])
		}
	}
	all := regexp.MustCompile(`<h2 id="risks"><a href="([^"]+)">Open risks</a> <span class="muted small">(\d+) open`).FindAllStringSubmatch(page, -1)
	levels := regexp.MustCompile(`<li><a href="([^"]+)">(\d+)</a> <span class="badge`).FindAllStringSubmatch(page, -1)
	phases := regexp.MustCompile(`<a href="(/roadmap\?phase[^"]+)">[^<]+</a> <span class="small muted">\d+ of (\d+) completed`).FindAllStringSubmatch(page, -1)
	if len(all) != 1 || len(levels) != 3 || len(phases) != 4 {
		t.Fatalf("got links at %d headings, %d incident severities and %d phases, want 1, 3 and 4", len(all), len(levels), len(phases))
	}
	for _, link := range append(append(all, levels...), phases...) {
		if got := count(link[1]); got != link[2] {
			t.Errorf("%s lists %s records, want %s", link[1], got, link[2])
		}
	}
}

// TestClocks checks that the overview counts down to each deadline for a notification
// of an authority. It marks overdue notifications.
func TestClocks(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: usersOnly})
	for i, left := range []time.Duration{-26 * time.Hour, -30 * time.Second, 59 * time.Minute, 13*time.Hour + 12*time.Minute, 71*time.Hour + 59*time.Minute, 72 * time.Hour} {
		h.importRecords(fmt.Sprintf(`{"object":"incident","incident_key":"I-%d","title":"Incident %d","incident_type":"other","severity":"high","status":"open","notification_required":true,"notification_deadline":%q}`,
			i, i, db.Timestamp(testkit.Start.Add(left))))
	}
	c := h.as(auth.Viewer)
	r := c.get("/")
	c.expect(r, 200, `<h3 class="alarm">Overdue <span class="muted">2</span></h3>`)
	found := regexp.MustCompile(`tone-(\w+)" data-until="[^"]+">([^<]+)<`).FindAllStringSubmatch(r.body, -1)
	var got []string
	for _, clock := range found {
		got = append(got, clock[1]+" "+clock[2])
	}
	want := []string{
		"critical 26 h 0 min overdue", "critical less than a minute overdue", "high 59 min left", "high 13 h 12 min left",
		"medium 71 h 59 min left", "medium 3 days left",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestOverview_WithoutRecords checks that without records the overview shows the next
// steps that the user's role allows.
func TestOverview_WithoutRecords(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: usersOnly})
	for role, texts := range map[auth.Role][]string{
		auth.Admin:  {"No records yet", `href="/import"`, `href="/keys/new"`, "govsvc serve --demo"},
		auth.Editor: {"No records yet", `href="/import"`, `!href="/keys/new"`},
		auth.Viewer: {"No records yet", `!href="/import"`, `!href="/keys/new"`, "Editors and admins can import a file"},
	} {
		c := h.as(role)
		c.expect(c.get("/"), 200, texts...)
	}
	h.importRecords(`{"object":"risk","risk_id":"R-1","title":"A risk","description":"Not rated.","status":"Open"}`)
	c := h.as(auth.Viewer)
	c.expect(c.get("/"), 200, "!No records yet", "Not rated", "No assessments yet.", "No open incidents.", "Nothing is overdue or due within 30 days.",
		"No active KPIs.", "No obligations yet.", "No milestones yet.")
}

// TestOverview_NeedsPlan checks that the overview hides incidents if the plan excludes
// them.
func TestOverview_NeedsPlan(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	if _, err := h.store.Orgs.SetPlan(t.Context(), h.by(), db.DefaultOrganisation, db.Professional, ""); err != nil {
		t.Fatal(err)
	}
	c := h.as(auth.Viewer)
	c.expect(c.get("/"), 200, "Open risks", "!Record notification", "!Open incidents", "!Claims agent sent")
	c.expect(c.get("/attention?type=incident"), 200, "No matching tasks")
}

// TestOverview_EscapesTexts checks that the overview escapes the texts of records.
func TestOverview_EscapesTexts(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: usersOnly})
	text := strings.ReplaceAll(hostile, `"`, `\"`)
	h.importRecords(
		`{"object":"incident","incident_key":"I","title":"`+text+`","incident_type":"other","severity":"high","status":"open","notification_required":true,"notification_deadline":"2026-10-02T00:00:00Z"}`,
		`{"object":"vendor","vendor_key":"v","vendor_name":"`+text+`","category":"c","initial_risk_band":"HIGH","contract_end":"2026-11-01","status":"active"}`,
		`{"object":"kpi","code":"k","statement":"`+text+`","metric_name":"`+text+`","unit":"`+text+`","direction":"increase","target_value":5,"current_value":2,"measurement_frequency":"monthly","status":"active"}`,
		`{"object":"obligation","obligation_key":"o","regime_id":"`+text+`","regime_name":"`+text+`","jurisdiction":"EU","title":"t","priority_band":"HIGH","status":"at_risk"}`,
	)
	c := h.as(auth.Viewer)
	r := c.get("/")
	c.expect(r, 200, html.EscapeString(hostile)[:30])
	if n := strings.Count(r.body, "&lt;script&gt;alert(1)"); n < 5 {
		t.Errorf("got the escaped text %d times, want at least 5:\n%s", n, r.body)
	}
	expectEscaped(t, "/", r)
}

// TestOverview_RecentActivity checks that the overview says who changed what of which
// record. It puts changes of the same record and of the same kind together, and omits
// sign-ins.
func TestOverview_RecentActivity(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Editor)
	claims, other := h.pathOf("/risks", "risk", "claims"), h.pathOf("/risks", "risk", "register")
	for _, change := range [][]string{{"owner_name", "Ada Byron"}, {"owner_name", "Grace", "target_date", "2027-01-31"}, {"owner_name", "Grace Hopper"}} {
		c.expect(c.post(claims, change...), 303)
	}
	c.expect(c.post(other, "target_date", "2027-01-31"), 303)
	for i := range 5 {
		c.expect(c.post("/signals", "signal_type", fmt.Sprintf("drift_%d", i), "numeric_value", "1", "rag", "RED", "as_of", "2026-10-01T10:00", "module_id", "m"), 303)
	}
	h.importRecords(`{"object":"risk","risk_id":"R-1","title":"A risk","description":"Not rated.","status":"Open"}`)
	h.importRecords(`{"object":"risk","risk_id":"R-1","title":"A risk","description":"Not rated.","status":"Open"}`) // changes nothing
	r := c.get("/")
	_, list, _ := strings.Cut(r.body, `id="changes"`)
	expectOrder(t, list, "Command line imported 1 record <span", "scene.ndjson: 1 risk",
		`editor added <a href="/signals">5 signals</a>`,
		`editor changed <a href="`+other+`">`, "Due: ", " → 31 Jan 2027<",
		`editor changed <a href="`+claims+`">Agent letters reach former addresses</a> <span class="muted small">Owner, Due</span>`,
		"Command line imported 459 records")
	if n := strings.Count(list, "<li>"); n != 5 {
		t.Errorf("got %d lines, want 5:\n%s", n, list)
	}
	c.expect(r, 200, "!signed in", "!Grace</")
}
