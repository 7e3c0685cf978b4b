package records

import (
	"strings"

	"govsvc/server/openapi"
	"govsvc/web/ui"
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

// Label is a member's name for people.
func Label(member string) string {
	if known, ok := labels[member]; ok {
		return known
	}
	return ui.Humanize(member)
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
		return ui.Code
	case hundredths[field.Name] || shares[field.Name]:
		return ui.Percent
	case field.Name == "version_number" || field.Name == "roadmap_version":
		return ui.PlainText
	case field.Type == "number" || field.Type == "integer":
		return ui.Number
	case field.Format == "date" || field.Format == "date-time":
		return ui.Time
	case field.Name == "measurement_frequency" || field.Name == "direction" || field.Name == "recommended_path" || field.Name == "incident_type":
		return ui.PlainText
	case len(field.Enum) > 0:
		return ui.Badge
	case field.MaxLength > 2000 && !short[field.Name]:
		return ui.Long
	}
	return ui.PlainText
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
		day, _, _ := strings.Cut(ui.Text(value), "T")
		return day
	case "current_value", "target_value", "baseline_value":
		return ui.FormatUnit(value, ui.Text(record["unit"]))
	}
	if kind == ui.PlainText && len(field.Enum) > 0 {
		return ui.Humanize(value)
	}
	if shares[field.Name] {
		if share, ok := ui.Float(value); ok {
			return share * 100
		}
	}
	if s, ok := value.(string); ok && kind == ui.Long {
		return ui.Truncate(s, 160)
	}
	return value
}
