package web_test

import (
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/auth"
)

// besideLink returns the path of the previous or the next record on a page, or "".
func besideLink(r response, rel string) string {
	match := regexp.MustCompile(`rel="` + rel + `" href="([^"]+)"`).FindStringSubmatch(r.body)
	if match == nil {
		return ""
	}
	return html.UnescapeString(match[1])
}

// TestRecord_Neighbours goes from the first record of a view to the last one and back. The
// order is that of the list.
func TestRecord_Neighbours(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Viewer)
	for _, view := range []string{"/risks", "/risks?severity=HIGH&status=Open", "/risks?sort=-severity", "/risks?q=model", "/roadmap?sort=target_date", "/roadmap/versions", "/signals?rag=RED%2CAMBER"} {
		t.Run(view, func(t *testing.T) {
			var listed, forwards, backwards []string
			for _, match := range regexp.MustCompile(`<th scope="row"[^>]*><a href="([^"]+)"`).FindAllStringSubmatch(c.get(view).body, -1) {
				listed = append(listed, html.UnescapeString(match[1]))
			}
			for path := listed[0]; path != ""; {
				forwards = append(forwards, path)
				r := c.get(path)
				c.expect(r, 200)
				if path = besideLink(r, "next"); path == "" {
					for path := forwards[len(forwards)-1]; path != ""; path = besideLink(c.get(path), "prev") {
						backwards = append([]string{path}, backwards...)
					}
				}
				if len(forwards) > len(listed) {
					break
				}
			}
			if diff := cmp.Diff(listed, forwards); diff != "" {
				t.Errorf("forwards (-listed +got):\n%s", diff)
			}
			if diff := cmp.Diff(listed, backwards); diff != "" {
				t.Errorf("backwards (-listed +got):\n%s", diff)
			}
		})
	}
	c.expect(c.get(h.pathOf("/risks", "risk", "RISK-0001")+"?severity=none"), 200, `!rel="next"`)
}

// TestRecord_FoldsIDs checks that facts come first and that the id is folded away.
func TestRecord_FoldsIDs(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Viewer)
	kpi := h.find("kpi", "KR-AGT-01")
	r := c.get("/kpis/" + text(kpi["id"]))
	c.expect(r, 200)
	expectOrder(t, r.body, "Details", "<dt>Status", `<summary>ID and times</summary>`, text(kpi["id"]), text(kpi["objective_id"]), "</details>", "Links", "Attachments", "Comments", "History")
	if n := strings.Count(r.body, text(kpi["objective_id"])); n != 1 {
		t.Errorf("got the id of the objective %d times, want it folded away only", n)
	}
}

// TestRecord_Ratings shows the untreated baseline, the inherent and the residual severity of
// a risk, and how they changed.
func TestRecord_Ratings(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: usersOnly})
	h.importRecords(`{"object":"risk","risk_id":"R-1","description":"d","severity":"HIGH","likelihood":"LIKELY"}`)
	at := h.pathOf("/risks", "risk", "R-1")
	c := h.as(auth.Editor)
	c.expect(c.get(at), 200, "Untreated baseline", "Inherent severity", "Residual severity")
	h.clock.Advance(10 * 24 * time.Hour)
	h.importRecords(`{"object":"risk","risk_id":"R-1","description":"d","severity":"CRITICAL"}`)
	h.clock.Advance(10 * 24 * time.Hour)
	h.importRecords(`{"object":"risk","risk_id":"R-1","description":"d","residual_severity":"LOW"}`)
	h.clock.Advance(20 * 24 * time.Hour)
	c = h.anonymous()
	c.expect(c.post("/signin", "name", "viewer", "password", password), 303)
	c.expect(c.get(at), 200, "Inherent severity: high from 1 Oct 2026, critical from 11 Oct 2026.", "Residual severity: not rated from 1 Oct 2026, low from 21 Oct 2026.",
		`<rect class="tone-high" x="0.0" width="248.0" height="10"/><rect class="tone-critical" x="250.0" width="748.0" height="10"/>`, "As a table")
}

// TestRecord_History shows changes from the API, the dashboard, an import and the command
// line, with values and names as people know them.
func TestRecord_History(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Editor)
	at := h.pathOf("/kpis", "kpi", "KR-LIT-01")
	c.expect(c.post(at+"/checkins", "value", "91.5", "period_start", "2026-09-01", "source", "manual"), 303)
	c.expect(c.post(h.pathOf("/kpis", "kpi", "KR-INV-01")+"/checkins", "value", "77.25", "period_start", "2026-09-01", "source", "manual"), 303)
	c.expect(c.get(at), 200, "<b>Check-in created</b>", "by editor", "Period from 1 Sep 2026", "<ins>91.5</ins>", "!77.25", "imported from demo.ndjson")

	_, key, err := h.store.Keys.Mint(t.Context(), h.by(), db.KeyDraft{Name: "reporting", Kind: db.LiveKey, Scopes: []string{"write:risks"}})
	if err != nil {
		t.Fatal(err)
	}
	c.expect(h.callAPI("POST", "/risks", key, `{"title":"Through the API","description":"A model drifts away from its data.","severity":"HIGH","likelihood":"LIKELY"}`), 201)
	r := c.get(h.pathOf("/risks", "risk", "Through the API"))
	c.expect(r, 200, "<b>Created</b>", "by the key reporting (API)", "<ins>High</ins>")

	c.expect(c.get(h.pathOf("/risks", "risk", "RISK-0040")), 200, "by the command line", "<ins>2,400,000</ins>", "imported from demo.ndjson")

	signal := h.find("signal", "")
	h.importRecords(`{"object":"signal","signal_type":"` + text(signal["signal_type"]) + `","numeric_value":3,"rag":"RED","as_of":"2026-12-01T00:00:00Z","source_version":"1","module_id":"m"}`)
	c.expect(c.get(h.pathOf("/signals", "signal", text(signal["signal_type"]))), 200, "<b>Updated</b>", "<b>Created</b>") // of the former value
}
