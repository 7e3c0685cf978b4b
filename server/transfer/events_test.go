package transfer_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/server/transfer"
)

func assessment(completed, verdict string) string {
	return fmt.Sprintf(`{"object":"scorecard","methodology_version":"1","completed_at":"2026-%s","verdict":%s}`, completed, verdict)
}

func risk(id, members string) string {
	return fmt.Sprintf(`{"object":"risk","risk_id":%q,"description":"d"%s}`, id, members)
}

func posture(version int, overall, regimes string) string {
	return fmt.Sprintf(`{"object":"compliance_posture","version_number":%d,"overall_posture":%q,"executive_summary":"e",`+
		`"generated_at":"2026-01-01T00:00:00Z","regimes":[%s]}`, version, overall, regimes)
}

func regime(id, posture string) string {
	return fmt.Sprintf(`{"regime_id":%q,"posture":%q,"open_obligations":1}`, id, posture)
}

// summary returns an event as a short text: its type and the relevant data.
func summary(event map[string]any) string {
	data := event["data"].(map[string]any)
	member := func(resource, name string) string { return fmt.Sprint(data[resource].(map[string]any)[name]) }
	encoded := func(name string) string {
		text, _ := json.Marshal(data[name])
		return string(text)
	}
	kind := event["type"].(string)
	switch kind {
	case "assessment.completed":
		return kind + " " + member("scorecard", "verdict") + " " + member("scorecard", "object")
	case "verdict.changed":
		return kind + " " + encoded("previous_verdict") + " " + member("scorecard", "verdict")
	case "roadmap.updated":
		return kind + " " + member("roadmap", "version_number") + " " + member("roadmap", "milestones_count") + " " + encoded("changed_milestones")
	case "risk.created":
		return kind + " " + member("risk", "risk_id")
	case "risk.severity_changed":
		return kind + " " + member("risk", "risk_id") + " " + encoded("previous") + " " + encoded("reason")
	default:
		return kind + " " + strings.Join([]string{encoded("version_number"), encoded("scope"), encoded("regime_id"), encoded("previous"), encoded("current")}, " ")
	}
}

