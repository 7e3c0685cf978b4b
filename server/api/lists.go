package api

import (
	"slices"

	"govsvc/db/resource"
	"govsvc/server/openapi"
)

// Filter narrows a list of the dashboard to the records that have one of some
// values.
type Filter struct {
	Name    string
	Values  []string // the values there are; nil where they are free
	Instant bool     // a date or a timestamp: records created or changed at or after it
}

// Filters returns what the dashboard's list of a resource can be limited by: the
// descriptor names the members, the document has their values.
func Filters(document *openapi.Document, r *resource.Resource) []Filter {
	fields := document.Fields(r.Type)
	var filters []Filter
	for _, filter := range r.ListFilters() {
		made := Filter{Name: filter.Name}
		if at := fieldOf(fields, filter.Column); at >= 0 {
			made.Values = fields[at].Enum
		}
		filters = append(filters, made)
	}
	filters = append(filters, Filter{Name: updatedSince, Instant: true})
	if r.Linked {
		filters = append(filters, Filter{Name: ArchivedFilter, Values: []string{ArchivedOnly}})
	}
	return filters
}

// updatedSince is a filter of all lists of the dashboard.
const updatedSince = "updated_since"

// A list leaves archived records out unless its filter ArchivedFilter has the value
// ArchivedOnly.
const (
	ArchivedFilter = "archived"
	ArchivedOnly   = "only"
)

// Column is a member that a list of the dashboard shows.
type Column struct {
	openapi.Field
	Sorts bool // View.Sort may name it
}

// Columns returns the members that the dashboard's list of a resource shows, in
// order.
func Columns(document *openapi.Document, r *resource.Resource) []Column {
	fields, sorts := document.Fields(r.Type), r.SortNames()
	var columns []Column
	for _, name := range r.Page.Columns {
		if at := fieldOf(fields, name); at >= 0 {
			columns = append(columns, Column{fields[at], slices.Contains(sorts, name)})
		}
	}
	return columns
}

func fieldOf(fields []openapi.Field, name string) int {
	return slices.IndexFunc(fields, func(f openapi.Field) bool { return f.Name == name })
}

// withPages finds a resource that the dashboard has pages for, and that the
// caller's plan includes.
func (c *Caller) withPages(object string) (*resource.Resource, error) {
	r := resource.Find(object)
	if r == nil || r.Page == nil {
		return nil, noResource(object)
	}
	return r, c.permitFeature(r.Feature)
}
