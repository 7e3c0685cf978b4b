package records

import (
	"strings"

	"govsvc/web/ui"
)

// section is a part of the form of a resource.
type section struct{ title, members string }

// sections are the parts of each form, with what is edited most often first. The other
// members are in a folded part at the end.
var sections = map[string][]section{
	"assessment": {
		{"", "completed_at verdict overall_score adjusted_score"},
		{"Basis", "methodology_version frameworks_applied"},
	},
	"risk": {
		{"", "title description status owner_name target_date"},
		{"Rating", "severity likelihood residual_severity residual_gap_reason severity_change_reason"},
		{"Treatment", "mitigation_action"},
	},
	"signal": {
		{"", "signal_type numeric_value rag as_of"},
		{"Source", "module_id source_version"},
	},
	"roadmap": {
		{"", "version_number generated_at executive_summary"},
		{"", "phases"},
	},
	"milestone": {
		{"", "title milestone_key status rag_status progress_pct owner_role target_date"},
		{"Place in the roadmap", "phase sequence roadmap_version"},
	},
	"compliance_posture": {
		{"", "version_number overall_posture generated_at executive_summary"},
		{"", "regimes"},
	},
	"obligation": {
		{"", "title obligation_key status priority_band owner_role target_date"},
		{"Regime", "regime_id regime_name jurisdiction"},
	},
	"vendor_portfolio": {
		{"", "version_number portfolio_posture generated_at executive_summary"},
		{"Risks and actions", "cross_vendor_risks recommended_actions"},
	},
	"vendor": {
		{"", "vendor_name vendor_key category status initial_risk_band"},
		{"Contract", "contract_start contract_end annual_cost_usd renewal_owner_role"},
		{"Review", "ai_role initial_recommendation notes"},
	},
	"talent_readiness": {
		{"", "version_number overall_readiness generated_at executive_summary"},
		{"", "build_buy_borrow"},
	},
	"talent_gap": {
		{"", "role_title gap_key status priority_band owner_role target_date"},
		{"Role", "function_area headcount_needed recommended_path"},
	},
	"kpi": {
		{"", "metric_name code statement status"},
		{"Measurement", "unit direction baseline_value target_value measurement_frequency"},
	},
	"incident": {
		{"", "title description incident_type severity status owner"},
		{"Regulator notification", "notification_required notification_deadline notified_at"},
		{"Scope", "affected_systems jurisdictions"},
	},
}

// formSections groups the fields of a form.
func formSections(object string, fields []*ui.Field) []ui.Section {
	form, placed := &ui.Form{Fields: fields}, map[string]bool{}
	var all []ui.Section
	for _, s := range sections[object] {
		part := ui.Section{Title: s.title}
		for name := range strings.FieldsSeq(s.members) {
			if field := form.Field(name); field != nil {
				part.Fields = append(part.Fields, field)
				placed[name] = true
			}
		}
		if len(part.Fields) > 0 {
			all = append(all, part)
		}
	}
	rest := ui.Section{Title: "More fields", Folded: true}
	for _, field := range fields {
		if !placed[field.Name] {
			rest.Fields = append(rest.Fields, field)
		}
	}
	if len(rest.Fields) > 0 {
		all = append(all, rest)
	}
	return all
}
