package transfer_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"govsvc/server/transfer"
)

// TestRoundTrip_RandomRecords exports and imports generated records of all types. The
// records have all enumerated values and unusual texts, and omit some optional members.
func TestRoundTrip_RandomRecords(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			g := &generator{newRandom(seed), t}
			text := g.records(25)
			roundTrip(t, transfer.Bytes("random.ndjson", []byte(text)))
		})
	}
}

func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

// generator makes valid records.
type generator struct {
	*rand.Rand
	t *testing.T
}

// optional marks a member that may be left out, and one that may be null too.
type (
	optional struct{ value any }
	nullable struct{ value any }
)

func (g *generator) records(n int) string {
	var text strings.Builder
	write := func(object string, members map[string]any) {
		members["object"] = object
		members["id"], members["created_at"], members["updated_at"] = optional{g.id()}, optional{g.instant()}, optional{g.instant()}
		members["api_version"] = optional{"2026-09-12"}
		for name, value := range members {
			if o, ok := value.(nullable); ok {
				value = optional(o)
				if g.IntN(3) == 0 {
					value = nil
				}
			}
			if o, ok := value.(optional); ok {
				if value = o.value; g.IntN(3) == 0 {
					delete(members, name)
					continue
				}
			}
			members[name] = value
		}
		line, err := json.Marshal(members)
		if err != nil {
			g.t.Fatal(err)
		}
		text.Write(line)
		text.WriteByte('\n')
	}
	for i := range n {
		for _, make := range []func(int, func(string, map[string]any)){g.scores, g.roadmaps, g.compliance, g.vendors, g.talent, g.kpis, g.incidents} {
			make(i, write)
		}
	}
	return text.String()
}

func (g *generator) one(values string) any {
	list := strings.Fields(values)
	return list[g.IntN(len(list))]
}

func (g *generator) id() string {
	return fmt.Sprintf("%08x-0000-7000-8000-%012x", g.Uint32(), g.Uint64()>>16)
}

func (g *generator) date() string {
	return fmt.Sprintf("20%02d-%02d-%02d", g.IntN(100), 1+g.IntN(12), 1+g.IntN(28))
}

func (g *generator) instant() string {
	fraction := []string{"", ".1", ".123", ".123456789"}[g.IntN(4)]
	zone := []string{"Z", "+02:00", "-11:30"}[g.IntN(3)]
	return fmt.Sprintf("%sT%02d:%02d:%02d%s%s", g.date(), g.IntN(24), g.IntN(60), g.IntN(60), fraction, zone)
}

func (g *generator) text() string {
	words := []string{"a", "Ärger", "日本", "😀", `"quoted"`, `back\slash`, "<b>&</b>", "line\nbreak", "tab\t", "\u2028", "\x7f", "\u200b", " "}
	text := "x"
	for range g.IntN(5) {
		text += words[g.IntN(len(words))]
	}
	return text
}

func (g *generator) number() any {
	return []any{
		g.IntN(1000), -g.IntN(1000), g.Float64() * 1e6, json.Number("12.50"), json.Number("1e3"), json.Number("-0.0"),
		json.Number("123456789012345678901234567890"), 1e-300, 9007199254740993, json.Number("0.1"),
	}[g.IntN(10)]
}

const bands = "CRITICAL HIGH MEDIUM LOW"

func (g *generator) scores(i int, write func(string, map[string]any)) {
	write(g.one("assessment scorecard").(string), map[string]any{
		"completed_at": fmt.Sprintf("2026-01-01T00:%02d:00Z", i), "methodology_version": "v" + g.text() + "v", "overall_score": nullable{g.Float64() * 100},
		"adjusted_score": nullable{g.IntN(101)}, "verdict": nullable{g.one("CRISIS EMERGENCY REMEDIATION OPTIMIZATION EXCELLENCE")},
		"confidence": nullable{g.Float64()}, "completeness": nullable{1}, "evidence_ratio": nullable{0}, "frameworks_applied": optional{[]any{g.text(), "f"}},
	})
	write("risk", map[string]any{
		"risk_id": fmt.Sprintf("RISK-%04d", i), "description": g.text(), "title": nullable{g.text()}, "severity": nullable{g.one(bands)},
		"residual_severity": nullable{g.one(bands)}, "likelihood": nullable{g.one("RARE UNLIKELY POSSIBLE LIKELY ALMOST_CERTAIN")},
		"status": optional{g.one("Open InProgress Mitigated Accepted Closed")}, "owner_name": nullable{g.text()}, "dimension": nullable{"D"},
		"financial_exposure_min": nullable{g.number()}, "financial_exposure_max": nullable{g.number()}, "target_date": nullable{g.date()},
		"mitigation_action": nullable{g.text()}, "residual_gap_reason": nullable{g.text()}, "source": nullable{"s"},
	})
	write("signal", map[string]any{
		"signal_type": fmt.Sprintf("s%d", i), "module_id": "m", "as_of": g.instant(), "numeric_value": nullable{g.number()},
		"rag": nullable{g.one("RED AMBER GREEN")}, "source_version": nullable{"v"},
	})
}

