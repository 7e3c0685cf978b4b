package api_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/db/resource"
	"govsvc/internal/testkit"
	"govsvc/server/api"
)

// TestForm_Fields checks which members a form has.
func TestForm_Fields(t *testing.T) {
	t.Parallel()
	doc := testkit.Document(t)
	for _, row := range []struct {
		object   string
		changing bool
		want     string
	}{
		{"risk", false, "title description severity likelihood dimension mitigation_action owner_name target_date"},
		{"risk", true, "title severity residual_severity likelihood status owner_name mitigation_action target_date residual_gap_reason severity_change_reason description dimension financial_exposure_min financial_exposure_max source"},
		{"incident", true, "title description incident_type severity status affected_systems jurisdictions owner notification_required notification_deadline notified_at incident_key"},
		{"kpi", true, "objective_id statement metric_name unit direction baseline_value target_value current_value current_as_of measurement_frequency status"},
		{"roadmap", true, "executive_summary framework_blend phases milestones_count generated_at"},
		{"kpi_checkin", false, "key_result_code value period_start source evidence_ref note"},
		{"kpi_checkin", true, ""},
		{"signal", false, "signal_type numeric_value module_id rag source_version as_of"},
		{"signal", true, "numeric_value module_id rag source_version as_of"},
		{"milestone", false, "milestone_key title phase sequence status rag_status progress_pct owner_role target_date roadmap_version"},
		{"milestone", true, "title phase sequence status rag_status progress_pct owner_role target_date"},
		{"obligation", true, "regime_id regime_name jurisdiction title priority_band status owner_role target_date"},
		{"assessment", false, "overall_score adjusted_score verdict confidence methodology_version completed_at completeness evidence_ratio frameworks_applied"},
		{"assessment", true, "overall_score adjusted_score verdict confidence methodology_version completeness evidence_ratio frameworks_applied"},
		{"talent_gap", false, "gap_key role_title function_area headcount_needed priority_band recommended_path status owner_role target_date"},
		{"user", false, ""},
	} {
		var names []string
		for _, f := range api.FormFields(doc, row.object, row.changing) {
			names = append(names, f.Name)
		}
		want := strings.Fields(row.want)
		slices.Sort(names) // package openapi tests the order
		slices.Sort(want)
		if diff := cmp.Diff(want, names, cmp.Transformer("none", func(s []string) string { return strings.Join(s, " ") })); diff != "" {
			t.Errorf("%s, changing %v (-want +got):\n%s", row.object, row.changing, diff)
		}
	}
}

// TestForm_Body checks the body that a submitted form becomes.
func TestForm_Body(t *testing.T) {
	t.Parallel()
	doc := testkit.Document(t)
	for _, row := range []struct {
		object, form, current, want string // current "" is a new record
	}{
		{"risk", "title=T&description=Line%0D%0Aline&severity=HIGH&owner_name=&dimension=&target_date=&extra=1&csrf=2", "", `{"title":"T","description":"Line\nline","severity":"HIGH"}`},
		{"risk", "title=&severity=", "", `{}`},
		{
			"risk", "title=T&severity=LOW&owner_name=&status=Open&severity_change_reason=", `{"title":"T","severity":"HIGH","owner_name":"Ada","status":"Open"}`,
			`{"severity":"LOW","owner_name":null}`,
		},
		{"risk", "title=%20&severity=&likelihood=", `{"title":"T","severity":"HIGH","likelihood":null}`, `{"title":null,"severity":""}`},
		{"incident", "title=", `{"title":"T"}`, `{"title":""}`},
		{"incident", "notification_required=false&notification_required=true", "", `{"notification_required":true}`},
		{"incident", "notification_required=false", "", `{"notification_required":false}`},
		{"incident", "notification_required=false", `{"notification_required":false}`, `{}`},
		{"incident", "title=T", `{"title":"S","notification_required":true}`, `{"title":"T"}`},
		{"incident", "notification_required=perhaps", "", `{"notification_required":"perhaps"}`},
		{"incident", "notification_deadline=2026-10-04T12:30", "", `{"notification_deadline":"2026-10-04T12:30:00Z"}`},
		{"incident", "notification_deadline=2026-10-04T12:30:15", "", `{"notification_deadline":"2026-10-04T12:30:15Z"}`},
		{"incident", "notification_deadline=2026-10-04T12:30:00%2B02:00", "", `{"notification_deadline":"2026-10-04T12:30:00+02:00"}`},
		{"incident", "notification_deadline=tomorrow", "", `{"notification_deadline":"tomorrow"}`},
		{"incident", "notification_deadline=2026-10-04T12:30", `{"notification_deadline":"2026-10-04T12:30:59.000Z"}`, `{}`},
		{"incident", "notification_deadline=2026-10-04T12:31", `{"notification_deadline":"2026-10-04T12:30:59.000Z"}`, `{"notification_deadline":"2026-10-04T12:31:00Z"}`},
		{"incident", "title=a:00Z", `{"title":"a:b"}`, `{"title":"a:00Z"}`},
		{"vendor", "annual_cost_usd=%201200.50%20", "", `{"annual_cost_usd":1200.50}`},
		{"vendor", "annual_cost_usd=1.200,50", "", `{"annual_cost_usd":"1.200,50"}`},
		{"vendor", "annual_cost_usd=0x10", "", `{"annual_cost_usd":"0x10"}`},
		{"vendor", "annual_cost_usd=NaN", "", `{"annual_cost_usd":"NaN"}`},
		{"vendor", "annual_cost_usd=", `{"annual_cost_usd":5}`, `{"annual_cost_usd":null}`},
		{"vendor", "annual_cost_usd=5", `{"annual_cost_usd":5}`, `{}`},
		{"assessment", "frameworks_applied=NIST+AI+RMF%0D%0A%0D%0AISO+42001%3B+EU+AI+Act+%3B", "", `{"frameworks_applied":["NIST AI RMF","ISO 42001","EU AI Act"]}`},
		{"assessment", "frameworks_applied=", "", `{"frameworks_applied":[]}`},
		{"assessment", "overall_score=51.5&completed_at=2026-09-30T10:00", "", `{"overall_score":51.5,"completed_at":"2026-09-30T10:00:00Z"}`},
	} {
		values, err := url.ParseQuery(row.form)
		if err != nil {
			t.Fatal(err)
		}
		var current api.Record
		if row.current != "" {
			current = testkit.Object(t, row.current)
		}
		body, err := api.FormBody(api.FormFields(doc, row.object, current != nil), values, current)
		if err != nil {
			t.Errorf("%s %s: got %v", row.object, row.form, err)
			continue
		}
		if diff := cmp.Diff(testkit.Object(t, row.want), body); diff != "" {
			t.Errorf("%s %s on %s (-want +got):\n%s", row.object, row.form, row.current, diff)
		}
	}
	_, err := api.FormBody(api.FormFields(doc, "risk", false), map[string][]string{"title": {"\xff"}, "description": {"\xfe"}}, nil)
	if got := refusal(err); got != "invalid_parameter title: title must be valid UTF-8" {
		t.Errorf("invalid UTF-8: got %q", got)
	}
}

