package resource

// KPICheckin is the value of a KPI for a period. The page of the KPI shows it.
var KPICheckin = register(Resource{
	Type: "kpi_checkin", Singular: "check-in", Plural: "check-ins",
	ImportOrder: 130,

	Table:     "kpi_checkins",
	Reference: Reference{Member: "key_result_code", To: KPI, By: "code"},

	Create:  "createKpiCheckins",
	Addable: true,
})