func (g *generator) roadmaps(i int, write func(string, map[string]any)) {
	write("roadmap", map[string]any{
		"version_number": i, "generated_at": g.instant(), "executive_summary": nullable{g.text()}, "milestones_count": nullable{g.IntN(9)},
		"framework_blend": optional{map[string]any{g.text(): 0.5, "x": json.Number("0.50")}},
		"phases":          optional{[]any{map[string]any{"phase": g.text(), "objective": g.text()}}},
	})
	for j := range g.IntN(6) {
		version := any(g.IntN(i + 1))
		write("milestone", map[string]any{
			"milestone_key": fmt.Sprintf("m%d-%d", i, j), "title": g.text(), "phase": g.text(), "sequence": j, "owner_role": g.text(),
			"status": g.one("not_started in_progress blocked completed cancelled"), "rag_status": g.one("RED AMBER GREEN"),
			"progress_pct": optional{g.Float64() * 100}, "target_date": nullable{g.date()}, "roadmap_id": optional{g.id()}, "roadmap_version": version,
		})
	}
}

func (g *generator) compliance(i int, write func(string, map[string]any)) {
	const postures = "COMPLIANT PARTIALLY_COMPLIANT NON_COMPLIANT NOT_ASSESSED"
	write("compliance_posture", map[string]any{
		"version_number": i, "overall_posture": g.one(postures), "executive_summary": g.text(), "generated_at": g.instant(),
		"primary_jurisdictions": optional{[]any{g.text()}},
		"regimes":               optional{[]any{map[string]any{"regime_id": "r", "posture": g.one(postures), "open_obligations": g.IntN(9)}}},
	})
	write("obligation", map[string]any{
		"obligation_key": fmt.Sprintf("o%d", i), "regime_id": "r", "regime_name": g.text(), "jurisdiction": g.text(), "title": g.text(),
		"priority_band": g.one(bands), "status": g.one("not_started in_progress compliant at_risk non_compliant not_applicable"),
		"owner_role": nullable{g.text()}, "target_date": nullable{g.date()},
	})
}

func (g *generator) vendors(i int, write func(string, map[string]any)) {
	write("vendor_portfolio", map[string]any{
		"version_number": i, "portfolio_posture": g.one("HEALTHY WATCH ELEVATED CRITICAL"), "executive_summary": g.text(), "generated_at": g.instant(),
		"cross_vendor_risks": optional{[]any{g.text()}}, "recommended_actions": optional{[]any{map[string]any{"action": g.text(), "priority": "high"}}},
	})
	write("vendor", map[string]any{
		"vendor_key": fmt.Sprintf("v%d", i), "vendor_name": g.text(), "category": g.text(), "initial_risk_band": g.one(bands), "ai_role": nullable{g.text()},
		"initial_recommendation": nullable{g.one("consolidate negotiate maintain exit onboard")},
		"status":                 optional{g.one("active under_review negotiating sunsetting exited blocked")},
		"contract_start":         nullable{g.date()}, "contract_end": nullable{g.date()}, "annual_cost_usd": nullable{g.Float64() * 1e6},
		"renewal_owner_role": nullable{g.text()}, "notes": nullable{g.text()},
	})
}

func (g *generator) talent(i int, write func(string, map[string]any)) {
	write("talent_readiness", map[string]any{
		"version_number": i, "overall_readiness": g.one("READY DEVELOPING AT_RISK CRITICAL_GAP"), "executive_summary": g.text(),
		"generated_at": g.instant(), "build_buy_borrow": map[string]any{"build": 0.2, "buy": 0.5, "borrow": 0.3},
	})
	write("talent_gap", map[string]any{
		"gap_key": fmt.Sprintf("g%d", i), "role_title": g.text(), "function_area": g.text(), "headcount_needed": json.Number("2.0"),
		"priority_band": g.one(bands), "recommended_path": g.one("build buy borrow"), "status": g.one("open in_progress filled deferred closed"),
		"owner_role": nullable{g.text()}, "target_date": nullable{g.date()},
	})
}

func (g *generator) kpis(i int, write func(string, map[string]any)) {
	code := fmt.Sprintf("K%d", i)
	write("kpi", map[string]any{
		"code": code, "statement": g.text(), "metric_name": g.text(), "unit": "%", "direction": g.one("increase decrease maintain"),
		"target_value": g.number(), "baseline_value": nullable{g.number()}, "current_value": nullable{g.number()}, "current_as_of": nullable{g.instant()},
		"measurement_frequency": g.one("weekly monthly quarterly annual"), "status": g.one("draft active achieved missed retired"), "objective_id": optional{g.id()},
	})
	for month := range g.IntN(5) {
		write("kpi_checkin", map[string]any{
			"key_result_code": code, "period_start": fmt.Sprintf("20%02d-%02d-01", 20+g.IntN(80), month+1), "value": g.number(), "source": optional{g.text()},
			"evidence_ref": nullable{g.text()}, "note": nullable{g.text()}, "key_result_id": optional{g.id()},
		})
	}
}

func (g *generator) incidents(i int, write func(string, map[string]any)) {
	const states = "open investigating contained resolved post_review closed"
	timeline := []any{}
	for range g.IntN(4) {
		timeline = append(timeline, map[string]any{"at": g.instant(), "status": g.one(states), "note": g.text(), "actor": g.text()})
	}
	write("incident", map[string]any{
		"incident_key": fmt.Sprintf("i%d", i), "title": g.text(), "description": nullable{g.text()}, "severity": optional{g.one("low medium high critical")},
		"incident_type": optional{g.one("model_failure bias_harm data_exposure agent_failure regulatory_inquiry shadow_ai_breach other")},
		"status":        optional{g.one(states)}, "affected_systems": nullable{g.text()}, "jurisdictions": nullable{g.text()}, "owner": nullable{g.text()},
		"notification_required": optional{g.IntN(2) == 0}, "notification_deadline": nullable{g.instant()}, "notified_at": nullable{g.instant()},
		"timeline": optional{timeline},
	})
}
