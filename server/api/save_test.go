package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/internal/testkit"
	"govsvc/server/api"
)

// validBodies are bodies that add a record of each type that Save can add.
var validBodies = map[string]string{
	"risk":               `{"title":"T","description":"A description of enough length.","severity":"HIGH","likelihood":"LIKELY"}`,
	"incident":           `{"title":"T","notification_required":true}`,
	"vendor":             `{"vendor_key":"acme","vendor_name":"Acme","category":"C","initial_risk_band":"LOW"}`,
	"assessment":         `{"completed_at":"2026-09-30T10:00:00Z","methodology_version":"3.2","verdict":"REMEDIATION","overall_score":51.5,"frameworks_applied":["NIST AI RMF"]}`,
	"signal":             `{"signal_type":"drift","module_id":"m","as_of":"2026-09-30T10:00:00Z","numeric_value":0.5,"rag":"GREEN"}`,
	"milestone":          `{"milestone_key":"m-1","title":"T","phase":"P","sequence":1,"status":"not_started","rag_status":"GREEN","owner_role":"R"}`,
	"roadmap":            `{"version_number":2,"generated_at":"2026-02-01T00:00:00Z","framework_blend":{"NIST AI RMF":0.6},"phases":[{"phase":"P","objective":"O"}]}`,
	"compliance_posture": `{"version_number":1,"overall_posture":"COMPLIANT","executive_summary":"S","generated_at":"2026-02-01T00:00:00Z","regimes":[{"regime_id":"gdpr","posture":"COMPLIANT","open_obligations":0}]}`,
	"vendor_portfolio":   `{"version_number":1,"portfolio_posture":"WATCH","executive_summary":"S","generated_at":"2026-02-01T00:00:00Z","cross_vendor_risks":["One region; one model"]}`,
	"talent_readiness":   `{"version_number":1,"overall_readiness":"READY","executive_summary":"S","build_buy_borrow":{"build":0.5,"buy":0.3,"borrow":0.2},"generated_at":"2026-02-01T00:00:00Z"}`,
	"talent_gap":         `{"gap_key":"g-1","role_title":"R","function_area":"F","headcount_needed":2,"priority_band":"LOW","recommended_path":"buy","status":"open"}`,
	"kpi":                `{"code":"KR-2","statement":"S","metric_name":"M","unit":"%","direction":"increase","target_value":90,"measurement_frequency":"monthly","status":"active"}`,
	"obligation":         `{"obligation_key":"o-1","regime_id":"r","regime_name":"R","jurisdiction":"EU","title":"T","priority_band":"HIGH","status":"not_started"}`,
}

// add adds a record with the valid body of its type.
func (f *fixture) add(t testing.TB, object string) string {
	t.Helper()
	return f.save(t, object, "", testkit.Object(t, validBodies[object]))
}

