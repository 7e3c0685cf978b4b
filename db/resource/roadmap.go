package resource

// Roadmap is a version of the roadmap. The greatest version is the active one.
var Roadmap = register(Resource{
	Type: "roadmap", Singular: "version", Plural: "versions",
	ImportOrder: 40,

	Table: "roadmaps", Key: []string{"version_number"},
	Instants: []string{"generated_at"},
	JSON:     []string{"framework_blend", "phases"},

	List:    List{Name: "roadmaps", OrderBy: "version_number"},
	Current: Current{Operation: "getRoadmap", Object: "roadmap", Column: "resource"},
	Addable: true, Editable: true,

	Sorts:    []Sort{byStored("version_number"), byTime("generated_at"), byNumber("milestones_count")},
	Searched: []string{"executive_summary", "phases"},

	Page: &Page{
		Order: 50, Title: "Roadmap", Tab: "Versions", List: "/roadmap/versions", Base: "/roadmap/versions",
		Names:   []string{"version_number"},
		Columns: []string{"version_number", "generated_at", "milestones_count", "executive_summary"},
		Empty:   "A roadmap says in which steps AI governance is built up. Add one, or import a file of them.",
	},
})
