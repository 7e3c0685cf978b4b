package ui

import "regexp"

// valueLabels has the label of each value that the OpenAPI document enumerates, of the
// usual codes of open lists, and of the types of records. Humanize makes the label of
// other values.
var valueLabels = map[string]string{
	// severities, likelihoods and colours
	"CRITICAL": "Critical", "HIGH": "High", "MEDIUM": "Medium", "LOW": "Low",
	"critical": "Critical", "high": "High", "medium": "Medium", "low": "Low",
	"RARE": "Rare", "UNLIKELY": "Unlikely", "POSSIBLE": "Possible", "LIKELY": "Likely", "ALMOST_CERTAIN": "Almost certain",
	"RED": "Red", "AMBER": "Amber", "GREEN": "Green",
	// verdicts and postures
	"CRISIS": "Crisis", "EMERGENCY": "Emergency", "REMEDIATION": "Remediation", "OPTIMIZATION": "Optimisation", "EXCELLENCE": "Excellence",
	"COMPLIANT": "Compliant", "PARTIALLY_COMPLIANT": "Partially compliant", "NON_COMPLIANT": "Non-compliant", "NOT_ASSESSED": "Not assessed",
	"HEALTHY": "Healthy", "WATCH": "Watch", "ELEVATED": "Elevated",
	"READY": "Ready", "DEVELOPING": "Developing", "AT_RISK": "At risk", "CRITICAL_GAP": "Critical gap",
	// states of records
	"Open": "Open", "InProgress": "In progress", "Mitigated": "Mitigated", "Accepted": "Accepted", "Closed": "Closed",
	"open": "Open", "in_progress": "In progress", "closed": "Closed", "draft": "Draft", "active": "Active",
	"not_started": "Not started", "blocked": "Blocked", "completed": "Completed", "cancelled": "Cancelled",
	"compliant": "Compliant", "at_risk": "At risk", "non_compliant": "Non-compliant", "not_applicable": "Not applicable",
	"under_review": "Under review", "negotiating": "In negotiation", "sunsetting": "Being phased out", "exited": "Exited",
	"filled": "Filled", "deferred": "Deferred", "achieved": "Achieved", "missed": "Missed", "retired": "Retired",
	"investigating": "Investigating", "contained": "Contained", "resolved": "Resolved", "post_review": "In post-incident review",
	// other enumerations
	"consolidate": "Consolidate", "negotiate": "Negotiate", "maintain": "Maintain", "exit": "Exit", "onboard": "Onboard",
	"build": "Build", "buy": "Buy", "borrow": "Borrow", "increase": "Increase", "decrease": "Decrease",
	"weekly": "Weekly", "monthly": "Monthly", "quarterly": "Quarterly", "annual": "Yearly",
	"model_failure": "Model failure", "bias_harm": "Harm from bias", "data_exposure": "Data exposure", "agent_failure": "Agent failure",
	"regulatory_inquiry": "Regulatory inquiry", "shadow_ai_breach": "Shadow AI breach", "other": "Other", "overall": "Overall", "regime": "Regime",
	// types of records, and other subjects of the audit log
	"assessment": "Assessment", "score": "Score", "scorecard": "Scorecard", "risk": "Risk", "signal": "Signal", "roadmap": "Roadmap", "milestone": "Milestone",
	"compliance_posture": "Compliance posture", "obligation": "Obligation", "vendor_portfolio": "Vendor portfolio", "vendor": "Vendor",
	"talent_readiness": "Talent readiness", "talent_gap": "Talent gap", "kpi": "KPI", "kpi_checkin": "KPI check-in", "incident": "Incident", "link": "Link",
	"webhook_subscription": "Webhook", "evidence_pack": "Evidence pack", "api_key": "API key", "user": "User", "organisation": "Organisation", "import": "Import",
	// results of checks
	"ok": "OK", "warning": "Warning", "failed": "Failed", "verified": "Verified when created", "missing": "File not found",
	// where risks and values come from
	"user_added": "Added by hand", "manual": "Entered by hand", "api": "API", "integration": "Integration", "dpia": "Data protection impact assessment",
	"dlp_alert": "Data loss prevention alert", "red_team": "Red team", "assessment_finding": "Assessment finding",
	// dimensions of governance
	"AGENTIC": "Agentic AI", "AGENTS": "Agents", "HUMAN_OVERSIGHT": "Human oversight", "THIRD_PARTY": "Third parties", "OTHER": "Other",
	// signals
	"maturity.adjusted_score": "Adjusted maturity score", "risk.open_critical": "Open critical risks", "risk.overdue_high_critical": "Overdue high and critical risks",
	"compliance.open_obligations": "Open obligations", "compliance.overdue_obligations": "Overdue obligations",
	"vendor.renewals_90d": "Contracts ending in 90 days", "vendor.top_provider_spend_share": "Share of spend with the largest vendor",
	"incident.open": "Open incidents", "incident.notifications_due_72h": "Notifications due in 72 hours", "roadmap.progress_pct": "Roadmap progress (%)",
	"talent.open_headcount": "Open headcount", "literacy.completion_pct": "AI literacy completed (%)", "monitoring.drift_alerts_30d": "Drift alerts in 30 days",
}

// ValueLabel returns the label of a value of an enumeration, and whether the table has
// one.
func ValueLabel(value any) (string, bool) {
	label, known := valueLabels[Text(value)]
	return label, known
}

// codeForm matches codes: words of one case that are joined with underscores or dots.
var codeForm = regexp.MustCompile(`^([A-Z0-9]+(_[A-Z0-9]+)*|[a-z0-9]+([._][a-z0-9]+)*)$`)

// CodeLabel returns the label of a value of an open list, such as the source of a risk.
// It returns texts that are not codes unchanged, because people wrote them.
func CodeLabel(value any) string {
	text := Text(value)
	if label, known := valueLabels[text]; known {
		return label
	}
	if codeForm.MatchString(text) {
		return Humanize(text)
	}
	return text
}