// newRoadmapFixture returns a fixture with a roadmap and a key result.
func newRoadmapFixture(t testing.TB) *fixture {
	t.Helper()
	f := newFixture(t)
	err := f.Store.Write(f.ctx, f.operator(), func(tx *db.Tx) error {
		for name, text := range map[string]string{
			"roadmap": `{"version_number":1,"generated_at":"2026-01-01T00:00:00Z"}`,
			"kpi": `{"code":"KR-01","statement":"S","metric_name":"M","unit":"%","direction":"increase","target_value":100,
				"measurement_frequency":"monthly","status":"active"}`,
		} {
			if _, err := tx.Put(name, testkit.Object(t, text)); err != nil {
				return err
			}
		}
		return tx.Audit(audit.Event{Action: "put", Category: audit.DataChange, Severity: audit.SeverityWrite})
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestSave_New adds a record of each type. It has the given members, the audit log has the
// user as its actor, and webhook events are enqueued.
func TestSave_New(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		events  []string
		members string
	}{
		"risk":               {[]string{"risk.created"}, `{"risk_id":"RISK-0001","status":"Open","source":"user_added","dimension":"OTHER","likelihood":"LIKELY"}`},
		"incident":           {nil, `{"incident_key":"INC-0001","status":"open","notification_deadline":"2026-10-04T12:00:00.000Z"}`},
		"vendor":             {nil, `{"status":"active"}`},
		"assessment":         {[]string{"assessment.completed", "verdict.changed"}, `{"verdict":"REMEDIATION","overall_score":51.5,"completed_at":"2026-09-30T10:00:00.000Z","frameworks_applied":["NIST AI RMF"]}`},
		"signal":             {nil, `{"rag":"GREEN","numeric_value":0.5}`},
		"milestone":          {[]string{"roadmap.updated"}, `{"roadmap_version":1,"progress_pct":0}`},
		"obligation":         {nil, `{"status":"not_started"}`},
		"roadmap":            {[]string{"roadmap.updated"}, `{"framework_blend":{"NIST AI RMF":0.6},"phases":[{"phase":"P","objective":"O"}]}`},
		"compliance_posture": {nil, `{"overall_posture":"COMPLIANT","primary_jurisdictions":[]}`},
		"vendor_portfolio":   {nil, `{"cross_vendor_risks":["One region; one model"],"recommended_actions":[]}`},
		"talent_readiness":   {nil, `{"build_buy_borrow":{"build":0.5,"buy":0.3,"borrow":0.2}}`},
		"talent_gap":         {nil, `{"headcount_needed":2}`},
		"kpi":                {nil, `{"target_value":90,"current_value":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRoadmapFixture(t)
			if name == "assessment" { // an earlier one has another verdict
				f.save(t, name, "", testkit.Object(t, `{"completed_at":"2026-06-30T10:00:00Z","methodology_version":"3.2","verdict":"CRISIS"}`))
			}
			events := f.webhookEvents(t)
			id := f.add(t, name)
			record := f.read(t, name, id)
			wanted := testkit.Object(t, want.members)
			for member, value := range wanted {
				if diff := cmp.Diff(value, record[member]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", member, diff)
				}
			}
			if record["created_at"] != db.Timestamp(testkit.Start) {
				t.Errorf("got created_at %v, want %v", record["created_at"], db.Timestamp(testkit.Start))
			}
			if diff := cmp.Diff(want.events, events()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			entry := f.auditLog(t, 1)[0]
			if !strings.HasPrefix(entry, "ada "+name+".created "+name+" "+id) || !strings.Contains(entry, `"request_id":"req_1"`) {
				t.Errorf("got audit event %s", entry)
			}
		})
	}
}

// TestSave_Checkin checks that check-ins follow the rules of the API. Their source is
// "manual".
func TestSave_Checkin(t *testing.T) {
	t.Parallel()
	f := newRoadmapFixture(t)
	for _, row := range []struct{ body, want string }{
		{`{"key_result_code":"KR-01","value":80,"period_start":"2026-08-01"}`, ""},
		{`{"key_result_code":"KR-01","value":85,"note":"n"}`, ""},
		{`{"key_result_code":"KR-01"}`, "invalid_parameter value: value is required"},
		{`{"key_result_code":"KR-01","value":"x"}`, "invalid_parameter value: value must be a number"},
		{`{"value":1}`, "invalid_parameter key_result_code: key_result_code is required"},
		{`{"key_result_code":"KR-02","value":1}`, "not_found key_result_code: key_result_code names no key result of this organisation"},
		{`{"key_result_code":"KR-01","value":1,"period_start":"soon"}`, "invalid_parameter period_start: period_start must be a date (YYYY-MM-DD) or an RFC 3339 timestamp"},
		{`{"key_result_code":"KR-01","value":1,"mood":"good"}`, "invalid_parameter mood: mood is not a known member"},
	} {
		_, err := api.Save(f.ctx, f.Caller, "kpi_checkin", "", testkit.Object(t, row.body))
		if got := refusal(err); got != row.want {
			t.Errorf("%s: got %q, want %q", row.body, got, row.want)
		}
	}
	page, err := api.Browse(f.ctx, f.Caller, "kpi", api.View{})
	if err != nil {
		t.Fatal(err)
	}
	kpi := page.Records[0]
	history, err := api.CheckinHistory(f.ctx, f.Caller, kpi["id"].(string))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, point := range history {
		got = append(got, fmt.Sprint(point["period_start"], " ", point["value"], " ", point["source"], " ", point["note"]))
	}
	if diff := cmp.Diff([]string{"2026-08-01 80 manual <nil>", "2026-10-01 85 manual n"}, got); diff != "" {
		t.Errorf("check-ins (-want +got):\n%s", diff)
	}
	if share := api.Attainment(kpi); share == nil || *share != 0.85 {
		t.Errorf("got attainment %v of %v, want 0.85", share, kpi)
	}
	if entry := f.auditLog(t, 1)[0]; !strings.HasPrefix(entry, "ada kpi_checkin.created kpi_checkin  ") {
		t.Errorf("got audit event %s", entry)
	}
}

// TestSave_Existing changes a record of each type. Its history has exactly this change.
func TestSave_Existing(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		object, body string
		events       []string
		history      []string
	}{
		{"risk", `{"status":"InProgress","owner_name":"Ada"}`, nil, []string{"risk.updated owner_name: <nil> → Ada", "risk.updated status: Open → InProgress"}},
		{
			"risk", `{"severity":"LOW","severity_change_reason":"A reason of at least 20 characters"}`,
			[]string{"risk.severity_changed"},
			[]string{"risk.updated severity: HIGH → LOW", "risk.updated severity_change_reason: <nil> → A reason of at least 20 characters"},
		},
		{"incident", `{"status":"contained"}`, nil, []string{"incident.updated status: open → contained"}},
		{"vendor", `{"annual_cost_usd":1200.5,"notes":null}`, nil, []string{"vendor.updated annual_cost_usd: <nil> → 1200.5"}},
		{"milestone", `{"status":"blocked","progress_pct":40}`, []string{"roadmap.updated"}, []string{"milestone.updated progress_pct: 0 → 40", "milestone.updated status: not_started → blocked"}},
		{"obligation", `{"status":"compliant"}`, nil, []string{"obligation.updated status: not_started → compliant"}},
		{"obligation", `{"status":"not_started"}`, nil, nil},
		{"signal", `{"rag":"RED"}`, nil, []string{"signal.updated rag: GREEN → RED"}}, // a correction
		// what the API does not change, by the rules of an import
		{"risk", `{"description":"Another text","financial_exposure_min":5}`, nil, []string{"risk.updated description: A description of enough length. → Another text", "risk.updated financial_exposure_min: <nil> → 5"}},
		{"vendor", `{"vendor_name":"Acme Inc.","status":"blocked"}`, nil, []string{"vendor.updated status: active → blocked", "vendor.updated vendor_name: Acme → Acme Inc."}},
		{"incident", `{"incident_key":"I-7","notified_at":"2026-10-01T12:00:00Z"}`, nil, []string{"incident.updated incident_key: INC-0001 → I-7", "incident.updated notified_at: <nil> → 2026-10-01T12:00:00.000Z"}},
		{"assessment", `{"verdict":"CRISIS","frameworks_applied":["A","B"]}`, nil, []string{"assessment.updated frameworks_applied: [NIST AI RMF] → [A B]", "assessment.updated verdict: REMEDIATION → CRISIS"}},
		{"roadmap", `{"framework_blend":{"A":1},"phases":[]}`, []string{"roadmap.updated"}, []string{"roadmap.updated framework_blend: map[NIST AI RMF:0.6] → map[A:1]", "roadmap.updated phases: [map[objective:O phase:P]] → []"}},
		{"compliance_posture", `{"primary_jurisdictions":["EU"]}`, nil, []string{"compliance_posture.updated primary_jurisdictions: [] → [EU]"}},
		{"vendor_portfolio", `{"recommended_actions":[{"action":"A","priority":"HIGH"}]}`, nil, []string{"vendor_portfolio.updated recommended_actions: [] → [map[action:A priority:HIGH]]"}},
		{"talent_readiness", `{"build_buy_borrow":{"build":1,"buy":0,"borrow":0}}`, nil, []string{"talent_readiness.updated build_buy_borrow: map[borrow:0.2 build:0.5 buy:0.3] → map[borrow:0 build:1 buy:0]"}},
		{"talent_gap", `{"status":"filled"}`, nil, []string{"talent_gap.updated status: open → filled"}},
		{"kpi", `{"target_value":95,"current_value":3}`, nil, []string{"kpi.updated current_value: <nil> → 3", "kpi.updated target_value: 90 → 95"}},
	} {
		f := newRoadmapFixture(t)
		id := f.add(t, row.object)
		events := f.webhookEvents(t)
		f.clock.Advance(time.Hour)
		if got := f.save(t, row.object, id, testkit.Object(t, row.body)); got != id {
			t.Errorf("%s %s: got id %s, want %s", row.object, row.body, got, id)
		}
		history, err := api.History(f.ctx, f.Caller, row.object, id)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range history[:len(history)-1] {
			for _, change := range e.Changes {
				got = append(got, fmt.Sprintf("%s %s: %v → %v", e.Action, change.Field, change.From, change.To))
			}
		}
		if diff := cmp.Diff(row.history, got); diff != "" {
			t.Errorf("%s %s: history (-want +got):\n%s", row.object, row.body, diff)
		}
		if made := history[len(history)-1]; made.Action != row.object+".created" || made.Actor != "ada" || made.ResourceID != id ||
			made.Metadata["request_id"] != "req_1" || made.Metadata["changes"] != nil || len(made.Changes) == 0 {
			t.Errorf("%s: got %+v for the first change", row.object, made)
		}
		if diff := cmp.Diff(row.events, events()); diff != "" {
			t.Errorf("%s %s: events (-want +got):\n%s", row.object, row.body, diff)
		}
	}
}

// TestSave_Refuses checks the messages for invalid changes. They name the members of the
// document.
func TestSave_Refuses(t *testing.T) {
	t.Parallel()
	f := newRoadmapFixture(t)
	ids := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(validBodies)) {
		ids[name] = f.add(t, name)
	}
	const unknown = "00000000-0000-0000-0000-000000000000"
	for _, row := range []struct{ object, id, body, want string }{
		{"risk", "", `{}`, "invalid_parameter title: title is required"},
		{"risk", "", strings.Replace(validBodies["risk"], "HIGH", "GRAVE", 1), "invalid_parameter severity: severity must be one of CRITICAL, HIGH, MEDIUM, LOW"},
		{"risk", ids["risk"], `{"severity":"LOW"}`, "invalid_parameter severity_change_reason: severity_change_reason is required, with at least 20 characters: " +
			"this change lowers or clears a severity or a likelihood, or closes, accepts or mitigates a CRITICAL risk"},
		{"risk", ids["risk"], `{"severity":"LOW","severity_change_reason":"short"}`, "invalid_parameter severity_change_reason: severity_change_reason must have at least 20 characters"},
		{"risk", ids["risk"], `{"risk_id":"RISK-9"}`, `invalid_parameter risk_id: "risk_id" is not a known member`},
		{"risk", unknown, `{"title":"x"}`, "not_found : no risk with this id in this organisation"},
		{"incident", ids["incident"], `{"title":"two\nlines"}`, "invalid_parameter title: title must be one line"},
		{"incident", ids["incident"], `{"timeline":[]}`, `invalid_parameter timeline: "timeline" is not a known member`},
		{"risk", ids["risk"], `{"description":"  "}`, "invalid_parameter description: description must not be empty"},
		{"vendor", ids["vendor"], `{"notes":"N","vendor_name":""}`, "invalid_parameter vendor_name: vendor_name must not be empty"},
		{"roadmap", ids["roadmap"], `{"phases":[{"phase":"P"}]}`, "invalid_parameter phases[0].objective: phases[0].objective is required"},
		{"talent_readiness", ids["talent_readiness"], `{"build_buy_borrow":{"build":1,"buy":0}}`, "invalid_parameter build_buy_borrow.borrow: build_buy_borrow.borrow is required"},
		{"kpi", ids["kpi"], `{"code":"KR-9"}`, `invalid_parameter code: "code" is not a known member`},
		{"vendor", "", validBodies["vendor"], "resource_conflict vendor_key: another vendor already has this vendor_key"},
		{"obligation", "", validBodies["obligation"], "resource_conflict obligation_key: another obligation already has this obligation_key"},
		{"milestone", "", strings.Replace(validBodies["milestone"], `"m-1"`, `"m-1","roadmap_version":1`, 1), "resource_conflict milestone_key: another milestone already has this milestone_key"},
		{"assessment", "", validBodies["assessment"], "resource_conflict completed_at: another assessment already has this completed_at"},
		{"obligation", ids["obligation"], `{"obligation_key":"o-2"}`, `invalid_parameter obligation_key: "obligation_key" is not a known member`},
		{"obligation", ids["obligation"], `{"id":"` + unknown + `"}`, `invalid_parameter id: "id" is not a known member`},
		{"obligation", ids["obligation"], `{"status":"done"}`, "invalid_parameter status: status must be one of not_started, in_progress, compliant, at_risk, non_compliant, not_applicable"},
		{"obligation", ids["obligation"], `{"title":null}`, "invalid_parameter title: title must be a string, not null"},
		{"obligation", unknown, `{"status":"compliant"}`, "not_found : no obligation with this id in this organisation"},
		{"milestone", ids["milestone"], `{"progress_pct":101}`, "invalid_parameter progress_pct: progress_pct must be a number from 0 to 100"},
		{"milestone", "", strings.Replace(validBodies["milestone"], `"m-1"`, `"m-2","roadmap_version":7`, 1), "invalid_parameter roadmap_version: there is no roadmap of version 7; import it first"},
		{"signal", ids["signal"], `{"signal_type":"other"}`, `invalid_parameter signal_type: "signal_type" is not a known member`},
		{"signal", ids["signal"], `{"as_of":"2026-09-29T10:00:00Z"}`, "invalid_parameter as_of: as_of must not be before that of the current value, 2026-09-30T10:00:00.000Z"},
		{"signal", unknown, `{"rag":"RED"}`, "not_found : no signal with this id in this organisation"},
		{"kpi_checkin", unknown, `{}`, `method_not_allowed : records of type "kpi_checkin" can't be created or changed in this way`},
		{"user", "", `{}`, `method_not_allowed : records of type "user" can't be created or changed in this way`},
	} {
		before := f.auditLog(t, 1)[0]
		_, err := api.Save(f.ctx, f.Caller, row.object, row.id, testkit.Object(t, row.body))
		if got := refusal(err); got != row.want {
			t.Errorf("%s %s %s:\n got %q\nwant %q", row.object, row.id, row.body, got, row.want)
		}
		if after := f.auditLog(t, 1)[0]; after != before {
			t.Errorf("%s %s: got audit event %s for a refused change", row.object, row.body, after)
		}
	}
	_, err := api.Save(f.ctx, f.Caller, "risk", "", testkit.Object(t, `{"severity":"x","likelihood":"POSSIBLE"}`))
	errs, ok := errors.AsType[api.ValidationErrors](err)
	var fields []string
	for _, f := range errs {
		fields = append(fields, f.Param)
	}
	if diff := cmp.Diff([]string{"title", "description", "severity"}, fields); !ok || diff != "" {
		t.Errorf("all errors of one body: %v (-want +got):\n%s", err, diff)
	}
}

// TestSave_Signal checks that a newer value replaces the current one, with an id of its
// own.
func TestSave_Signal(t *testing.T) {
	t.Parallel()
	f := newRoadmapFixture(t)
	first := f.add(t, "signal")
	second := f.save(t, "signal", first, testkit.Object(t, `{"as_of":"2026-10-01T08:00:00Z","numeric_value":0.7}`))
	third := f.save(t, "signal", "", testkit.Object(t, `{"signal_type":"drift","module_id":"m","as_of":"2026-10-01T09:00:00Z"}`))
	page, err := api.Browse(f.ctx, f.Caller, "signal", api.View{})
	if err != nil || len(page.Records) != 1 {
		t.Fatalf("%v, %v", page.Records, err)
	}
	if now := page.Records[0]; now["id"] != third || now["numeric_value"] != nil || now["rag"] != nil || first == second || second == third {
		t.Errorf("after %s and %s: %v", first, second, now)
	}
	if _, err := api.Save(f.ctx, f.Caller, "signal", second, map[string]any{"rag": "RED"}); refusal(err) != "not_found : no signal with this id in this organisation" {
		t.Errorf("changing a replaced value: got %v", err)
	}
	history, err := api.History(f.ctx, f.Caller, "signal", second)
	if err != nil || len(history) != 3 { // of all values of the signal
		t.Fatalf("%v, %v", history, err)
	}
	want := []api.FieldChange{{"as_of", "2026-09-30T10:00:00.000Z", "2026-10-01T08:00:00.000Z"}, {"numeric_value", json.Number("0.5"), json.Number("0.7")}}
	if diff := cmp.Diff(want, history[1].Changes); diff != "" {
		t.Errorf("changes of the second value (-want +got):\n%s", diff)
	}
}

// TestNotifyIncident checks that the latest notification counts and that the timeline has
// all of them.
func TestNotifyIncident(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.add(t, "incident")
	f.clock.Advance(90 * time.Minute)
	notify := func(n api.Notification) string { return refusal(api.NotifyIncident(f.ctx, f.Caller, id, n)) }
	for _, row := range []struct {
		n    api.Notification
		want string
	}{
		{api.Notification{}, "invalid_parameter at: at is required"},
		{api.Notification{At: testkit.Start}, "invalid_parameter to: to is required"},
		{api.Notification{At: testkit.Start, To: " \n"}, "invalid_parameter to: to is required"},
		{api.Notification{At: testkit.Start, To: "a\nb"}, "invalid_parameter to: to must be one line of at most 500 characters"},
		{api.Notification{At: testkit.Start, To: strings.Repeat("x", 501)}, "invalid_parameter to: to must be one line of at most 500 characters"},
		{api.Notification{At: testkit.Start, To: "a", Reference: "\x00"}, "invalid_parameter reference: reference must be one line of at most 500 characters"},
		{api.Notification{At: testkit.Start, To: "\xff"}, "invalid_parameter to: to must be one line of at most 500 characters"},
		{api.Notification{At: f.clock.Now().Add(time.Second), To: "a"}, "invalid_parameter at: at must not be in the future"},
		{api.Notification{At: testkit.Start.Add(-time.Second), To: "a"}, "invalid_parameter at: at must not be before the incident was declared, 2026-10-01T12:00:00.000Z"},
	} {
		if got := notify(row.n); got != row.want {
			t.Errorf("%+v: got %q, want %q", row.n, got, row.want)
		}
	}
	if got := notify(api.Notification{At: testkit.Start.Add(time.Hour), To: " Data protection authority ", Reference: "AZ 7"}); got != "" {
		t.Fatal(got)
	}
	if got := notify(api.Notification{At: testkit.Start.Add(30 * time.Minute), To: "Market surveillance"}); got != "" {
		t.Fatal(got)
	}
	record := f.read(t, "incident", id)
	var notes []any
	for _, step := range record["timeline"].([]any) {
		notes = append(notes, step.(map[string]any)["note"])
	}
	want := []any{
		"Incident declared", "Notified Data protection authority on 2026-10-01T13:00:00.000Z, reference AZ 7",
		"Notified Market surveillance on 2026-10-01T12:30:00.000Z",
	}
	if diff := cmp.Diff(want, notes); diff != "" || record["notified_at"] != "2026-10-01T12:30:00.000Z" || record["updated_at"] != db.Timestamp(f.clock.Now()) {
		t.Errorf("%v (-want +got):\n%s", record, diff)
	}
	history, err := api.History(f.ctx, f.Caller, "incident", id)
	if err != nil {
		t.Fatal(err)
	}
	changes := []api.FieldChange{{"notified", nil, "Data protection authority"}, {"notified_at", nil, "2026-10-01T13:00:00.000Z"}, {"reference", nil, "AZ 7"}}
	if diff := cmp.Diff(changes, history[1].Changes); diff != "" || history[1].Action != "incident.notified" {
		t.Errorf("%+v (-want +got):\n%s", history[1], diff)
	}
	if got := refusal(api.NotifyIncident(f.ctx, f.Caller, "x", api.Notification{At: testkit.Start, To: "a"})); got != "not_found : no incident with this id in this organisation" {
		t.Error(got)
	}
}

// TestSave_Plans checks that a resource that the plan excludes can't be read or changed
// in any way.
func TestSave_Plans(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.add(t, "incident")
	f.onPlan(db.Professional)
	calls := map[string]func() error{
		"browse":  func() error { _, err := api.Browse(f.ctx, f.Caller, "incident", api.View{}); return err },
		"export":  func() error { return api.ExportView(f.ctx, f.Caller, "incident", api.View{}, nil) },
		"read":    func() error { _, err := api.ReadRecord(f.ctx, f.Caller, "incident", id); return err },
		"history": func() error { _, err := api.History(f.ctx, f.Caller, "incident", id); return err },
		"create":  func() error { _, err := api.Save(f.ctx, f.Caller, "incident", "", nil); return err },
		"change":  func() error { _, err := api.Save(f.ctx, f.Caller, "incident", id, nil); return err },
		"submit":  func() error { _, err := api.Submit(f.ctx, f.Caller, "createIncident", "", nil); return err },
		"notify": func() error {
			return api.NotifyIncident(f.ctx, f.Caller, id, api.Notification{At: testkit.Start, To: "a"})
		},
		"audit": func() error { _, err := api.SearchAudit(f.ctx, f.Caller, api.AuditSearch{}); return err },
	}
	for name, call := range calls {
		if err := call(); api.Refusal(err).Code != api.TierRequired {
			t.Errorf("%s: got %v, want tier_required", name, err)
		}
	}
	page, err := api.Overview(f.ctx, f.Caller)
	if err != nil || page.Incidents != nil {
		t.Errorf("got incidents %+v, %v in the overview, want none", page.Incidents, err)
	}
	for _, e := range page.Recent {
		if e.ResourceType == "incident" {
			t.Errorf("got event %+v in the overview, want none of incidents", e)
		}
	}
	if page, err := api.Overview(f.ctx, f.onPlan(db.Business).Caller); err != nil || page.Incidents == nil || page.Incidents.Open != 1 || len(page.Recent) != 1 {
		t.Errorf("on a plan with incidents: got %+v, %v", page, err)
	}
}
