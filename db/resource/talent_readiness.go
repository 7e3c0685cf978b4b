package resource

// TalentReadiness is a version of the talent readiness. The greatest version is
// the current one.
var TalentReadiness = register(Resource{
	Type: "talent_readiness", Singular: "version", Plural: "versions",
	ImportOrder: 100,

	Table: "talent_readiness", Key: []string{"version_number"},
	Instants: []string{"generated_at"},
	JSON:     []string{"build_buy_borrow"},

	List:    List{Name: "talent_readiness", OrderBy: "version_number"},
	Current: Current{Operation: "getTalentReadiness", Object: "talent_readiness", Column: "resource"},
	Addable: true, Editable: true,

	Sorts: []Sort{
		byStored("version_number"), byTime("generated_at"),
		byRank("overall_readiness", "READY", "DEVELOPING", "AT_RISK", "CRITICAL_GAP"),
	},
	Searched: []string{"executive_summary"},

	Page: &Page{
		Order: 110, Title: "Talent", Tab: "Readiness", List: "/talent/readiness", Base: "/talent/readiness",
		Names:   []string{"version_number"},
		Columns: []string{"version_number", "overall_readiness", "generated_at", "executive_summary"},
		Empty:   "Readiness summarises whether the organisation has the people for its plans. Add one, or import a file of them.",
		State:   "overall_readiness",
	},
})
