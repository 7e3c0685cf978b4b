package resource

// Milestone is a step of a roadmap. Lists have those of the active roadmap.
var Milestone = register(Resource{
	Type: "milestone", Singular: "milestone", Plural: "milestones",
	ImportOrder: 50,

	Table: "milestones", Key: []string{"roadmap_id", "milestone_key"},
	Derived:   []string{"roadmap_version"},
	Reference: Reference{Member: "roadmap_version", To: Roadmap, By: "version_number"},

	List: List{
		Operation: "listMilestones", Name: "milestones", OrderBy: "created_at", UpdatedSince: true,
		Where:   "roadmap_id = (SELECT id FROM roadmaps r WHERE r.org_id = ?1 ORDER BY version_number DESC LIMIT 1)",
		Filters: map[string]string{"status": "status"},
	},
	Addable: true, Editable: true, Linked: true,

	Filters: []string{"rag_status", "phase"},
	Choices: map[string]string{"phase": ""},
	Sorts: []Sort{
		byStored("created_at"), byStored("updated_at"), byText("milestone_key"), byText("title"), byText("phase"),
		byNumber("sequence"), byRank("status", "not_started", "in_progress", "blocked", "completed", "cancelled"),
		byRank("rag_status", ragColours...), byNumber("progress_pct"), byText("owner_role"), byTime("target_date"),
	},
	Searched:     []string{"milestone_key", "title", "phase", "owner_role"},
	SearchNumber: 2,

	Attention: &Attention{
		Task: "Finish the milestone", Due: "target_date", Owner: "owner_role", Band: "rag_status",
		Closed: []string{"completed", "cancelled"}, Days: monthAhead,
	},
	Page: &Page{
		Order: 40, Title: "Roadmap", Tab: "Milestones", List: "/roadmap", Base: "/roadmap/milestones",
		Names:     []string{"title", "milestone_key"},
		Columns:   []string{"title", "phase", "status", "rag_status", "progress_pct", "owner_role", "target_date"},
		Empty:     "Milestones belong to the latest version of the roadmap. Add one, or import a file of them.",
		VersionOf: Roadmap,
	},
})
