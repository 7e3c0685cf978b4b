package records

import (
	"strings"

	"govsvc/server/openapi"
	"govsvc/web/ui"
)

// labels has the labels of members whose name does not make one.
var labels = map[string]string{
	"id": "ID", "object": "Type", "as_of": "As of", "q": "Search",
	"completed_at": "Completed", "created_at": "Added", "updated_at": "Last changed", "updated_since": "Changed since",
	"generated_at": "Created", "current_as_of": "As of",
	"methodology_version": "Methodology", "frameworks_applied": "Frameworks",
	"risk_id": "Reference", "residual_severity": "Residual", "owner_name": "Owner", "owner_role": "Owner", "target_date": "Due",
	"financial_exposure_min": "Exposure from (USD)", "financial_exposure_max": "Exposure to (USD)",
	"severity_change_reason": "Rating justification", "residual_gap_reason": "Residual risk justification", "mitigation_action": "Mitigation",
	"signal_type": "Signal", "type": "Signal", "module_id": "Module", "numeric_value": "Value", "rag": "RAG", "rag_status": "RAG",
	"version_number": "Version", "milestones_count": "Milestones", "milestone_key": "Key", "progress_pct": "Progress",
	"roadmap_version": "Roadmap version", "roadmap_id": "Roadmap",
	"obligation_key": "Key", "regime_id": "Regime key", "regime_name": "Regime", "priority_band": "Priority",
	"overall_posture": "Posture", "portfolio_posture": "Posture", "primary_jurisdictions": "Jurisdictions",
	"vendor_key": "Key", "vendor_name": "Vendor", "ai_role": "AI use", "initial_risk_band": "Risk",
	"initial_recommendation": "Recommendation", "annual_cost_usd": "Annual cost (USD)", "contract_start": "Contract starts",
	"contract_end": "Contract ends", "renewal_owner_role": "Renewal owner",
	"gap_key": "Key", "role_title": "Role", "function_area": "Area", "headcount_needed": "People", "recommended_path": "Path",
	"overall_readiness": "Readiness", "build_buy_borrow": "Build, buy, borrow",
	"incident_type": "Type", "incident_key": "Reference", "notification_required": "Regulator notification required",
	"notification_deadline": "Notify by", "notified_at": "Notified",
	"metric_name": "Measure", "baseline_value": "Baseline", "target_value": "Target", "current_value": "Value",
	"measurement_frequency": "Frequency", "evidence_ref": "Evidence", "period_start": "Period from", "objective_id": "Objective",
}

// Label returns the label of a member.
func Label(member string) string {
	if known, ok := labels[member]; ok {
		return known
	}
	return ui.Humanize(member)
}

// hundredths are percentages from 0 to 100, and shares are those from 0 to 1.
var (
	hundredths = map[string]bool{"progress_pct": true}
	shares     = map[string]bool{"confidence": true, "completeness": true, "evidence_ratio": true, "framework_blend": true, "build_buy_borrow": true}
)

// ids are members with the id or the key of a record.
var ids = map[string]bool{
	"id": true, "roadmap_id": true, "objective_id": true, "risk_id": true, "milestone_key": true, "obligation_key": true, "vendor_key": true,
	"gap_key": true, "incident_key": true, "code": true, "regime_id": true, "key_result_code": true,
}

// enumerated are the members whose values the OpenAPI document enumerates. A test
// compares them with the document.
var enumerated = map[string]bool{
	"verdict": true, "severity": true, "residual_severity": true, "likelihood": true, "status": true, "rag": true, "rag_status": true,
	"overall_posture": true, "posture": true, "priority_band": true, "portfolio_posture": true, "initial_risk_band": true,
	"initial_recommendation": true, "overall_readiness": true, "recommended_path": true, "direction": true,
	"measurement_frequency": true, "incident_type": true, "record_type": true, "other_type": true,
}

// codes are members whose values are codes of an open list.
var codes = map[string]bool{"dimension": true, "source": true, "priority": true, "module_id": true, "signal_type": true}

// kindOf returns the kind of cell of a member.
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

// cellValue returns the value of a member for its kind of cell.
func cellValue(field openapi.Field, record map[string]any) any {
	value := record[field.Name]
	if value == nil {
		return nil
	}
	kind := kindOf(field)
	switch field.Name {
	case "current_as_of": // the first day of a period, without a time zone
		day, _, _ := strings.Cut(ui.Text(value), "T")
		return day
	case "current_value", "target_value", "baseline_value":
		return ui.FormatUnit(value, ui.Text(record["unit"]))
	}
	switch {
	case codes[field.Name] && field.Name != "signal_type": // the key, because the title is its label
		return ui.CodeLabel(value)
	case kind == ui.PlainText && len(field.Enum) > 0:
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
