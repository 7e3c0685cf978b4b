package resource

// VendorPortfolio is a version of the view of all vendors. The greatest version is
// the current one.
var VendorPortfolio = register(Resource{
	Type: "vendor_portfolio", Singular: "version", Plural: "versions",
	ImportOrder: 80,

	Table: "vendor_portfolios", Key: []string{"version_number"},
	Instants: []string{"generated_at"},
	JSON:     []string{"cross_vendor_risks", "recommended_actions"},

	List:    List{Name: "vendor_portfolios", OrderBy: "version_number"},
	Current: Current{Operation: "getVendorPortfolio", Object: "vendor_portfolio", Column: "resource"},
	Addable: true, Editable: true,

	Sorts: []Sort{
		byStored("version_number"), byTime("generated_at"),
		byRank("portfolio_posture", "HEALTHY", "WATCH", "ELEVATED", "CRITICAL"),
	},
	Searched: []string{"executive_summary", "cross_vendor_risks", "recommended_actions"},

	Page: &Page{
		Order: 90, Title: "Vendors", Tab: "Portfolio", List: "/vendors/portfolio", Base: "/vendors/portfolio",
		Names:   []string{"version_number"},
		Columns: []string{"version_number", "portfolio_posture", "generated_at", "executive_summary"},
		Empty:   "A view of the portfolio sums up the risks that vendors share and what to do. Add one, or import a file of them.",
		State:   "portfolio_posture",
	},
})
