package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/dashboard"
	"govsvc/server/api"
	"govsvc/server/transfer"
)

// TestOverview compares the overview with counts of all records of the demonstration.
func TestOverview(t *testing.T) {
	t.Parallel()
	f := newDemoFixture(t)
	every := func(object string) []api.Record {
		page, err := api.Browse(f.ctx, f.Caller, object, api.View{Limit: 200})
		if err != nil || page.Next != "" {
			t.Fatalf("%s: %v, next %q", object, err, page.Next)
		}
		return page.Records
	}
	page, err := api.Overview(f.ctx, f.Caller)
	if err != nil {
		t.Fatal(err)
	}
	text := func(v any) string { s, _ := v.(string); return s }
	count := func(records []api.Record, key func(api.Record) (string, bool)) map[string]int {
		counts := map[string]int{}
		for _, r := range records {
			if name, counted := key(r); counted {
				counts[name]++
			}
		}
		return counts
	}
	compare := func(name string, want, got map[string]int) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	risks := map[string]int{}
	for _, c := range page.Risks {
		risks[c.Severity+" "+c.Likelihood] = c.Count
	}
	compare("open risks", count(every("risk"), func(r api.Record) (string, bool) {
		return text(r["severity"]) + " " + text(r["likelihood"]), r["status"] == "Open" || r["status"] == "InProgress"
	}), risks)
	regimes := map[string]int{}
	for _, regime := range page.Obligations {
		total := 0
		for status, n := range regime.ByStatus {
			regimes[regime.RegimeID+" "+regime.RegimeName+" "+status] = n
			total += n
		}
		if total != regime.Total {
			t.Errorf("%s: got %d obligations, want %d", regime.RegimeID, regime.Total, total)
		}
	}
	compare("obligations", count(every("obligation"), func(r api.Record) (string, bool) {
		return text(r["regime_id"]) + " " + text(r["regime_name"]) + " " + text(r["status"]), true
	}), regimes)
	phases := map[string]int{}
	for _, p := range page.Phases {
		phases[p.Name] = p.Total
	}
	compare("milestones", count(every("milestone"), func(r api.Record) (string, bool) { return text(r["phase"]), r["status"] != "cancelled" }), phases)
	compare("open incidents", count(every("incident"), func(r api.Record) (string, bool) {
		return text(r["severity"]), slices.Contains([]string{"open", "investigating", "contained"}, text(r["status"]))
	}), page.Incidents.BySeverity)
	attained := map[string]*float64{}
	for _, k := range page.Kpis {
		attained[k.Code] = k.Attainment
	}
	wanted := map[string]*float64{}
	for _, r := range every("kpi") {
		if r["status"] == "active" {
			wanted[text(r["code"])] = api.Attainment(r)
		}
	}
	if diff := cmp.Diff(wanted, attained); diff != "" || len(wanted) != page.ActiveKpis {
		t.Errorf("%d KPIs (-want +got):\n%s", page.ActiveKpis, diff)
	}
	scores := every("assessment")
	if n := len(page.Assessments); n != min(12, len(scores)) || page.Assessments[n-1].ID != scores[0]["id"] ||
		page.Assessments[0].CompletedAt >= page.Assessments[n-1].CompletedAt {
		t.Errorf("got assessments %+v", page.Assessments)
	}
	if len(page.Recent) != 1 || page.Recent[0].Action != "import.completed" {
		t.Errorf("got recent events %+v", page.Recent)
	}
}

// TestOverview_Deadlines checks the deadlines of regimes and of the phases of the roadmap.
func TestOverview_Deadlines(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	empty, err := api.Overview(f.ctx, f.Caller)
	if err != nil || len(empty.Assessments) != 0 || empty.OpenRisks != 0 || empty.Incidents.Open != 0 || !empty.MovementKnown {
		t.Errorf("an empty file: got %+v, %v", empty, err)
	}
	for i, row := range []struct{ regime, status, due string }{
		{"a", "in_progress", "2026-09-30"},
		{"a", "at_risk", "2026-10-01"},
		{"a", "not_started", "2026-12-01"},
		{"a", "compliant", "2026-01-01"},
		{"b", "compliant", "2026-10-05"},
	} {
		f.save(t, "obligation", "", map[string]any{
			"obligation_key": fmt.Sprint("o", i), "regime_id": row.regime, "regime_name": row.regime, "jurisdiction": "EU", "title": "t",
			"priority_band": "HIGH", "status": row.status, "target_date": row.due,
		})
	}
	page, err := api.Overview(f.ctx, f.Caller)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range page.Obligations {
		got = append(got, fmt.Sprintf("%s %d %d %s", r.RegimeID, r.Total, r.Overdue, r.NextDue))
	}
	if diff := cmp.Diff([]string{"a 4 1 2026-10-01", "b 1 0 "}, got); diff != "" {
		t.Errorf("regimes (-want +got):\n%s", diff)
	}
}

