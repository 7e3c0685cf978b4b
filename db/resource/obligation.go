package resource

// Obligation is a duty under a law or a standard.
var Obligation = register(Resource{
	Type: "obligation", Singular: "obligation", Plural: "obligations",
	ImportOrder: 70,

	Table: "obligations", Key: []string{"obligation_key"},

	List: List{
		Operation: "listObligations", Name: "obligations", OrderBy: "created_at", UpdatedSince: true,
		Filters: map[string]string{"regime_id": "regime_id", "status": "status"},
	},
	Addable: true, Editable: true, Linked: true,

	Filters: []string{"priority_band", "jurisdiction"},
	Choices: map[string]string{"regime_id": "regime_name", "jurisdiction": ""},
	Sorts: []Sort{
		byStored("created_at"), byStored("updated_at"), byText("obligation_key"), byText("title"), byText("regime_name"),
		byText("jurisdiction"), byRank("priority_band", Severities...),
		byRank("status", "non_compliant", "at_risk", "not_started", "in_progress", "compliant", "not_applicable"),
		byText("owner_role"), byTime("target_date"),
	},
	Searched:     []string{"obligation_key", "title", "regime_id", "regime_name", "jurisdiction", "owner_role"},
	SearchNumber: 3,

	Attention: &Attention{
		Task: "Meet the obligation", Due: "target_date", Owner: "owner_role", Band: "priority_band",
		Closed: []string{"compliant", "not_applicable"}, Days: monthAhead,
	},
	Page: &Page{
		Order: 60, Title: "Compliance", Tab: "Obligations", List: "/compliance", Base: "/compliance/obligations",
		Names:     []string{"title", "obligation_key"},
		Columns:   []string{"title", "regime_name", "jurisdiction", "priority_band", "status", "owner_role", "target_date"},
		Empty:     "An obligation is one duty under a law or a standard, with its status. Add one, or import a file of them.",
		VersionOf: CompliancePosture,
	},
})
