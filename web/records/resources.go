package records

import (
	"strings"

	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/web/ui"
)

// ListPath returns the path of the list of a resource, and "" for a type without
// pages.
func ListPath(object string) string {
	if res := withPages(object); res != nil {
		return res.Page.List
	}
	return ""
}

func withPages(object string) *resource.Resource {
	if res := resource.Find(object); res != nil && res.Page != nil {
		return res
	}
	return nil
}

// Path returns the path of a record, and "" for a type without pages.
func Path(object, id string) string {
	if res := withPages(object); res != nil && id != "" {
		return res.Page.Base + ui.Path(id)
	}
	return ""
}

// Navigation returns the links to the lists. Lists that share a title have one.
func Navigation() []ui.Link {
	var links []ui.Link
	for _, res := range resource.Pages() {
		if n := len(links); n == 0 || links[n-1].Label != res.Page.Title {
			links = append(links, ui.Link{Label: res.Page.Title, Path: res.Page.List})
		}
	}
	return links
}

// Pages has the pages of one resource: its list, its records and their forms.
type Pages struct{ Resource *resource.Resource }

// All returns the pages of all resources.
func All() []*Pages {
	var all []*Pages
	for _, res := range resource.Pages() {
		all = append(all, &Pages{res})
	}
	return all
}

// nameOf is what a record is called.
func nameOf(res *resource.Resource, record api.Record) string {
	for _, member := range res.Page.Names {
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
	return ui.Capitalize(res.Singular)
}

// titleOf is what a record is called where its list is not at hand.
func titleOf(res *resource.Resource, record api.Record) string {
	if res.Page.Names[0] == "version_number" {
		return ui.Humanize(res.Type) + ", version " + ui.Text(record["version_number"])
	}
	return nameOf(res, record)
}
