package web

import (
	"govsvc/web/page"
	"govsvc/web/records"
	"govsvc/web/ui"
)

// navigation lists the links of the navigation. A user sees the links to the routes
// that the role permits.
var navigation = []page.NavGroup{
	{Links: []ui.Link{{Label: "Overview", Path: "/"}, {Label: "Report", Path: "/report"}}},
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

// searchedActions lists the actions that the search offers, besides the forms of the
// resources.
var searchedActions = []records.Destination{
	{Label: "Import a file", Path: "/import", Words: "upload spreadsheet csv"},
	{Label: "File evidence pack", Path: "/evidence/new", Words: "auditor download"},
	{Label: "Create API key", Path: "/keys/new", Words: "new add token"},
	{Label: "Add webhook", Path: "/webhooks/new", Words: "new create subscription"},
	{Label: "Add user", Path: "/users/new", Words: "new create member"},
	{Label: "Verify the audit log", Path: "/audit/verify", Words: "chain integrity check"},
}
