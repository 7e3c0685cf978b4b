package resource

// Incident is something that has gone wrong with AI.
var Incident = register(Resource{
	Type: "incident", Singular: "incident", Plural: "incidents",
	ImportOrder: 140,
	Feature:     "incidents",

	Table:    "incidents",
	Instants: []string{"notification_deadline", "notified_at"},
	Booleans: []string{"notification_required"},

	List: List{
		Operation: "listIncidents", Name: "incidents", OrderBy: "created_at", UpdatedSince: true,
		Filters: map[string]string{"severity": "severity", "status": "status"},
	},
	Create: "createIncident", Update: "updateIncident",
	Addable: true, Editable: true, Linked: true,

	Filters: []string{"incident_type"},
	Sorts: []Sort{
		byStored("created_at"), byStored("updated_at"), byText("title"), byText("incident_type"),
		byRank("severity", "low", "medium", "high", "critical"),
		byRank("status", "open", "investigating", "contained", "resolved", "post_review", "closed"),
		byText("owner"), byTime("notification_deadline"),
	},
	Searched:     []string{"incident_key", "title", "description", "affected_systems", "jurisdictions", "owner"},
	SearchNumber: 7,

	Attention: &Attention{
		Task: "Notify the regulator", Due: "notification_deadline", Owner: "owner", Band: "severity",
		Closed: []string{"closed"}, Required: "notification_required", Done: "notified_at", Days: 90, First: true,
	},
	Page: &Page{
		Order: 120, Title: "Incidents", List: "/incidents", Base: "/incidents",
		Names:   []string{"title", "incident_key"},
		Columns: []string{"title", "incident_type", "severity", "status", "owner", "notification_deadline"},
		Empty:   "Declare an incident as soon as something has gone wrong: the time to notify an authority starts then.",
	},
})
