package db

import (
	"slices"
	"strconv"
	"strings"
)

// family says how people browse the records of a type: in the order of the
// API's list or another one, by more filters than the API's, and by words.
type family struct {
	*Collection
	// filters are the columns to filter by beside the collection's, which have an
	// index; these are for choosing among a part.
	filters []string
	sorts   []sorting
	texts   []string // columns that words are looked for in
}

// sorting is an order that people may choose.
type sorting struct {
	name string // of the member
	// key is what is compared, never null: what is not there comes first.
	key string
}

// sortedText is how many characters of a text count for its place; rows with
// the same go by id. The key of a place is in every cursor, which is short.
const sortedText = 60

func byText(column string) sorting {
	return sorting{column, "lower(substr(coalesce(" + column + ", ''), 1, " + strconv.Itoa(sortedText) + "))"}
}

// byTime is for dates and instants.
func byTime(column string) sorting { return sorting{column, "coalesce(" + column + ", '')"} }

func byNumber(column string) sorting { return sorting{column, "coalesce(" + column + ", -9e999)"} }

// byColumn is for a column that is never null, whose index may then serve.
func byColumn(column string) sorting { return sorting{column, column} }

// byRank is for enumerations that are an order, least first.
func byRank(column string, values ...string) sorting {
	var key strings.Builder
	key.WriteString("CASE " + column)
	for i, value := range values {
		key.WriteString(" WHEN '" + value + "' THEN " + strconv.Itoa(i+1))
	}
	return sorting{column, key.String() + " ELSE 0 END"}
}

var (
	bands       = []string{"LOW", "MEDIUM", "HIGH", "CRITICAL"}
	likelihoods = []string{"RARE", "UNLIKELY", "POSSIBLE", "LIKELY", "ALMOST_CERTAIN"}
	ragStates   = []string{"GREEN", "AMBER", "RED"}
)

