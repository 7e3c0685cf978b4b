package resource

// Vendor is an entry of the vendor inventory.
var Vendor = register(Resource{
	Type: "vendor", Singular: "vendor", Plural: "vendors",
	ImportOrder: 90,

	Table: "vendors", Key: []string{"vendor_key"},

	List: List{
		Operation: "listVendors", Name: "vendors", OrderBy: "created_at", UpdatedSince: true,
		Filters: map[string]string{"status": "status"},
	},
	Create: "createVendor", Update: "updateVendor",
	Addable: true, Editable: true, Linked: true,

	Filters: []string{"initial_risk_band", "initial_recommendation"},
	Sorts: []Sort{
		byStored("created_at"), byStored("updated_at"), byText("vendor_key"), byText("vendor_name"), byText("category"),
		byRank("initial_risk_band", Severities...),
		byRank("status", "active", "under_review", "negotiating", "sunsetting", "exited", "blocked"),
		byTime("contract_start"), byTime("contract_end"), byNumber("annual_cost_usd"),
	},
	Searched:     []string{"vendor_key", "vendor_name", "category", "ai_role", "renewal_owner_role", "notes"},
	SearchNumber: 4,

	Attention: &Attention{
		// A contract often ends only with a notice of some months.
		Task: "Renew or end the contract", Due: "contract_end", Owner: "renewal_owner_role", Band: "initial_risk_band",
		Closed: []string{"exited"}, Days: 90,
	},
	Page: &Page{
		Order: 80, Title: "Vendors", Tab: "Inventory", List: "/vendors", Base: "/vendors/inventory",
		Names:     []string{"vendor_name", "vendor_key"},
		Columns:   []string{"vendor_name", "category", "initial_risk_band", "status", "contract_end", "annual_cost_usd"},
		Empty:     "The inventory lists who supplies AI, under which contract and at what risk. Add a vendor, or import a file of them.",
		VersionOf: VendorPortfolio,
	},
})
