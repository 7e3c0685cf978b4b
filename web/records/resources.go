package records

import (
	"strings"

	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/server/openapi"
	"govsvc/web/ui"
)

// Pages has the pages of one resource: its list, its records and their forms.
type Pages struct {
	*resource.Resource
	filters []api.Filter
	columns []api.Column
}

// All returns the pages of all resources, in the order of the navigation.
func All(document *openapi.Document) []*Pages {
	var all []*Pages
	for _, res := range resource.Pages() {
		all = append(all, &Pages{res, api.Filters(document, res), api.Columns(document, res)})
	}
	return all
}

// Navigation returns the links to the lists. Lists with the same title share a link.
func Navigation() []ui.Link {
	var links []ui.Link
	for _, res := range resource.Pages() {
		if n := len(links); n == 0 || links[n-1].Label != res.Page.Title {
			links = append(links, ui.Link{Label: res.Page.Title, Path: res.Page.List})
		}
	}
	return links
}

// ListPath returns the path of the list of a type, and "" for a type without pages.
func ListPath(typeName string) string {
	if res := resource.Find(typeName); res != nil && res.Page != nil {
		return res.Page.List
	}
	return ""
}

// ListWith returns the path of the list of a resource that has pages, limited by
// columns. The columns are given as names and values.
func ListWith(res *resource.Resource, pairs ...any) string {
	for i := 0; i < len(pairs); i += 2 {
		pairs[i] = res.FilterOf(ui.Text(pairs[i]))
	}
	return ui.WithQuery(res.Page.List, pairs...)
}

// Path returns the path of a record, and "" for a type without pages.
func Path(typeName, id string) string {
	if res := resource.Find(typeName); res != nil && res.Page != nil && id != "" {
		return res.Page.Base + ui.Path(id)
	}
	return ""
}

// nameOf returns the name of a record.
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
		case codes[member]:
			return ui.CodeLabel(name)
		}
		return name
	}
	return ui.Capitalize(res.Singular)
}

// titleOf returns the name of a record outside its list.
func titleOf(res *resource.Resource, record api.Record) string {
	if res.Page.Names[0] == "version_number" {
		return ui.Humanize(res.Type) + ", version " + ui.Text(record["version_number"])
	}
	return nameOf(res, record)
}

// tabs returns links to the lists with the same title, and nil for a single list.
func tabs(res *resource.Resource) []ui.Link {
	if res.Page.Tab == "" {
		return nil
	}
	var links []ui.Link
	for _, other := range resource.Pages() {
		if other.Page.Title == res.Page.Title {
			links = append(links, ui.Link{Label: other.Page.Tab, Path: other.Page.List, Here: other == res})
		}
	}
	return links
}

// breadcrumbs returns the links from a record to its list.
func breadcrumbs(res *resource.Resource) []ui.Link {
	if res.Page.Tab == "" {
		return []ui.Link{{Label: res.Page.Title, Path: res.Page.List}}
	}
	return []ui.Link{{Label: res.Page.Title, Path: tabs(res)[0].Path}, {Label: res.Page.Tab, Path: res.Page.List}}
}
