package openapi_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/db/resource"
	"govsvc/internal/testkit"
)

// minimal holds the shortest record of each object type.
var minimal = map[string]string{
	"assessment":         `{"object":"assessment","methodology_version":"2026.1","completed_at":"2026-09-12T08:30:00.000Z"}`,
	"risk":               `{"object":"risk","risk_id":"R-1","description":"Drift"}`,
	"signal":             `{"object":"signal","signal_type":"drift","module_id":"monitoring","as_of":"2026-09-12T08:30:00Z"}`,
	"roadmap":            `{"object":"roadmap","version_number":1,"generated_at":"2026-09-12T08:30:00Z"}`,
	"milestone":          `{"object":"milestone","milestone_key":"m1","title":"T","phase":"P","sequence":1,"status":"blocked","rag_status":"RED","owner_role":"CTO"}`,
	"compliance_posture": `{"object":"compliance_posture","version_number":1,"overall_posture":"COMPLIANT","executive_summary":"","generated_at":"2026-09-12T08:30:00Z"}`,
	"obligation":         `{"object":"obligation","obligation_key":"o","regime_id":"r","regime_name":"R","jurisdiction":"EU","title":"T","priority_band":"LOW","status":"compliant"}`,
	"vendor_portfolio":   `{"object":"vendor_portfolio","version_number":1,"portfolio_posture":"WATCH","executive_summary":"S","generated_at":"2026-09-12T08:30:00Z"}`,
	"vendor":             `{"object":"vendor","vendor_key":"v","vendor_name":"V","category":"LLM","initial_risk_band":"HIGH"}`,
	"talent_readiness": `{"object":"talent_readiness","version_number":1,"overall_readiness":"READY","executive_summary":"S",` +
		`"build_buy_borrow":{"build":0.5,"buy":0.3,"borrow":0.2},"generated_at":"2026-09-12T08:30:00Z"}`,
	"talent_gap": `{"object":"talent_gap","gap_key":"g","role_title":"R","function_area":"F","headcount_needed":2,` +
		`"priority_band":"LOW","recommended_path":"buy","status":"open"}`,
	"kpi": `{"object":"kpi","code":"KR-1","statement":"S","metric_name":"M","unit":"%","direction":"increase",` +
		`"target_value":90,"measurement_frequency":"monthly","status":"active"}`,
	"kpi_checkin": `{"object":"kpi_checkin","key_result_code":"KR-1","period_start":"2026-09-01","value":1.5}`,
	"incident":    `{"object":"incident","incident_key":"I-1","title":"T"}`,
}

func TestRecord_Types(t *testing.T) {
	t.Parallel()
	d := testkit.Document(t)
	if diff := cmp.Diff(resource.Types(), d.RecordTypes()); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
	for object, want := range map[string]string{
		"assessment": "completed_at", "risk": "risk_id", "milestone": "roadmap_version milestone_key",
		"incident": "id incident_key", "kpi_checkin": "key_result_code period_start", "list": "",
	} {
		if got := strings.Join(d.RecordKey(object), " "); got != want {
			t.Errorf("key of %s: %q, want %q", object, got, want)
		}
	}
	if d.Record("event") != nil || d.RecordType("score") != "assessment" || d.RecordType("list") != "" {
		t.Error("unknown types and aliases are mixed up")
	}
}

// TestRecord_Minimal checks the shortest record of each type. Without any one of its
// members it is invalid, because all of them are required.
func TestRecord_Minimal(t *testing.T) {
	t.Parallel()
	for object, line := range minimal {
		schema := testkit.Document(t).Record(object)
		v, faults := schema.Decode([]byte(line))
		if faults != nil {
			t.Errorf("%s: %v", object, faults)
			continue
		}
		for name := range v.(map[string]any) {
			renamed := strings.Replace(line, `"`+name+`":`, `"created_`+name+`":`, 1)
			_, faults := schema.Decode([]byte(renamed))
			if len(faults) != 2 {
				t.Errorf("%s without %s: %v", object, name, faults)
			}
		}
	}
}

