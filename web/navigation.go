package web

import (
	"govsvc/web/page"
	"govsvc/web/ui"
)

// navigation lists the links of the navigation. A user sees those of the routes
// that the role permits.
var navigation = []page.NavGroup{
	{Links: []ui.Link{{Label: "Overview", Path: "/"}}},
	{Heading: "Records", Links: []ui.Link{
		{Label: "Assessments", Path: "/assessments"},
		{Label: "Risks", Path: "/risks"},
		{Label: "Signals", Path: "/signals"},
		{Label: "Roadmap", Path: "/roadmap"},
		{Label: "Compliance", Path: "/compliance"},
		{Label: "Vendors", Path: "/vendors"},
		{Label: "Talent", Path: "/talent"},
		{Label: "Incidents", Path: "/incidents"},
		{Label: "KPIs", Path: "/kpis"},
	}},
	{Heading: "Data", Links: []ui.Link{
		{Label: "Evidence", Path: "/evidence"},
		{Label: "Import", Path: "/import"},
	}},
	{Heading: "Integrations", Links: []ui.Link{
		{Label: "Keys", Path: "/keys"},
		{Label: "Webhooks", Path: "/webhooks"},
		{Label: "API reference", Path: "/docs"},
	}},
	{Heading: "Administration", Links: []ui.Link{
		{Label: "Audit", Path: "/audit"},
		{Label: "Settings", Path: "/settings"},
		{Label: "Users", Path: "/users"},
		{Label: "Status", Path: "/status"},
	}},
}
