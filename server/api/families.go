package api

import (
	"slices"
	"strings"

	"govsvc/db/resource"
	"govsvc/server/openapi"
)

// Family is a type of record as the dashboard lists and shows it.
type Family struct {
	Object  string // the type in the data format, e.g. "risk"
	Name    string // in words, plural: "vendor portfolios"
	Path    string // of its pages: "/vendor-portfolios"
	Feature string // of the plan, that it needs; "" if any plan has it
	Filters []Filter
	Sorts   []string // what View.Sort may name
	Columns []Column // of its list, in order
	// Creates and Changes tell whether Save makes records of it and changes
	// those there are.
	Creates, Changes bool
}

// Filter narrows a list to the records that have one of some values.
type Filter struct {
	Name    string
	Values  []string // the values there are; nil where they are free
	Instant bool     // a date or a timestamp: records made or changed at or after it
}

// Column is a member that a list shows.
type Column struct {
	openapi.Field
	Sorts bool // View.Sort may name it
}

// plain is what of a family the document does not say.
type plain struct {
	object, name, feature string
	columns               []string
	create, change        string // operations; a family without them goes by its record's schema
	adds, changes         bool
}

var plainFamilies = []plain{
	{
		object: "assessment", name: "assessments", adds: true,
		columns: []string{"completed_at", "verdict", "overall_score", "adjusted_score", "confidence", "methodology_version"},
	},
	{
		object: "risk", name: "risks", adds: true, changes: true, create: "createRisk", change: "updateRisk",
		columns: []string{"risk_id", "title", "severity", "likelihood", "residual_severity", "status", "owner_name", "target_date", "updated_at"},
	},
	{
		object: "signal", name: "signals", adds: true, changes: true,
		columns: []string{"signal_type", "module_id", "numeric_value", "rag", "as_of"},
	},
	{
		object: "roadmap", name: "roadmaps",
		columns: []string{"version_number", "generated_at", "milestones_count", "executive_summary"},
	},
	{
		object: "milestone", name: "milestones", adds: true, changes: true,
		columns: []string{"milestone_key", "title", "phase", "sequence", "status", "rag_status", "progress_pct", "owner_role", "target_date"},
	},
	{
		object: "compliance_posture", name: "compliance postures",
		columns: []string{"version_number", "overall_posture", "generated_at", "executive_summary"},
	},
	{
		object: "obligation", name: "obligations", adds: true, changes: true,
		columns: []string{"obligation_key", "title", "regime_name", "jurisdiction", "priority_band", "status", "owner_role", "target_date"},
	},
	{
		object: "vendor_portfolio", name: "vendor portfolios",
		columns: []string{"version_number", "portfolio_posture", "generated_at", "executive_summary"},
	},
	{
		object: "vendor", name: "vendors", adds: true, changes: true, create: "createVendor", change: "updateVendor",
		columns: []string{"vendor_name", "vendor_key", "category", "initial_risk_band", "status", "contract_end", "annual_cost_usd"},
	},
	{
		object: "talent_readiness", name: "talent readiness",
		columns: []string{"version_number", "overall_readiness", "generated_at", "executive_summary"},
	},
	{
		object: "talent_gap", name: "talent gaps",
		columns: []string{"gap_key", "role_title", "function_area", "headcount_needed", "priority_band", "recommended_path", "status", "target_date"},
	},
	{
		object: "kpi", name: "KPIs",
		columns: []string{"code", "statement", "metric_name", "unit", "direction", "current_value", "target_value", "current_as_of", "status"},
	},
	{
		object: "incident", name: "incidents", feature: "incidents", adds: true, changes: true, create: "createIncident", change: "updateIncident",
		columns: []string{"title", "incident_type", "severity", "status", "owner", "notification_deadline", "notified_at", "created_at"},
	},
	// not a family of its own: a part of its KPI
	{object: "kpi_checkin", adds: true, create: "createKpiCheckins"},
}

func plainFamily(object string) *plain {
	at := slices.IndexFunc(plainFamilies, func(p plain) bool { return p.object == object })
	if at < 0 {
		return nil
	}
	return &plainFamilies[at]
}

// Families are all of them, in the order of the data format.
func Families(document *openapi.Document) []Family {
	var all []Family
	for i := range plainFamilies {
		if p := &plainFamilies[i]; p.columns != nil {
			all = append(all, p.family(document))
		}
	}
	return all
}

func (p *plain) family(document *openapi.Document) Family {
	f := Family{
		Object: p.object, Name: p.name, Path: "/" + strings.ReplaceAll(strings.ToLower(p.name), " ", "-"),
		Feature: p.feature, Sorts: resource.Find(p.object).SortNames(), Creates: p.adds, Changes: p.changes,
	}
	fields := document.Fields(p.object)
	for _, name := range p.columns {
		if at := fieldOf(fields, name); at >= 0 {
			f.Columns = append(f.Columns, Column{fields[at], slices.Contains(f.Sorts, name)})
		}
	}
	for _, filter := range resource.Find(p.object).ListFilters() {
		made := Filter{Name: filter.Name}
		if at := fieldOf(fields, filter.Column); at >= 0 {
			made.Values = fields[at].Enum
		}
		f.Filters = append(f.Filters, made)
	}
	f.Filters = append(f.Filters, Filter{Name: updatedSince, Instant: true})
	return f
}

// updatedSince is a filter of all families.
const updatedSince = "updated_since"

func fieldOf(fields []openapi.Field, name string) int {
	return slices.IndexFunc(fields, func(f openapi.Field) bool { return f.Name == name })
}
