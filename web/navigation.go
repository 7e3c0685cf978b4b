package web

import (
	"govsvc/web/page"
	"govsvc/web/records"
	"govsvc/web/ui"
)

// navigation lists the links of the navigation. A user sees the links to the routes
// that the role permits.
var navigation = []page.NavGroup{
	{Links: []ui.Link{{Label: "Overview", Path: "/"}}},
	{Heading: "Records", Links: records.Navigation()},
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
