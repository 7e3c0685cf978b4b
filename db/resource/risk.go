package resource

// Risk is an entry of the risk register.
var Risk = register(Resource{
	Type: "risk", Singular: "risk", Plural: "risks",
	ImportOrder: 20,

	Table: "risks", Key: []string{"risk_id"},
	Internal: []string{"untreated_baseline"},

	List: List{
		Operation: "listRisks", Name: "risks", OrderBy: "created_at", UpdatedSince: true,
		Filters: map[string]string{"severity": "severity", "status": "status"},
	},
	Create: "createRisk", Update: "updateRisk",
	Addable: true, Editable: true, Linked: true,

	Filters: []string{"likelihood", "residual_severity"},
	Sorts: []Sort{
		byStored("created_at"), byStored("updated_at"), byText("risk_id"), byText("title"), byText("dimension"),
		byRank("severity", Severities...), byRank("residual_severity", Severities...), byRank("likelihood", Likelihoods...),
		byRank("status", "Open", "InProgress", "Mitigated", "Accepted", "Closed"),
		byText("owner_name"), byTime("target_date"), byNumber("financial_exposure_max"),
	},
	Searched:     []string{"risk_id", "title", "description", "owner_name", "dimension", "mitigation_action"},
	SearchNumber: 1,

	Attention: &Attention{
		Task: "Treat the risk", Due: "target_date", Owner: "owner_name", Band: "severity",
		Closed: []string{"Mitigated", "Accepted", "Closed"}, Days: monthAhead,
	},
	Page: &Page{
		Order: 20, Title: "Risks", List: "/risks", Base: "/risks",
		Names:   []string{"title", "risk_id"},
		Columns: []string{"title", "severity", "likelihood", "residual_severity", "status", "owner_name", "target_date"},
		Empty:   "The register lists what may go wrong with AI, how bad it would be and what is done about it. Add the first risk, or import a file of them.",
	},
})
