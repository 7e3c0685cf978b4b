package records

import (
	"strings"

	"govsvc/server/api"
	"govsvc/server/openapi"
	"govsvc/web/ui"
)

// noun is a family of records as its pages show it. What all families have in
// common is a projection of api.Families; this is the rest.
type noun struct {
	object string // the type in the data format
	list   string // the path of its list
	base   string // the path that its records are below
	title  string // of the list's page
	tab    string // its list's name, where two share a title; "" if it is alone
	one    string // in words
	many   string
	names  []string // the members that name a record: the first that has a value
	spares []string // columns that the list leaves to the record's page
	origin string   // what they are, and how the first comes to be
	// adds and changes tell whether people add records here and change those
	// there are, as api.Family does.
	adds, changes bool
}

// nouns are all of them. Two that share a title have the list of the one that
// is worked on first.
var nouns = []*noun{
	{
		object: "assessment", adds: true, list: "/assessments", base: "/assessments", title: "Assessments", one: "assessment", many: "assessments",
		names:  []string{"completed_at"},
		origin: "An assessment is a score of how well AI is governed, at one time. Add one, or import a file of them.",
	},
	{
		object: "risk", adds: true, changes: true, list: "/risks", base: "/risks", title: "Risks", one: "risk", many: "risks",
		names: []string{"title", "risk_id"}, spares: []string{"updated_at"},
		origin: "The register holds what may go wrong with AI, how bad it would be and what is done about it. Add the first risk, or import a file of them.",
	},
	{
		object: "signal", adds: true, changes: true, list: "/signals", base: "/signals", title: "Signals", one: "signal", many: "signals", names: []string{"signal_type"},
		origin: "A signal is a measured value with a red, amber or green band. Systems send them; add one by hand, or import a file of them.",
	},
	{
		object: "milestone", adds: true, changes: true, list: "/roadmap", base: "/roadmap/milestones", title: "Roadmap", tab: "Milestones", one: "milestone", many: "milestones",
		names: []string{"title", "milestone_key"}, spares: []string{"sequence"},
		origin: "Milestones belong to the latest version of the roadmap. Add one, or import a file of them.",
	},
	{
		object: "roadmap", list: "/roadmap/versions", base: "/roadmap/versions", title: "Roadmap", tab: "Versions", one: "version", many: "versions",
		names: []string{"version_number"}, origin: "A roadmap says in which steps AI governance is built up. Import a file with one.",
	},
	{
		object: "obligation", adds: true, changes: true, list: "/compliance", base: "/compliance/obligations", title: "Compliance", tab: "Obligations",
		one: "obligation", many: "obligations", names: []string{"title", "obligation_key"},
		origin: "An obligation is one duty under a law or a standard, with its status. Add one, or import a file of them.",
	},
	{
		object: "compliance_posture", list: "/compliance/postures", base: "/compliance/postures", title: "Compliance", tab: "Postures",
		one: "posture", many: "postures", names: []string{"version_number"},
		origin: "A posture sums up how far each regime is complied with. Import a file with one.",
	},
	{
		object: "vendor", adds: true, changes: true, list: "/vendors", base: "/vendors/inventory", title: "Vendors", tab: "Inventory", one: "vendor", many: "vendors",
		names: []string{"vendor_name", "vendor_key"}, origin: "The inventory lists who supplies AI, under which contract and at what risk. Add a vendor, or import a file of them.",
	},
	{
		object: "vendor_portfolio", list: "/vendors/portfolio", base: "/vendors/portfolio", title: "Vendors", tab: "Portfolio",
		one: "version", many: "versions", names: []string{"version_number"},
		origin: "A view of the portfolio sums up the risks that vendors share and what to do. Import a file with one.",
	},
	{
		object: "talent_gap", list: "/talent", base: "/talent/gaps", title: "Talent", tab: "Gaps", one: "gap", many: "gaps",
		names: []string{"role_title", "gap_key"}, origin: "A gap is a role that AI governance needs and lacks. Import a file of them.",
	},
	{
		object: "talent_readiness", list: "/talent/readiness", base: "/talent/readiness", title: "Talent", tab: "Readiness",
		one: "version", many: "versions", names: []string{"version_number"},
		origin: "Readiness sums up whether the people are there for what is planned. Import a file with one.",
	},
	{
		object: "incident", adds: true, changes: true, list: "/incidents", base: "/incidents", title: "Incidents", one: "incident", many: "incidents",
		names: []string{"title"}, spares: []string{"created_at"},
		origin: "Declare an incident as soon as something has gone wrong: its clock for telling an authority starts then.",
	},
	{
		object: "kpi", list: "/kpis", base: "/kpis", title: "KPIs", one: "KPI", many: "KPIs", names: []string{"metric_name", "code"}, spares: []string{"statement", "unit"},
		origin: "A KPI is a key result with a target, followed by check-ins. Import a file of them.",
	},
}

// versions tells for a noun whose records belong to the latest version of
// another which one that is, and the member that says how it stands.
var versions = map[string]struct{ object, state string }{
	"milestone":  {"roadmap", ""},
	"obligation": {"compliance_posture", "overall_posture"},
	"vendor":     {"vendor_portfolio", "portfolio_posture"},
	"talent_gap": {"talent_readiness", "overall_readiness"},
}

// nounOf finds the noun of a type; nil for a type without pages.
func nounOf(object string) *noun {
	for _, n := range nouns {
		if n.object == object {
			return n
		}
	}
	return nil
}

// ListPath returns the path of the list of a resource, and "" for a type without
// pages.
func ListPath(object string) string {
	if n := nounOf(object); n != nil {
		return n.list
	}
	return ""
}

// Types lists the resources with pages.
func Types() []string {
	types := make([]string, len(nouns))
	for i, n := range nouns {
		types[i] = n.object
	}
	return types
}

// Path returns the path of a record, and "" for a type without pages.
func Path(object, id string) string {
	if n := nounOf(object); n != nil && id != "" {
		return n.base + ui.Path(id)
	}
	return ""
}

// Pages has the pages of one resource: its list, its records and their forms.
type Pages struct {
	// Object is the type of the resource. ListPath is the path of its list, and
	// BasePath that above its records.
	Object, ListPath, BasePath string
	// Addable and Editable report whether users can add and change records.
	Addable, Editable bool
	*noun
	family api.Family
}

// All returns the pages of all resources.
func All(document *openapi.Document) []*Pages {
	families := map[string]api.Family{}
	for _, family := range api.Families(document) {
		families[family.Type] = family
	}
	all := make([]*Pages, len(nouns))
	for i, n := range nouns {
		all[i] = &Pages{n.object, n.list, n.base, n.adds, n.changes, n, families[n.object]}
	}
	return all
}

// nameOf is what a record is called.
func (n *noun) nameOf(record api.Record) string {
	for _, member := range n.names {
		name := ui.Text(record[member])
		switch {
		case strings.TrimSpace(name) == "":
			continue
		case member == "version_number":
			return "Version " + name
		case member == "completed_at":
			return "Assessment of " + ui.FormatDay(name)
		}
		return name
	}
	return ui.Capitalize(n.one)
}

// titleOf is what a record is called where its list is not at hand.
func (n *noun) titleOf(record api.Record) string {
	if n.names[0] == "version_number" {
		return ui.Humanize(n.object) + ", version " + ui.Text(record["version_number"])
	}
	return n.nameOf(record)
}
