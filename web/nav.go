package web

import (
	"strings"

	"govsvc/web/ui"
)

// navGroup is a part of the navigation, with or without a heading.
type navGroup struct {
	Heading string
	Links   []ui.Link
}

// navigation lists all that the navigation may lead to. It leads to what has a
// line in pages, and the user the permission for.
var navigation = []navGroup{
	{"", []ui.Link{{Label: "Overview", Path: "/"}}},
	{"Records", []ui.Link{
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
	{"Data", []ui.Link{
		{Label: "Evidence", Path: "/evidence"},
		{Label: "Import", Path: "/import"},
	}},
	{"Integrations", []ui.Link{
		{Label: "Keys", Path: "/keys"},
		{Label: "Webhooks", Path: "/webhooks"},
		{Label: "API reference", Path: "/docs"},
	}},
	{"Administration", []ui.Link{
		{Label: "Audit", Path: "/audit"},
		{Label: "Settings", Path: "/settings"},
		{Label: "Users", Path: "/users"},
		{Label: "Status", Path: "/status"},
	}},
}

// nav is the navigation as the visitor sees it.
func (v *visit) nav() []navGroup {
	var groups []navGroup
	for _, all := range navigation {
		group := navGroup{Heading: all.Heading}
		for _, link := range all.Links {
			if needs, there := v.reach[link.Path]; !there || needs != nobody && !v.may(needs) {
				continue
			}
			path := v.r.URL.Path
			link.Here = path == link.Path || link.Path != "/" && strings.HasPrefix(path, link.Path+"/")
			group.Links = append(group.Links, link)
		}
		if len(group.Links) > 0 {
			groups = append(groups, group)
		}
	}
	return groups
}
