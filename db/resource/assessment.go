package resource

// Assessment is a score of how well AI is governed, at one time.
var Assessment = register(Resource{
	Type: "assessment", Singular: "assessment", Plural: "assessments",
	ImportOrder: 10,

	Table: "assessments", Key: []string{"completed_at"},
	Instants: []string{"completed_at"},
	JSON:     []string{"frameworks_applied"},

	List:    List{Operation: "listScores", Name: "scores", OrderBy: "completed_at", UpdatedSince: true},
	Current: Current{Operation: "getScorecard", Object: "scorecard", Column: "scorecard"},
	Addable: true, Editable: true,

	Filters: []string{"verdict"},
	Sorts: []Sort{
		byStored("completed_at"), byNumber("overall_score"), byNumber("adjusted_score"), byNumber("confidence"),
		byRank("verdict", "CRISIS", "EMERGENCY", "REMEDIATION", "OPTIMIZATION", "EXCELLENCE"),
	},
	Searched: []string{"methodology_version", "verdict", "frameworks_applied"},

	Page: &Page{
		Order: 10, Title: "Assessments", List: "/assessments", Base: "/assessments",
		Names:   []string{"completed_at"},
		Columns: []string{"completed_at", "verdict", "overall_score", "adjusted_score", "confidence", "methodology_version"},
		Empty:   "An assessment is a score of how well AI is governed, at one time. Add one, or import a file of them.",
	},
})