func TestRecord_Values(t *testing.T) {
	t.Parallel()
	for _, row := range []faultRow{
		{"risk", riskLine, nil},
		{"risk", with("risk", `"id":"00000000-0000-0000-0000-000000000001","created_at":"2020-01-01T00:00:00+01:00",`+
			`"updated_at":"2020-01-01T00:00:00Z","api_version":"2026-09-12"`), nil},
		{"risk", with("risk", `"status":"open","likelihood":"MAYBE","id":"1"`), []string{
			"id: id must be a UUID in lower case",
			"status: status must be one of Open, InProgress, Mitigated, Accepted, Closed",
			"likelihood: likelihood must be one of RARE, UNLIKELY, POSSIBLE, LIKELY, ALMOST_CERTAIN or null",
		}},
		{"risk", strings.Replace(minimal["risk"], `"risk"`, `"vendor"`, 1), []string{"object: object must be risk"}},
		{"risk", with("risk", `"owner":"x"`), []string{"owner: owner is not a known member"}},
		{"assessment", strings.Replace(minimal["assessment"], `"assessment"`, `"scorecard"`, 1), nil},
		{"assessment", with("assessment", `"overall_score":101,"confidence":-1,"verdict":"GOOD","frameworks_applied":["A",""]`), []string{
			"overall_score: overall_score must be a number from 0 to 100 or null",
			"verdict: verdict must be one of CRISIS, EMERGENCY, REMEDIATION, OPTIMIZATION, EXCELLENCE or null",
			"confidence: confidence must be a number from 0 to 1 or null",
			"frameworks_applied[1]: frameworks_applied[1] must not be empty",
		}},
		{"roadmap", with("roadmap", `"framework_blend":{"NIST AI RMF":0.5,"X":2},"phases":[{"phase":"A","objective":"B","weeks":3},{"phase":1}]`), []string{
			"framework_blend.X: framework_blend.X must be a number from 0 to 1",
			"phases[1].phase: phases[1].phase must be a string",
			"phases[1].objective: phases[1].objective is required",
		}},
		{"roadmap", strings.Replace(minimal["roadmap"], `:1,`, `:1.5,`, 1), []string{
			"version_number: version_number must be an integer of at least 0",
		}},
		{"milestone", with("milestone", `"roadmap_version":2,"roadmap_id":"00000000-0000-0000-0000-000000000001","progress_pct":12.5`), nil},
		{"milestone", strings.Replace(minimal["milestone"], `"RED"`, `"red"`, 1), []string{
			"rag_status: rag_status must be one of RED, AMBER, GREEN",
		}},
		{"compliance_posture", with("compliance_posture", `"regimes":[{"regime_id":"eu-ai-act","posture":"BAD","open_obligations":-1}]`), []string{
			"regimes[0].posture: regimes[0].posture must be one of COMPLIANT, PARTIALLY_COMPLIANT, NON_COMPLIANT, NOT_ASSESSED",
			"regimes[0].open_obligations: regimes[0].open_obligations must be an integer of at least 0",
		}},
		{"vendor_portfolio", with("vendor_portfolio", `"cross_vendor_risks":[1],"recommended_actions":[{"action":"a","priority":"HIGH"}]`), []string{
			"cross_vendor_risks[0]: cross_vendor_risks[0] must be a string",
		}},
		{"vendor", with("vendor", `"contract_start":null,"renewal_owner_role":"CFO","notes":"n","status":"gone"`), []string{
			"status: status must be one of active, under_review, negotiating, sunsetting, exited, blocked",
		}},
		{"kpi", with("kpi", `"objective_id":"00000000-0000-0000-0000-000000000001","current_value":null,"current_as_of":null`), nil},
		{"kpi_checkin", with("kpi_checkin", `"source":null,"period_start":"2026-09-12T00:00:00Z"`), []string{
			"period_start: period_start is given twice",
			"period_start: period_start must be a date (YYYY-MM-DD)",
			"source: source must be a string, not null",
		}},
		{"incident", `{"object":"incident","title":"T","id":"00000000-0000-0000-0000-000000000001"}`, nil},
		{"incident", `{"object":"incident","title":"T"}`, []string{": the record must have an id or an incident_key"}},
		{"incident", with("incident", `"timeline":[{"at":"2026-09-12T08:30:00Z","status":"open","note":null,"actor":"me"},{"at":"x","who":1}]`), []string{
			"timeline[1].at: timeline[1].at must be an RFC 3339 timestamp such as 2026-09-12T08:30:00Z",
			"timeline[1].status: timeline[1].status is required",
			"timeline[1].who: timeline[1].who is not a known member",
		}},
	} {
		t.Run(row.schema, func(t *testing.T) {
			t.Parallel()
			checkFaults(t, testkit.Document(t).Record(row.schema), row)
		})
	}
}

// with adds members to the shortest record of a type.
func with(object, members string) string {
	return strings.TrimSuffix(minimal[object], "}") + "," + members + "}"
}
