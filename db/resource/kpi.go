package resource

// KPI is a key result with a target.
var KPI = register(Resource{
	Type: "kpi", Singular: "KPI", Plural: "KPIs",
	ImportOrder: 120,

	Table: "kpis", Key: []string{"code"},
	Instants: []string{"current_as_of"},

	List: List{
		Operation: "listKpis", Name: "kpis", OrderBy: "created_at", UpdatedSince: true,
		Filters: map[string]string{"code": "code", "status": "status"},
	},
	Addable: true, Editable: true,

	Filters: []string{"direction", "measurement_frequency"},
	Choices: map[string]string{"code": ""},
	Sorts: []Sort{
		byStored("created_at"), byStored("updated_at"), byStored("code"), byText("metric_name"), byText("statement"),
		byRank("status", "draft", "active", "achieved", "missed", "retired"), byTime("current_as_of"),
	},
	Searched:     []string{"code", "statement", "metric_name", "unit"},
	SearchNumber: 6,
	Linked:       true,

	Attention: &Attention{
		// A value can be measured once its period has ended: not before the first day.
		Task: "Add the check-in", Closed: []string{"draft", "achieved", "missed", "retired"}, Days: checkinDays - 1,
	},
	Page: &Page{
		Order: 130, Title: "KPIs", List: "/kpis", Base: "/kpis",
		Names:   []string{"metric_name", "code"},
		Columns: []string{"metric_name", "current_value", "target_value", "current_as_of", "status"},
		Empty:   "A KPI is a key result with a target, followed by check-ins. Add one, or import a file of them.",
	},
})
