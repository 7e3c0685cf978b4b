package resource

// Signal is a measured value with a red, amber or green band.
var Signal = register(Resource{
	Type: "signal", Singular: "signal", Plural: "signals",
	ImportOrder: 30,

	Table: "signals", Key: []string{"signal_type", "as_of"},
	Instants: []string{"as_of"},
	Internal: []string{"current"},

	// In the order of their types, a value that is superseded while somebody reads
	// the pages keeps its place.
	List: List{
		Operation: "listSignals", Name: "signals", OrderBy: "signal_type", Ascending: true, UpdatedSince: true,
		Where:   "current = 1",
		Filters: map[string]string{"type": "signal_type"},
	},
	Addable: true, Editable: true,

	Filters: []string{"rag", "module_id"},
	Choices: map[string]string{"signal_type": "", "module_id": ""},
	Sorts: []Sort{
		byStored("signal_type"), byText("module_id"), byNumber("numeric_value"), byRank("rag", ragColours...),
		byTime("as_of"), byStored("updated_at"),
	},
	Searched: []string{"signal_type", "module_id", "source_version"},

	Page: &Page{
		Order: 30, Title: "Signals", List: "/signals", Base: "/signals",
		Names:   []string{"signal_type"},
		Columns: []string{"signal_type", "module_id", "numeric_value", "rag", "as_of"},
		Empty:   "A signal is a measured value with a red, amber or green band. Systems send them; add one by hand, or import a file of them.",
	},
})
