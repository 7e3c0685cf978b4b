package web

import (
	"strings"
	"time"
	"unicode/utf8"

	"govsvc/server/openapi"
)

// labels are the members whose names say it less well than people do.
var labels = map[string]string{
	"id": "Id", "object": "Type", "as_of": "As of", "q": "Search",
	"completed_at": "Completed", "created_at": "Added", "updated_at": "Last changed", "updated_since": "Changed since",
	"generated_at": "Made", "current_as_of": "Since",
	"methodology_version": "Method", "frameworks_applied": "Frameworks",
	"risk_id": "Reference", "residual_severity": "Residual", "owner_name": "Owner", "owner_role": "Owner", "target_date": "Due",
	"financial_exposure_min": "Exposure from, USD", "financial_exposure_max": "Exposure to, USD",
	"severity_change_reason": "Reason for the change", "residual_gap_reason": "Why the residual risk is lower", "mitigation_action": "Mitigation",
	"signal_type": "Signal", "type": "Signal", "module_id": "Module", "numeric_value": "Value", "rag": "Band", "rag_status": "Band",
	"version_number": "Version", "milestones_count": "Milestones", "milestone_key": "Key", "progress_pct": "Progress",
	"roadmap_version": "Roadmap version", "roadmap_id": "Roadmap",
	"obligation_key": "Key", "regime_id": "Regime", "regime_name": "Regime", "priority_band": "Priority",
	"overall_posture": "Posture", "portfolio_posture": "Posture", "primary_jurisdictions": "Jurisdictions",
	"vendor_key": "Key", "vendor_name": "Vendor", "ai_role": "Role of its AI", "initial_risk_band": "Risk",
	"initial_recommendation": "Recommendation", "annual_cost_usd": "Cost a year, USD", "contract_start": "Contract from",
	"contract_end": "Contract until", "renewal_owner_role": "Decides on renewal",
	"gap_key": "Key", "role_title": "Role", "function_area": "Area", "headcount_needed": "People", "recommended_path": "Path",
	"overall_readiness": "Readiness", "build_buy_borrow": "Build, buy, borrow",
	"incident_type": "Kind", "incident_key": "Key", "notification_required": "An authority must be told",
	"notification_deadline": "To be told until", "notified_at": "Told",
	"metric_name": "Measure", "baseline_value": "Baseline", "target_value": "Target", "current_value": "Value",
	"measurement_frequency": "Measured", "evidence_ref": "Evidence", "period_start": "Period from", "objective_id": "Objective",
}

// label is a member's name for people.
func label(member string) string {
	if known, ok := labels[member]; ok {
		return known
	}
	return words(member)
}

// hundredths are the numbers from 0 to 100 that are percentages; shares are
// those from 0 to 1.
var (
	hundredths = map[string]bool{"progress_pct": true}
	shares     = map[string]bool{"confidence": true, "completeness": true, "evidence_ratio": true, "framework_blend": true, "build_buy_borrow": true}
)

// ids are members that name another record, or a system's own name for one.
var ids = map[string]bool{
	"id": true, "roadmap_id": true, "objective_id": true, "risk_id": true, "milestone_key": true, "obligation_key": true, "vendor_key": true,
	"gap_key": true, "incident_key": true, "code": true, "regime_id": true, "key_result_code": true,
}

// kindOf is how a member's values are shown.
func kindOf(field openapi.Field) string {
	switch {
	case ids[field.Name]:
		return Code
	case hundredths[field.Name] || shares[field.Name]:
		return Percent
	case field.Name == "version_number" || field.Name == "roadmap_version":
		return Plain
	case field.Type == "number" || field.Type == "integer":
		return Number
	case field.Format == "date" || field.Format == "date-time":
		return Time
	case field.Name == "measurement_frequency" || field.Name == "direction" || field.Name == "recommended_path" || field.Name == "incident_type":
		return Plain
	case len(field.Enum) > 0:
		return Badge
	case field.MaxLength > 2000 && !short[field.Name]:
		return Long
	}
	return Plain
}

// shown is the value of a record's member as its kind of cell takes it.
func shown(field openapi.Field, record map[string]any) any {
	value := record[field.Name]
	if value == nil {
		return nil
	}
	kind := kindOf(field)
	switch field.Name {
	case "current_as_of": // a period's first day, in no zone
		day, _, _ := strings.Cut(text(value), "T")
		return day
	case "current_value", "target_value", "baseline_value":
		return unit(value, text(record["unit"]))
	}
	if kind == Plain && len(field.Enum) > 0 {
		return words(value)
	}
	if shares[field.Name] {
		if share, ok := float(value); ok {
			return share * 100
		}
	}
	if s, ok := value.(string); ok && kind == Long {
		return shortened(s, 160)
	}
	return value
}

// shortened cuts a text where its beginning is enough to know it by.
func shortened(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:most])) + "…"
}

// article puts "a" or "an" before words.
func article(words string) string {
	if words != "" && strings.ContainsRune("aeiou", rune(words[0])) {
		return "an " + words
	}
	return "a " + words
}

// span is how long something takes, in the one unit that people would say it in.
func span(d time.Duration) string {
	d = d.Abs()
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < 2*time.Hour:
		return plural(int(d.Minutes()), "minute", "minutes")
	case d < 4*24*time.Hour:
		return plural(int(d.Hours()), "hour", "hours")
	}
	return plural(int(d.Hours()/24), "day", "days")
}
