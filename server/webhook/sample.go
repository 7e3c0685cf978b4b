package webhook

import (
	"encoding/json"
	"slices"
	"time"

	"govsvc/db"
)

// Types are the types of events, those that can be subscribed to first
// (contract, "Events").
func Types() []string {
	types := make([]string, len(samples))
	for i, s := range samples {
		types[i] = s.kind
	}
	return types
}

// Sample is a realistic event of a type; false where there is no such type.
// Its id is made of uuid.
func Sample(kind, uuid string, at time.Time) (db.Message, bool) {
	i := slices.IndexFunc(samples, func(s sample) bool { return s.kind == kind })
	if i < 0 {
		return db.Message{}, false
	}
	return db.NewMessage(uuid, kind, at, json.RawMessage(samples[i].data)), true
}

type sample struct{ kind, data string }

var samples = []sample{
	{"assessment.completed", `{"scorecard":` + sampleScorecard + `}`},
	{"verdict.changed", `{"scorecard":` + sampleScorecard + `,"previous_verdict":"REMEDIATION"}`},
	{"roadmap.updated", `{"roadmap":{"object":"roadmap","id":"01993e0a-52c0-7a10-8c55-3d0f6f2b9e01","version_number":4,
		"executive_summary":"Close the gaps in model oversight first, then scale what works.",
		"framework_blend":{"NIST AI RMF":0.6,"ISO/IEC 42001":0.4},
		"phases":[{"phase":"Foundation","objective":"Every model has an owner and an entry in the inventory."},
			{"phase":"Scale","objective":"Controls run by themselves."}],
		"milestones_count":12,"generated_at":"2026-09-01T09:00:00.000Z"},"changed_milestones":["inventory-complete","owners-named"]}`},
	{"risk.created", `{"risk":` + sampleRisk + `}`},
	{"risk.severity_changed", `{"risk":` + sampleRisk + `,"previous":{"severity":"CRITICAL","residual_severity":null},
		"reason":"The vendor now redacts personal data before it is logged."}`},
	{"compliance.posture_changed", `{"posture_id":"01993e0a-52c0-7b21-9f00-5a1c2e7d4b02","version_number":7,"scope":"regime",
		"regime_id":"eu-ai-act","previous":"NON_COMPLIANT","current":"PARTIALLY_COMPLIANT"}`},
	{"evidence.pack_filed", `{"pack_id":"01993e0a-52c0-7c32-a1b2-6b2d3f8e5c03","title":"Third quarter 2026","item_count":9,
		"manifest_sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","filed_at":"2026-09-30T16:45:00.000Z"}`},
	{"ping", `{"subscription_id":"01993e0a-52c0-7d43-b3c4-7c3e409f6d04"}`},
}

const sampleScorecard = `{"object":"scorecard","id":"01993e0a-52c0-7e54-85d6-8d4f51a07e05","overall_score":68.5,"adjusted_score":63,
	"verdict":"OPTIMIZATION","confidence":0.82,"methodology_version":"2026.2","completed_at":"2026-09-12T08:30:00.000Z",
	"completeness":0.97,"evidence_ratio":0.64,"frameworks_applied":["NIST AI RMF","ISO/IEC 42001"]}`

const sampleRisk = `{"object":"risk","id":"01993e0a-52c0-7f65-97e8-9e5062b18f06","risk_id":"RISK-0042","dimension":"DATA",
	"description":"Prompts with personal data reach the logs of a model vendor.","severity":"HIGH","residual_severity":"MEDIUM",
	"status":"InProgress","source":"user_added","owner_name":"Head of data protection","financial_exposure_min":50000,
	"financial_exposure_max":250000,"target_date":"2026-12-31","created_at":"2026-09-12T08:30:00.000Z"}`
