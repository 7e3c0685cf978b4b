package api_test

import (
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
	"govsvc/server/api"
)

// good are bodies that make a record of each type that Save makes.
var good = map[string]string{
	"risk":       `{"title":"T","description":"A description of enough length.","severity":"HIGH","likelihood":"LIKELY"}`,
	"incident":   `{"title":"T","notification_required":true}`,
	"vendor":     `{"vendor_key":"acme","vendor_name":"Acme","category":"C","initial_risk_band":"LOW"}`,
	"assessment": `{"completed_at":"2026-09-30T10:00:00Z","methodology_version":"3.2","verdict":"REMEDIATION","overall_score":51.5,"frameworks_applied":["NIST AI RMF"]}`,
	"signal":     `{"signal_type":"drift","module_id":"m","as_of":"2026-09-30T10:00:00Z","numeric_value":0.5,"rag":"GREEN"}`,
	"milestone":  `{"milestone_key":"m-1","title":"T","phase":"P","sequence":1,"status":"not_started","rag_status":"GREEN","owner_role":"R"}`,
	"obligation": `{"obligation_key":"o-1","regime_id":"r","regime_name":"R","jurisdiction":"EU","title":"T","priority_band":"HIGH","status":"not_started"}`,
}

// openOffice is a desk whose organisation has a roadmap and a key result.
func openOffice(t testing.TB) *desk {
	t.Helper()
	d := openDesk(t)
	err := d.Store.Write(d.ctx, db.Actor{Org: d.Organisation.Org, ID: "system"}, func(tx *db.Tx) error {
		for name, text := range map[string]string{
			"roadmap": `{"version_number":1,"generated_at":"2026-01-01T00:00:00Z"}`,
			"kpi": `{"code":"KR-01","statement":"S","metric_name":"M","unit":"%","direction":"increase","target_value":100,
				"measurement_frequency":"monthly","status":"active"}`,
		} {
			if _, err := tx.Put(name, object(t, text)); err != nil {
				return err
			}
		}
		return tx.Audit(audit.Event{Action: "put", Category: audit.DataChange, Severity: audit.SeverityWrite})
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestSaveMakes makes a record of each type: it is there with what was given,
// the audit log tells of it as of a person's deed, and events leave the house.
func TestSaveMakes(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		events  []string
		members string
	}{
		"risk":       {[]string{"risk.created"}, `{"risk_id":"RISK-0001","status":"Open","source":"user_added","dimension":"OTHER","likelihood":"LIKELY"}`},
		"incident":   {nil, `{"status":"open","notification_deadline":"2026-10-04T12:00:00.000Z"}`},
		"vendor":     {nil, `{"status":"active"}`},
		"assessment": {[]string{"assessment.completed", "verdict.changed"}, `{"verdict":"REMEDIATION","overall_score":51.5,"completed_at":"2026-09-30T10:00:00.000Z","frameworks_applied":["NIST AI RMF"]}`},
		"signal":     {nil, `{"rag":"GREEN","numeric_value":0.5}`},
		"milestone":  {[]string{"roadmap.updated"}, `{"roadmap_version":1,"progress_pct":0}`},
		"obligation": {nil, `{"status":"not_started"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openOffice(t)
			if name == "assessment" { // one before, with another verdict
				d.save(t, name, "", object(t, `{"completed_at":"2026-06-30T10:00:00Z","methodology_version":"3.2","verdict":"CRISIS"}`))
			}
			raised := d.raised(t)
			id := d.save(t, name, "", object(t, good[name]))
			record := d.read(t, name, id)
			wanted := object(t, want.members)
			for member, value := range wanted {
				if diff := cmp.Diff(value, record[member]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", member, diff)
				}
			}
			if record["created_at"] != db.Timestamp(start) {
				t.Errorf("made at %v", record["created_at"])
			}
			if diff := cmp.Diff(want.events, raised()); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			told := d.trail(t, 1)[0]
			if !strings.HasPrefix(told, "ada "+name+".created "+name+" "+id) || !strings.Contains(told, `"request_id":"req_1"`) {
				t.Errorf("the audit log: %s", told)
			}
		})
	}
}

// TestSaveCheckin records points by the rules of the API; they are manual.
func TestSaveCheckin(t *testing.T) {
	t.Parallel()
	d := openOffice(t)
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
		_, err := api.Save(d.ctx, d.Caller, "kpi_checkin", "", object(t, row.body))
		if got := refusal(err); got != row.want {
			t.Errorf("%s: %q, want %q", row.body, got, row.want)
		}
	}
	page, err := api.Browse(d.ctx, d.Caller, "kpi", api.View{})
	if err != nil {
		t.Fatal(err)
	}
	kpi := page.Records[0]
	history, err := api.CheckinHistory(d.ctx, d.Caller, kpi["id"].(string))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, point := range history {
		got = append(got, fmt.Sprint(point["period_start"], " ", point["value"], " ", point["source"], " ", point["note"]))
	}
	if diff := cmp.Diff([]string{"2026-08-01 80 manual <nil>", "2026-10-01 85 manual n"}, got); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
	if share := api.Attainment(kpi); share == nil || *share != 0.85 {
		t.Errorf("attainment %v of %v", share, kpi)
	}
	if told := d.trail(t, 1)[0]; !strings.HasPrefix(told, "ada kpi_checkin.created kpi_checkin  ") {
		t.Errorf("the audit log: %s", told)
	}
}

// TestSaveChanges changes a record of each type and finds just that in its
// history.
func TestSaveChanges(t *testing.T) {
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
	} {
		d := openOffice(t)
		id := d.save(t, row.object, "", object(t, good[row.object]))
		raised := d.raised(t)
		d.now = d.now.Add(time.Hour)
		if got := d.save(t, row.object, id, object(t, row.body)); got != id {
			t.Errorf("%s %s: id %s, want %s", row.object, row.body, got, id)
		}
		history, err := api.History(d.ctx, d.Caller, row.object, id)
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
			t.Errorf("%s: first %+v", row.object, made)
		}
		if diff := cmp.Diff(row.events, raised()); diff != "" {
			t.Errorf("%s %s: events (-want +got):\n%s", row.object, row.body, diff)
		}
	}
}

// TestSaveRefuses: what a form is told, in the document's words.
func TestSaveRefuses(t *testing.T) {
	t.Parallel()
	d := openOffice(t)
	made := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(good)) {
		made[name] = d.save(t, name, "", object(t, good[name]))
	}
	const unknown = "00000000-0000-0000-0000-000000000000"
	for _, row := range []struct{ object, id, body, want string }{
		{"risk", "", `{}`, "invalid_parameter title: title is required"},
		{"risk", "", strings.Replace(good["risk"], "HIGH", "GRAVE", 1), "invalid_parameter severity: severity must be one of CRITICAL, HIGH, MEDIUM, LOW"},
		{"risk", made["risk"], `{"severity":"LOW"}`, "invalid_parameter severity_change_reason: severity_change_reason is required, with at least 20 characters: " +
			"this change lowers or clears a severity or a likelihood, or closes, accepts or mitigates a CRITICAL risk"},
		{"risk", made["risk"], `{"severity":"LOW","severity_change_reason":"short"}`, "invalid_parameter severity_change_reason: severity_change_reason must have at least 20 characters"},
		{"risk", made["risk"], `{"risk_id":"RISK-9"}`, "invalid_parameter risk_id: risk_id is not a known member"},
		{"risk", unknown, `{"title":"x"}`, "not_found : no risk with this id in this organisation"},
		{"incident", made["incident"], `{"title":"two\nlines"}`, "invalid_parameter title: title must be one line"},
		{"incident", made["incident"], `{"notified_at":"2026-10-01T12:00:00Z"}`, "invalid_parameter notified_at: notified_at is not a known member"},
		{"vendor", "", good["vendor"], "resource_conflict vendor_key: a vendor with this vendor_key already exists"},
		{"obligation", "", good["obligation"], "resource_conflict obligation_key: an obligation with this obligation_key already exists"},
		{"milestone", "", good["milestone"], "resource_conflict milestone_key: a milestone with this milestone_key already exists"},
		{"assessment", "", good["assessment"], "resource_conflict completed_at: an assessment with this completed_at already exists"},
		{"assessment", made["assessment"], `{"verdict":"CRISIS"}`, `method_not_allowed : records of type "assessment" can't be created or changed in this way`},
		{"obligation", made["obligation"], `{"obligation_key":"o-2"}`, `invalid_parameter obligation_key: "obligation_key" is not a known member`},
		{"obligation", made["obligation"], `{"id":"` + unknown + `"}`, `invalid_parameter id: "id" is not a known member`},
		{"obligation", made["obligation"], `{"status":"done"}`, "invalid_parameter status: status must be one of not_started, in_progress, compliant, at_risk, non_compliant, not_applicable"},
		{"obligation", made["obligation"], `{"title":null}`, "invalid_parameter title: title must be a string, not null"},
		{"obligation", unknown, `{"status":"compliant"}`, "not_found : no obligation with this id in this organisation"},
		{"milestone", made["milestone"], `{"progress_pct":101}`, "invalid_parameter progress_pct: progress_pct must be a number from 0 to 100"},
		{"milestone", "", strings.Replace(good["milestone"], `"m-1"`, `"m-2","roadmap_version":7`, 1), "invalid_parameter roadmap_version: there is no roadmap of version 7; import it first"},
		{"signal", made["signal"], `{"signal_type":"other"}`, `invalid_parameter signal_type: "signal_type" is not a known member`},
		{"signal", made["signal"], `{"as_of":"2026-09-29T10:00:00Z"}`, "invalid_parameter as_of: as_of must not be before that of the present value, 2026-09-30T10:00:00.000Z"},
		{"signal", unknown, `{"rag":"RED"}`, "not_found : no signal with this id in this organisation"},
		{"kpi", "", `{}`, `method_not_allowed : records of type "kpi" can't be created or changed in this way`},
		{"user", "", `{}`, `method_not_allowed : records of type "user" can't be created or changed in this way`},
	} {
		before := d.trail(t, 1)[0]
		_, err := api.Save(d.ctx, d.Caller, row.object, row.id, object(t, row.body))
		if got := refusal(err); got != row.want {
			t.Errorf("%s %s %s:\n got %q\nwant %q", row.object, row.id, row.body, got, row.want)
		}
		if after := d.trail(t, 1)[0]; after != before {
			t.Errorf("%s %s: a refused change is in the audit log: %s", row.object, row.body, after)
		}
	}
	_, err := api.Save(d.ctx, d.Caller, "risk", "", object(t, `{"severity":"x","likelihood":"POSSIBLE"}`))
	faults, ok := errors.AsType[api.Faults](err)
	var fields []string
	for _, f := range faults {
		fields = append(fields, f.Param)
	}
	if diff := cmp.Diff([]string{"title", "description", "severity"}, fields); !ok || diff != "" {
		t.Errorf("all faults of a form: %v (-want +got):\n%s", err, diff)
	}
}

// TestSaveSignal: a newer value supersedes the present one, under its own id.
func TestSaveSignal(t *testing.T) {
	t.Parallel()
	d := openOffice(t)
	first := d.save(t, "signal", "", object(t, good["signal"]))
	second := d.save(t, "signal", first, object(t, `{"as_of":"2026-10-01T08:00:00Z","numeric_value":0.7}`))
	third := d.save(t, "signal", "", object(t, `{"signal_type":"drift","module_id":"m","as_of":"2026-10-01T09:00:00Z"}`))
	page, err := api.Browse(d.ctx, d.Caller, "signal", api.View{})
	if err != nil || len(page.Records) != 1 {
		t.Fatalf("%v, %v", page.Records, err)
	}
	if now := page.Records[0]; now["id"] != third || now["numeric_value"] != nil || now["rag"] != nil || first == second || second == third {
		t.Errorf("after %s and %s: %v", first, second, now)
	}
	if _, err := api.Save(d.ctx, d.Caller, "signal", second, map[string]any{"rag": "RED"}); refusal(err) != "not_found : no signal with this id in this organisation" {
		t.Errorf("a superseded value was changed: %v", err)
	}
	history, err := api.History(d.ctx, d.Caller, "signal", second)
	if err != nil || len(history) != 1 {
		t.Fatalf("%v, %v", history, err)
	}
	want := []api.FieldChange{{"as_of", "2026-09-30T10:00:00.000Z", "2026-10-01T08:00:00.000Z"}, {"numeric_value", number("0.5"), number("0.7")}}
	if diff := cmp.Diff(want, history[0].Changes); diff != "" {
		t.Errorf("what the second value changed (-want +got):\n%s", diff)
	}
}

// TestNotifyIncident: the latest notification counts, the timeline keeps all.
func TestNotifyIncident(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	id := d.save(t, "incident", "", object(t, good["incident"]))
	d.now = start.Add(90 * time.Minute)
	told := func(n api.Notification) string { return refusal(api.NotifyIncident(d.ctx, d.Caller, id, n)) }
	for _, row := range []struct {
		n    api.Notification
		want string
	}{
		{api.Notification{}, "invalid_parameter at: at is required"},
		{api.Notification{At: start}, "invalid_parameter to: to is required"},
		{api.Notification{At: start, To: " \n"}, "invalid_parameter to: to is required"},
		{api.Notification{At: start, To: "a\nb"}, "invalid_parameter to: to must be one line of at most 500 characters"},
		{api.Notification{At: start, To: strings.Repeat("x", 501)}, "invalid_parameter to: to must be one line of at most 500 characters"},
		{api.Notification{At: start, To: "a", Reference: "\x00"}, "invalid_parameter reference: reference must be one line of at most 500 characters"},
		{api.Notification{At: start, To: "\xff"}, "invalid_parameter to: to must be one line of at most 500 characters"},
		{api.Notification{At: d.now.Add(time.Second), To: "a"}, "invalid_parameter at: at must not be in the future"},
		{api.Notification{At: start.Add(-time.Second), To: "a"}, "invalid_parameter at: at must not be before the incident was declared, 2026-10-01T12:00:00.000Z"},
	} {
		if got := told(row.n); got != row.want {
			t.Errorf("%+v: %q, want %q", row.n, got, row.want)
		}
	}
	if got := told(api.Notification{At: start.Add(time.Hour), To: " Data protection authority ", Reference: "AZ 7"}); got != "" {
		t.Fatal(got)
	}
	if got := told(api.Notification{At: start.Add(30 * time.Minute), To: "Market surveillance"}); got != "" {
		t.Fatal(got)
	}
	record := d.read(t, "incident", id)
	var notes []any
	for _, step := range record["timeline"].([]any) {
		notes = append(notes, step.(map[string]any)["note"])
	}
	want := []any{
		"Incident declared", "Notified Data protection authority on 2026-10-01T13:00:00.000Z, reference AZ 7",
		"Notified Market surveillance on 2026-10-01T12:30:00.000Z",
	}
	if diff := cmp.Diff(want, notes); diff != "" || record["notified_at"] != "2026-10-01T12:30:00.000Z" || record["updated_at"] != db.Timestamp(d.now) {
		t.Errorf("%v (-want +got):\n%s", record, diff)
	}
	history, err := api.History(d.ctx, d.Caller, "incident", id)
	if err != nil {
		t.Fatal(err)
	}
	changes := []api.FieldChange{{"notified", nil, "Data protection authority"}, {"notified_at", nil, "2026-10-01T13:00:00.000Z"}, {"reference", nil, "AZ 7"}}
	if diff := cmp.Diff(changes, history[1].Changes); diff != "" || history[1].Action != "incident.notified" {
		t.Errorf("%+v (-want +got):\n%s", history[1], diff)
	}
	if got := refusal(api.NotifyIncident(d.ctx, d.Caller, "x", api.Notification{At: start, To: "a"})); got != "not_found : no incident with this id in this organisation" {
		t.Error(got)
	}
}

// TestPlans: what the plan lacks is refused, whatever the way to it.
func TestPlans(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	id := d.save(t, "incident", "", object(t, good["incident"]))
	d.onPlan(db.Professional)
	deeds := map[string]func() error{
		"browse":  func() error { _, err := api.Browse(d.ctx, d.Caller, "incident", api.View{}); return err },
		"export":  func() error { return api.ExportView(d.ctx, d.Caller, "incident", api.View{}, nil) },
		"read":    func() error { _, err := api.ReadRecord(d.ctx, d.Caller, "incident", id); return err },
		"history": func() error { _, err := api.History(d.ctx, d.Caller, "incident", id); return err },
		"make":    func() error { _, err := api.Save(d.ctx, d.Caller, "incident", "", nil); return err },
		"change":  func() error { _, err := api.Save(d.ctx, d.Caller, "incident", id, nil); return err },
		"submit":  func() error { _, err := api.Submit(d.ctx, d.Caller, "createIncident", "", nil); return err },
		"notify":  func() error { return api.NotifyIncident(d.ctx, d.Caller, id, api.Notification{At: start, To: "a"}) },
		"audit":   func() error { _, err := api.SearchAudit(d.ctx, d.Caller, api.AuditSearch{}); return err },
	}
	for name, do := range deeds {
		if err := do(); api.Refusal(err).Code != api.TierRequired {
			t.Errorf("%s: %v", name, err)
		}
	}
	page, err := api.Overview(d.ctx, d.Caller)
	if err != nil || page.Incidents != nil {
		t.Errorf("the overview shows %+v, %v", page.Incidents, err)
	}
	for _, e := range page.Recent {
		if e.ResourceType == "incident" {
			t.Errorf("the overview tells of %+v", e)
		}
	}
	if page, err := api.Overview(d.ctx, d.onPlan(db.Business).Caller); err != nil || page.Incidents == nil || page.Incidents.Open != 1 || len(page.Recent) != 1 {
		t.Errorf("with incident command: %+v, %v", page, err)
	}
}