func TestImport_Events(t *testing.T) {
	t.Parallel()
	roadmap := func(version int, summary string) string {
		return fmt.Sprintf(`{"object":"roadmap","version_number":%d,"generated_at":"2026-01-01T00:00:00Z","executive_summary":%q}`, version, summary)
	}
	step := func(key, title string, version int) string {
		return strings.NewReplacer(`"m"`, `"`+key+`"`, `"t"`, `"`+title+`"`).Replace(milestone(fmt.Sprintf(`,"roadmap_version":%d`, version)))
	}
	rows := []struct {
		name          string
		before, after []string // imported in this order
		want          []string // enqueued by the second import
	}{
		{
			"a first assessment", nil,
			[]string{assessment("01-01T00:00:00Z", `"CRISIS"`)},
			[]string{"assessment.completed CRISIS scorecard"},
		},
		{
			"a newer assessment of another verdict",
			[]string{assessment("01-01T00:00:00Z", `"CRISIS"`)},
			[]string{assessment("02-01T00:00:00Z", `"EMERGENCY"`)},
			[]string{"assessment.completed EMERGENCY scorecard", `verdict.changed "CRISIS" EMERGENCY`},
		},
		{
			"a newer assessment of the same verdict",
			[]string{assessment("01-01T00:00:00Z", `"CRISIS"`)},
			[]string{assessment("02-01T00:00:00Z", `"CRISIS"`)},
			[]string{"assessment.completed CRISIS scorecard"},
		},
		{
			"a first verdict",
			[]string{assessment("01-01T00:00:00Z", `null`)},
			[]string{assessment("02-01T00:00:00Z", `"CRISIS"`)},
			[]string{"assessment.completed CRISIS scorecard", `verdict.changed null CRISIS`},
		},
		{
			"an older assessment",
			[]string{assessment("02-01T00:00:00Z", `"CRISIS"`)},
			[]string{assessment("01-01T00:00:00Z", `"EMERGENCY"`)},
			nil,
		},
		{
			"a corrected assessment",
			[]string{assessment("02-01T00:00:00Z", `"CRISIS"`)},
			[]string{assessment("02-01T01:00:00+01:00", `"EMERGENCY"`)},
			nil,
		},
		{
			"assessments newer one by one", nil,
			[]string{assessment("02-01T00:00:00Z", `"CRISIS"`), assessment("01-01T00:00:00Z", `"EMERGENCY"`), assessment("03-01T00:00:00Z", `"EXCELLENCE"`)},
			[]string{"assessment.completed CRISIS scorecard", "assessment.completed EXCELLENCE scorecard", `verdict.changed "CRISIS" EXCELLENCE`},
		},
		{
			"a roadmap with its milestones", nil,
			[]string{roadmap(1, "a"), step("b", "t", 1), step("a", "t", 1)},
			[]string{`roadmap.updated 1 2 ["a","b"]`},
		},
		{
			"a changed milestone and one without changes",
			[]string{roadmap(1, "a"), step("b", "t", 1), step("a", "t", 1)},
			[]string{step("b", "u", 1), step("a", "t", 1)},
			[]string{`roadmap.updated 1 2 ["b"]`},
		},
		{
			"a changed roadmap",
			[]string{roadmap(1, "a"), step("b", "t", 1)},
			[]string{roadmap(1, "b")},
			[]string{`roadmap.updated 1 1 []`},
		},
		{
			"a roadmap that is not active any more",
			[]string{roadmap(1, "a"), roadmap(2, "a"), step("b", "t", 1)},
			[]string{roadmap(1, "b"), step("b", "u", 1), step("c", "u", 1)},
			nil,
		},
		{
			"a new active roadmap",
			[]string{roadmap(1, "a"), step("b", "t", 1)},
			[]string{roadmap(2, "b"), step("c", "u", 1), step("d", "u", 2)},
			[]string{`roadmap.updated 2 1 ["d"]`},
		},
		{"risks", nil, []string{risk("B", ""), risk("A", `,"severity":"LOW"`)}, []string{"risk.created B", "risk.created A"}},
		{
			"re-rated risks",
			[]string{risk("A", ""), risk("B", `,"severity":"LOW","residual_severity":"LOW"`), risk("C", `,"severity":"LOW"`), risk("D", `,"severity":"LOW"`)},
			[]string{risk("A", `,"residual_severity":"HIGH"`), risk("B", `,"severity":null`), risk("C", `,"severity":"LOW","likelihood":"RARE"`), risk("D", `,"status":"Closed"`)},
			[]string{
				`risk.severity_changed A {"residual_severity":null,"severity":null} null`,
				`risk.severity_changed B {"residual_severity":"LOW","severity":"LOW"} null`,
			},
		},
		{"a first posture", nil, []string{posture(1, "COMPLIANT", regime("r", "COMPLIANT"))}, nil},
		{
			"movements",
			[]string{posture(1, "COMPLIANT", regime("r", "COMPLIANT")+","+regime("s", "COMPLIANT")+","+regime("gone", "COMPLIANT"))},
			[]string{posture(3, "NOT_ASSESSED", regime("s", "COMPLIANT")+","+regime("r", "NON_COMPLIANT")+","+regime("new", "COMPLIANT"))},
			[]string{
				`compliance.posture_changed 3 "overall" null "COMPLIANT" "NOT_ASSESSED"`,
				`compliance.posture_changed 3 "regime" "r" "COMPLIANT" "NON_COMPLIANT"`,
			},
		},
		{
			"nothing moved",
			[]string{posture(1, "COMPLIANT", regime("r", "COMPLIANT"))},
			[]string{posture(2, "COMPLIANT", regime("r", "COMPLIANT"))},
			nil,
		},
		{"an older posture", []string{posture(2, "COMPLIANT", "")}, []string{posture(1, "NON_COMPLIANT", "")}, nil},
		{"a corrected posture", []string{posture(1, "COMPLIANT", ""), posture(2, "COMPLIANT", "")}, []string{posture(2, "NON_COMPLIANT", "")}, nil},
		{"key results, check-ins and others", nil, []string{anyKPI, `{"object":"kpi_checkin","key_result_code":"K","period_start":"2026-01-01","value":1}`}, nil},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			s.subscribe()
			if row.before != nil {
				s.put(row.before...)
			}
			old := len(s.events())
			s.put(row.after...)
			var got []string
			for _, event := range s.events()[old:] {
				got = append(got, summary(event))
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			unchanged(t, s.put(row.after[len(row.after)-1]))
			if more := len(s.events()) - old; more != len(row.want) {
				t.Errorf("a second import of the last record enqueued %d events", more-len(row.want))
			}
		})
	}
}

func TestImport_DryRunHasNoEvents(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.subscribe()
	s.put(risk("A", ""), risk("B", ""))
	before := s.contents()
	report, err := s.try(transfer.Options{DryRun: true}, lines(risk("A", `,"title":"t"`), risk("B", ""), risk("C", ""), anyRoadmap, milestone("")))
	if err != nil {
		t.Fatal(err)
	}
	want := transfer.Report{Records: 5, DryRun: true, Errors: []transfer.ValidationError{}, Types: []transfer.Count{
		{Type: "risk", Created: 1, Updated: 1, Unchanged: 1}, {Type: "roadmap", Created: 1}, {Type: "milestone", Created: 1},
	}}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, s.contents()); diff != "" {
		t.Errorf("a dry run wrote (-before +after):\n%s", diff)
	}
}