// TestOverview_Movement checks the counts of 30 days ago: they come from the creation of
// risks, and from the audit log of those that changed since.
func TestOverview_Movement(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	add := func(name, severity, likelihood, status string) string {
		id := f.save(t, "risk", "", map[string]any{"title": name, "description": "A risk that the test has added.", "severity": severity, "likelihood": likelihood})
		if status != "Open" {
			f.save(t, "risk", id, map[string]any{"status": status})
		}
		return id
	}
	const reason = "The control was tested twice and works as designed."
	add("same", "HIGH", "LIKELY", "Open")
	lower, closed, back := add("lower", "HIGH", "LIKELY", "Open"), add("closed", "HIGH", "LIKELY", "InProgress"), add("back", "LOW", "RARE", "Closed")
	edited := add("edited", "MEDIUM", "RARE", "Open")
	f.clock.Advance((dashboard.MovementDays + 1) * 24 * time.Hour)
	f.save(t, "risk", lower, map[string]any{"severity": "MEDIUM", "severity_change_reason": reason})
	f.save(t, "risk", lower, map[string]any{"severity": "LOW", "likelihood": "RARE", "severity_change_reason": reason})
	f.save(t, "risk", closed, map[string]any{"status": "Closed"})
	f.save(t, "risk", back, map[string]any{"status": "Open"})
	f.save(t, "risk", edited, map[string]any{"title": "edited again"})
	added := add("added", "CRITICAL", "LIKELY", "Open")
	f.save(t, "risk", added, map[string]any{"likelihood": "ALMOST_CERTAIN"})
	page, err := api.Overview(f.ctx, f.Caller)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range page.Risks {
		got = append(got, fmt.Sprintf("%s %s %d before %d", c.Severity, c.Likelihood, c.Count, c.Before))
	}
	slices.Sort(got)
	want := []string{"CRITICAL ALMOST_CERTAIN 1 before 0", "HIGH LIKELY 1 before 3", "LOW RARE 2 before 0", "MEDIUM RARE 1 before 1"}
	if diff := cmp.Diff(want, got); diff != "" || !page.MovementKnown || page.OpenRisks != 5 || page.OpenBefore != 4 {
		t.Errorf("%d open, %d before, known %v (-want +got):\n%s", page.OpenRisks, page.OpenBefore, page.MovementKnown, diff)
	}
}

// TestAttention checks the limits of queries, and that the plan decides about incidents.
// Package dashboard tests what needs attention.
func TestAttention(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.save(t, "incident", "", map[string]any{"title": "Clock", "notification_required": true})
	f.save(t, "vendor", "", map[string]any{"vendor_key": "v", "vendor_name": "Vendor", "category": "C", "initial_risk_band": "LOW", "contract_end": "2026-11-30"})
	for _, row := range []struct {
		plan      db.Plan
		query     api.AttentionQuery
		want, err string
	}{
		{db.Business, api.AttentionQuery{}, "Clock Vendor", ""},
		{db.Professional, api.AttentionQuery{}, "Vendor", ""},
		{db.Business, api.AttentionQuery{Type: "vendor"}, "Vendor", ""},
		{db.Business, api.AttentionQuery{Type: "signal"}, "", `invalid_parameter type: "signal" is not a type that needs attention`},
		{db.Business, api.AttentionQuery{Urgency: "soon"}, "", "invalid_parameter due: due must be one of overdue, week, month, quarter"},
		{db.Business, api.AttentionQuery{Limit: 201}, "", "invalid_parameter limit: limit must be from 1 to 200"},
		{db.Business, api.AttentionQuery{Owner: strings.Repeat("x", 501)}, "", "invalid_parameter owner: owner must have at most 500 characters"},
		{db.Business, api.AttentionQuery{Cursor: "x"}, "", "invalid_cursor cursor: cursor was not issued by this list; use a next_cursor without changes, or leave it out to start over"},
	} {
		f.onPlan(row.plan)
		page, err := api.Attention(f.ctx, f.Caller, row.query)
		var got []string
		for _, item := range page.Items {
			got = append(got, item.Name)
		}
		if joined := strings.Join(got, " "); joined != row.want || refusal(err) != row.err {
			t.Errorf("%s, %+v: got %q, %q, want %q, %q", row.plan, row.query, joined, refusal(err), row.want, row.err)
		}
		if summary, err := api.CountAttention(f.ctx, f.Caller, row.query); row.err == "" && (summary.Total != len(got) || err != nil) {
			t.Errorf("%s, %+v: got the summary %+v, %v", row.plan, row.query, summary, err)
		}
	}
}

// TestOverview_Recent checks that the events of the records of an import do not hide the
// changes before it, and that other events do not count.
func TestOverview_Recent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	vendor := func(i int) string {
		return fmt.Sprintf(`{"object":"vendor","vendor_key":"v%d","vendor_name":"V","category":"C","initial_risk_band":"LOW"}`, i)
	}
	f.save(t, "incident", "", map[string]any{"title": "Before the imports"})
	const records = 11_000 // more than are searched
	var lines []string
	for i := range records {
		lines = append(lines, vendor(i))
	}
	for _, source := range []transfer.Source{transfer.Bytes("large.ndjson", []byte(strings.Join(lines, "\n"))), transfer.Bytes("again.ndjson", []byte(vendor(1)))} {
		if _, err := transfer.Import(f.ctx, f.Store, f.Document, f.operator(), []transfer.Source{source}, transfer.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := api.SearchAudit(f.ctx, f.Caller, api.AuditSearch{}); err != nil { // is no change
		t.Fatal(err)
	}
	f.save(t, "incident", "", map[string]any{"title": "After the imports"})
	page, err := api.Overview(f.ctx, f.Caller)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, event := range page.Recent {
		got = append(got, event.Action)
	}
	if diff := cmp.Diff([]string{"incident.created", "import.completed", "import.completed", "incident.created"}, got); diff != "" {
		t.Errorf("recent events (-want +got):\n%s", diff)
	}
}
