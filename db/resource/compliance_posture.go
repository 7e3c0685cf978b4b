package resource

// CompliancePosture is a version of the compliance posture. The greatest version
// is the current one.
var CompliancePosture = register(Resource{
	Type: "compliance_posture", Singular: "posture", Plural: "postures",
	ImportOrder: 60,

	Table: "compliance_postures", Key: []string{"version_number"},
	Instants: []string{"generated_at"},
	JSON:     []string{"primary_jurisdictions", "regimes"},

	List:    List{Name: "compliance_postures", OrderBy: "version_number"},
	Current: Current{Operation: "getCompliance", Object: "compliance_posture", Column: "resource"},
	Addable: true, Editable: true,

	Sorts: []Sort{
		byStored("version_number"), byTime("generated_at"),
		byRank("overall_posture", "NOT_ASSESSED", "NON_COMPLIANT", "PARTIALLY_COMPLIANT", "COMPLIANT"),
	},
	Searched: []string{"executive_summary", "regimes", "primary_jurisdictions"},

	Page: &Page{
		Order: 70, Title: "Compliance", Tab: "Postures", List: "/compliance/postures", Base: "/compliance/postures",
		Names:   []string{"version_number"},
		Columns: []string{"version_number", "overall_posture", "generated_at", "executive_summary"},
		Empty:   "A posture summarises the compliance with each regime. Add one, or import a file of them.",
		State:   "overall_posture",
	},
})
