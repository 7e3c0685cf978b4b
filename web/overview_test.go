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
	"govsvc/db/audit"
	"govsvc/db/auth"
	"govsvc/internal/testkit"
)

// TestOverview checks the overview of the demonstration organisation.
func TestOverview(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Viewer)
	r := c.get("/")
	c.expect(r, 200,
		"Optimization", "71.3", `<title id="score-title">Overall score: 47.8 at 27 Nov 2024, 71.3 at 7 Oct 2026.</title>`, // assessment
		"54 of 116 applicable", "EU AI Act (Regulation (EU) 2024/1689): 16 compliant, 15 in progress, 5 at risk, 1 non compliant, 7 not started.",
		"Claims agent sent settlement letters to former addresses", "51 days left", `data-now="2026-10-01T12:00:00.000Z"`,
		"47.8\u00a0%, target 45\u00a0%", "0.81, target 0.85", "Import completed", "459 records", "Command line",
		"Caduveo Medical Evidence Ltd", "60 days",
		"!No records yet", "!signed in", "!User created")
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
	cells := regexp.MustCompile(`<td class="tone-\w+"><a href="([^"]+)" aria-label="(\d+ open risks?), severity \w+, likelihood [^"]+">(\d+)</a></td>`).FindAllStringSubmatch(page, -1)
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
	tiles := regexp.MustCompile(`<p class="tile-label"><a href="([^"]+)">Open (?:risks|incidents)</a></p><p class="tile-value">(\d+)</p>`).FindAllStringSubmatch(page, -1)
	levels := regexp.MustCompile(`<li><a href="([^"]+)">(\d+)</a> <span class="badge`).FindAllStringSubmatch(page, -1)
	bands := regexp.MustCompile(`<li><a href="(/vendors[^"]+)">.*?<span>(\d+)<span`).FindAllStringSubmatch(page, -1)
	if len(tiles) != 2 || len(levels) != 3 || len(bands) != 4 {
		t.Fatalf("got links at %d tiles, %d incident severities and %d vendor risk bands, want 2, 3 and 4", len(tiles), len(levels), len(bands))
	}
	for _, link := range append(append(tiles, levels...), bands...) {
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
	c.expect(r, 200, "2 notifications overdue")
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
	c.expect(c.get("/"), 200, "!No records yet", "Not rated", "No assessments yet.", "No open incidents.", "No pending notifications",
		"No active KPIs.", "No obligations yet.", "No vendors yet.", "none applicable")
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
	c.expect(c.get("/"), 200, "Open risks by severity", "!Notification clocks", "!Open incidents", "!Claims agent sent")
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

// TestOverview_RecentChanges checks that the overview lists recent changes to records,
// with the changed fields and the user. It omits sign-ins.
func TestOverview_RecentChanges(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	risk := h.find("risk", "claims")["id"].(string)
	err := h.store.Write(t.Context(), db.Actor{Org: h.by().Org, ID: h.user("editor").ID}, func(tx *db.Tx) error {
		if err := tx.Audit(audit.Event{
			Action: "risk.updated", Category: audit.DataChange, Severity: audit.SeverityWrite, ResourceType: "risk", ResourceID: risk,
			Metadata: audit.Metadata{"changes": audit.Changes{"severity": {From: "HIGH", To: "LOW"}, "owner_name": {From: "Ada", To: nil}}},
		}); err != nil {
			return err
		}
		return tx.Audit(audit.Event{Action: "user.signed_in", Category: audit.Authentication, Severity: audit.SeverityRead})
	})
	if err != nil {
		t.Fatal(err)
	}
	c := h.as(auth.Viewer)
	c.expect(c.get("/"), 200, `<a href="/risks/`+risk+`">Risk updated</a>`, "· Owner, Severity", ", editor</p>", "!signed in")
}
