package web

import "strings"

// navGroup is a part of the navigation, with or without a heading.
type navGroup struct {
	Heading string
	Links   []navLink
}

// navLink leads to a page. Here marks the page that is shown, or the one that
// it is below.
type navLink struct {
	Label, Path string
	Here        bool
}

// navigation lists all that the navigation may lead to. It leads to what has a
// line in pages, and the user the permission for.
var navigation = []navGroup{
	{"", []navLink{{Label: "Overview", Path: "/"}}},
	{"Records", []navLink{
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
	{"Data", []navLink{
		{Label: "Evidence", Path: "/evidence"},
		{Label: "Import", Path: "/import"},
	}},
	{"Integrations", []navLink{
		{Label: "Keys", Path: "/keys"},
		{Label: "Webhooks", Path: "/webhooks"},
		{Label: "API reference", Path: "/docs"},
	}},
	{"Administration", []navLink{
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
