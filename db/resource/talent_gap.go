package resource

// TalentGap is a role that AI governance needs and lacks.
var TalentGap = register(Resource{
	Type: "talent_gap", Singular: "gap", Plural: "gaps",
	ImportOrder: 110,

	Table: "talent_gaps", Key: []string{"gap_key"},

	List: List{
		Operation: "listTalentGaps", Name: "talent_gaps", OrderBy: "created_at", UpdatedSince: true,
		Filters: map[string]string{"status": "status"},
	},
	Addable: true, Editable: true,

	Filters: []string{"priority_band", "recommended_path"},
	Sorts: []Sort{
		byStored("created_at"), byStored("updated_at"), byText("gap_key"), byText("role_title"), byText("function_area"),
		byNumber("headcount_needed"), byRank("priority_band", Severities...),
		byRank("status", "open", "in_progress", "filled", "deferred", "closed"),
		byText("owner_role"), byTime("target_date"),
	},
	Searched:     []string{"gap_key", "role_title", "function_area", "owner_role"},
	SearchNumber: 5,
	Linked:       true,

	Attention: &Attention{
		Task: "Fill the gap", Due: "target_date", Owner: "owner_role", Band: "priority_band",
		Closed: []string{"filled", "deferred", "closed"}, Days: monthAhead,
	},
	Page: &Page{
		Order: 100, Title: "Talent", Tab: "Gaps", List: "/talent", Base: "/talent/gaps",
		Names:     []string{"role_title", "gap_key"},
		Columns:   []string{"role_title", "function_area", "headcount_needed", "priority_band", "recommended_path", "status", "target_date"},
		Empty:     "A gap is a role that AI governance needs and lacks. Add one, or import a file of them.",
		VersionOf: TalentReadiness,
	},
})