// families are all that can be browsed, by the type of the data format.
var families = map[string]*family{
	"assessment": {
		Collection: &Scores,
		filters:    []string{"verdict"},
		texts:      []string{"methodology_version", "verdict", "frameworks_applied"},
		sorts: []sorting{
			byColumn("completed_at"), byNumber("overall_score"), byNumber("adjusted_score"), byNumber("confidence"),
			byRank("verdict", "CRISIS", "EMERGENCY", "REMEDIATION", "OPTIMIZATION", "EXCELLENCE"),
		},
	},
	"risk": {
		Collection: &Risks,
		filters:    []string{"likelihood", "residual_severity"},
		texts:      []string{"risk_id", "title", "description", "owner_name", "dimension", "mitigation_action"},
		sorts: []sorting{
			byColumn("created_at"), byColumn("updated_at"), byText("risk_id"), byText("title"), byText("dimension"),
			byRank("severity", bands...), byRank("residual_severity", bands...), byRank("likelihood", likelihoods...),
			byRank("status", "Open", "InProgress", "Mitigated", "Accepted", "Closed"),
			byText("owner_name"), byTime("target_date"), byNumber("financial_exposure_max"),
		},
	},
	"signal": {
		Collection: &Signals,
		filters:    []string{"rag", "module_id"},
		texts:      []string{"signal_type", "module_id", "source_version"},
		sorts: []sorting{
			byColumn("signal_type"), byText("module_id"), byNumber("numeric_value"), byRank("rag", ragStates...),
			byTime("as_of"), byColumn("updated_at"),
		},
	},
	"roadmap": {
		Collection: &Collection{Name: "roadmaps", table: "roadmaps", order: "version_number"},
		texts:      []string{"executive_summary", "phases"},
		sorts:      []sorting{byColumn("version_number"), byTime("generated_at"), byNumber("milestones_count")},
	},
	"milestone": {
		Collection: &Milestones,
		filters:    []string{"rag_status", "phase"},
		texts:      []string{"milestone_key", "title", "phase", "owner_role"},
		sorts: []sorting{
			byColumn("created_at"), byColumn("updated_at"), byText("milestone_key"), byText("title"), byText("phase"),
			byNumber("sequence"), byRank("status", "not_started", "in_progress", "blocked", "completed", "cancelled"),
			byRank("rag_status", ragStates...), byNumber("progress_pct"), byText("owner_role"), byTime("target_date"),
		},
	},
	"compliance_posture": {
		Collection: &Collection{Name: "compliance_postures", table: "compliance_postures", order: "version_number"},
		texts:      []string{"executive_summary", "regimes", "primary_jurisdictions"},
		sorts: []sorting{
			byColumn("version_number"), byTime("generated_at"),
			byRank("overall_posture", "NOT_ASSESSED", "NON_COMPLIANT", "PARTIALLY_COMPLIANT", "COMPLIANT"),
		},
	},
	"obligation": {
		Collection: &Obligations,
		filters:    []string{"priority_band", "jurisdiction"},
		texts:      []string{"obligation_key", "title", "regime_id", "regime_name", "jurisdiction", "owner_role"},
		sorts: []sorting{
			byColumn("created_at"), byColumn("updated_at"), byText("obligation_key"), byText("title"), byText("regime_name"),
			byText("jurisdiction"), byRank("priority_band", bands...),
			byRank("status", "non_compliant", "at_risk", "not_started", "in_progress", "compliant", "not_applicable"),
			byText("owner_role"), byTime("target_date"),
		},
	},
	"vendor_portfolio": {
		Collection: &Collection{Name: "vendor_portfolios", table: "vendor_portfolios", order: "version_number"},
		texts:      []string{"executive_summary", "cross_vendor_risks", "recommended_actions"},
		sorts: []sorting{
			byColumn("version_number"), byTime("generated_at"),
			byRank("portfolio_posture", "HEALTHY", "WATCH", "ELEVATED", "CRITICAL"),
		},
	},
	"vendor": {
		Collection: &Vendors,
		filters:    []string{"initial_risk_band", "initial_recommendation"},
		texts:      []string{"vendor_key", "vendor_name", "category", "ai_role", "renewal_owner_role", "notes"},
		sorts: []sorting{
			byColumn("created_at"), byColumn("updated_at"), byText("vendor_key"), byText("vendor_name"), byText("category"),
			byRank("initial_risk_band", bands...),
			byRank("status", "active", "under_review", "negotiating", "sunsetting", "exited", "blocked"),
			byTime("contract_start"), byTime("contract_end"), byNumber("annual_cost_usd"),
		},
	},
	"talent_readiness": {
		Collection: &Collection{Name: "talent_readiness", table: "talent_readiness", order: "version_number"},
		texts:      []string{"executive_summary"},
		sorts: []sorting{
			byColumn("version_number"), byTime("generated_at"),
			byRank("overall_readiness", "READY", "DEVELOPING", "AT_RISK", "CRITICAL_GAP"),
		},
	},
	"talent_gap": {
		Collection: &TalentGaps,
		filters:    []string{"priority_band", "recommended_path"},
		texts:      []string{"gap_key", "role_title", "function_area", "owner_role"},
		sorts: []sorting{
			byColumn("created_at"), byColumn("updated_at"), byText("gap_key"), byText("role_title"), byText("function_area"),
			byNumber("headcount_needed"), byRank("priority_band", bands...),
			byRank("status", "open", "in_progress", "filled", "deferred", "closed"),
			byText("owner_role"), byTime("target_date"),
		},
	},
	"incident": {
		Collection: &Incidents,
		filters:    []string{"incident_type"},
		texts:      []string{"incident_key", "title", "description", "affected_systems", "jurisdictions", "owner"},
		sorts: []sorting{
			byColumn("created_at"), byColumn("updated_at"), byText("title"), byText("incident_type"),
			byRank("severity", "low", "medium", "high", "critical"),
			byRank("status", "open", "investigating", "contained", "resolved", "post_review", "closed"),
			byText("owner"), byTime("notification_deadline"),
		},
	},
	"kpi": {
		Collection: &Kpis,
		filters:    []string{"direction", "measurement_frequency"},
		texts:      []string{"code", "statement", "metric_name", "unit"},
		sorts: []sorting{
			byColumn("created_at"), byColumn("updated_at"), byColumn("code"), byText("metric_name"), byText("statement"),
			byRank("status", "draft", "active", "achieved", "missed", "retired"), byTime("current_as_of"),
		},
	},
}

// column finds what a filter compares; "" if there is no such filter.
func (f *family) column(filter string) string {
	if column, known := f.Filters[filter]; known {
		return column
	}
	if slices.Contains(f.filters, filter) {
		return filter
	}
	return ""
}

// place finds an order by its name, "-" before it for the greatest first; "" is
// the collection's own.
func (f *family) place(name string) (key string, down bool, err error) {
	if name == "" {
		return f.order, !f.upwards, nil
	}
	member, down := strings.CutPrefix(name, "-")
	at := slices.IndexFunc(f.sorts, func(s sorting) bool { return s.name == member })
	if at < 0 {
		return "", false, &Error{Code: Invalid, Param: "sort", Message: "sort must be one of " + strings.Join(f.sortNames(), ", ") + ", with - before it for the greatest first"}
	}
	return f.sorts[at].key, down, nil
}

func (f *family) sortNames() []string {
	names := make([]string, len(f.sorts))
	for i, s := range f.sorts {
		names[i] = s.name
	}
	return names
}

// BrowseFilters lists what a type's records can be filtered by, the API's
// filters first, each with the member that it compares; none for a type that
// is not browsed.
func BrowseFilters(object string) [][2]string {
	f := families[object]
	if f == nil {
		return nil
	}
	var all [][2]string
	for _, name := range sortedKeys(f.Filters) {
		all = append(all, [2]string{name, f.Filters[name]})
	}
	for _, name := range f.filters {
		all = append(all, [2]string{name, name})
	}
	return all
}

// BrowseSorts lists the members that a type's records can be sorted by; none
// for a type that is not browsed.
func BrowseSorts(object string) []string {
	f := families[object]
	if f == nil {
		return nil
	}
	return f.sortNames()
}