// TestForm_RoundTrip checks that a form that is submitted unchanged changes nothing.
func TestForm_RoundTrip(t *testing.T) {
	t.Parallel()
	f := newDemoFixture(t)
	for _, r := range resource.Pages() {
		if !r.Editable {
			continue
		}
		page, err := api.Browse(f.ctx, f.Caller, r.Type, api.View{Limit: 200})
		if err != nil {
			t.Fatal(err)
		}
		fields := api.FormFields(f.Document, r.Type, true)
		for _, record := range page.Records {
			values := api.FormValues(fields, record)
			for _, texts := range values {
				texts[0] = strings.ReplaceAll(texts[0], "\n", "\r\n") // as browsers send it
			}
			body, err := api.FormBody(fields, values, record)
			if err != nil {
				t.Fatal(err)
			}
			if len(body) > 0 {
				t.Errorf("%s %v: got body %v, want none", r.Type, record, body)
			}
		}
	}
}

// TestForm_Rows checks the members that a form shows as rows of fields.
func TestForm_Rows(t *testing.T) {
	t.Parallel()
	doc := testkit.Document(t)
	for _, row := range []struct{ object, form, want string }{
		{"roadmap", "phases=rows&phases.0.phase=A&phases.0.objective=B%0D%0AC&phases.1.phase=&phases.1.objective=+&phases.7.phase=D", `{"phases":[{"phase":"A","objective":"B\nC"},{"phase":"D"}]}`},
		{"roadmap", "phases=rows&phases.x.phase=A&phases.-1.phase=A&phases.0.other=A&phases.0=A", `{"phases":[]}`},
		{"roadmap", "phases.0.phase=A", `{}`},
		{"roadmap", "framework_blend=rows&framework_blend.0.name=NIST&framework_blend.0.value=0.6&framework_blend.1.name=ISO&framework_blend.1.value=much", `{"framework_blend":{"NIST":0.6,"ISO":"much"}}`},
		{"vendor_portfolio", "cross_vendor_risks=rows&cross_vendor_risks.0.text=One%3B+two", `{"cross_vendor_risks":["One; two"]}`},
		{"talent_readiness", "build_buy_borrow=rows&build_buy_borrow.0.build=1&build_buy_borrow.0.buy=0", `{"build_buy_borrow":{"build":1,"buy":0}}`},
		{"talent_readiness", "build_buy_borrow=rows&build_buy_borrow.0.build=", `{}`},
		{"compliance_posture", "regimes=rows&regimes.0.regime_id=gdpr&regimes.0.posture=COMPLIANT&regimes.0.open_obligations=3", `{"regimes":[{"regime_id":"gdpr","posture":"COMPLIANT","open_obligations":3}]}`},
	} {
		values, err := url.ParseQuery(row.form)
		if err != nil {
			t.Fatal(err)
		}
		body, err := api.FormBody(api.FormFields(doc, row.object, false), values, nil)
		if err != nil {
			t.Errorf("%s %s: got %v", row.object, row.form, err)
		}
		if diff := cmp.Diff(testkit.Object(t, row.want), body); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", row.object, row.form, diff)
		}
	}
	for form, want := range map[string]string{
		"framework_blend=rows&framework_blend.0.value=1": "invalid_parameter framework_blend[0].name: name is required",
		"framework_blend=rows&framework_blend.0.name=A":  "invalid_parameter framework_blend[0].value: value is required",
		"framework_blend=rows&framework_blend.0.name=A&framework_blend.0.value=1&framework_blend.3.name=A&framework_blend.3.value=1": "invalid_parameter framework_blend[1].name: name must be different in each row",
	} {
		values, err := url.ParseQuery(form)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = api.FormBody(api.FormFields(doc, "roadmap", false), values, nil); refusal(err) != want {
			t.Errorf("%s: got %q, want %q", form, refusal(err), want)
		}
	}
	many := url.Values{"phases": {"rows"}}
	for i := range api.MaxRows + 5 {
		many.Set(api.RowField("phases", i, "phase"), "P")
	}
	body, err := api.FormBody(api.FormFields(doc, "roadmap", false), many, nil)
	if phases, _ := body["phases"].([]any); err != nil || len(phases) != api.MaxRows {
		t.Errorf("got %d rows and %v, want %d", len(phases), err, api.MaxRows)
	}
}
