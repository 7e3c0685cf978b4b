package api

import (
	"context"
	"slices"
	"time"

	"govsvc/db/dashboard"
	"govsvc/db/resource"
	"govsvc/server/openapi"
)

// Filter narrows a list of the dashboard to the records that have one of some
// values.
type Filter struct {
	Name    string
	Column  string   // the member that is compared; "" for a condition of several
	Values  []string // the values there are; nil where they are free
	Instant bool     // a date or a timestamp: records created or changed at or after it
	Choices bool     // FilterChoices has the values; another text finds records that contain it
}

// Filters returns what the dashboard's list of a resource can be limited by: the
// descriptor names the members, the document has their values. A filter without
// values, instant and choices finds records that contain a text.
func Filters(document *openapi.Document, r *resource.Resource) []Filter {
	fields := document.Fields(r.Type)
	var filters []Filter
	for _, filter := range r.ListFilters() {
		_, choices := r.Choices[filter.Column]
		made := Filter{Name: filter.Name, Column: filter.Column, Choices: choices}
		if at := fieldOf(fields, filter.Column); at >= 0 {
			made.Values = fields[at].Enum
		}
		filters = append(filters, made)
	}
	if r.Attention != nil {
		filters = append(filters, Filter{Name: DueFilter, Values: dueValues})
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

// DueFilter is the filter by when open records need attention.
const DueFilter = "due"

// The values of DueFilter.
const (
	Overdue      = "overdue"
	DueThisWeek  = "week"  // within 7 days
	DueThisMonth = "month" // within 30 days
	NotDue       = "none"  // without a deadline
)

var dueValues = []string{Overdue, DueThisWeek, DueThisMonth, NotDue}

var dueQueries = map[string]dashboard.Due{
	Overdue: {Overdue: true}, DueThisWeek: {Within: 7 * 24 * time.Hour}, DueThisMonth: {Within: 30 * 24 * time.Hour}, NotDue: {None: true},
}

// Choice is a value of a filter, with its name for people.
type Choice = dashboard.Choice

// FilterChoices returns the values that a filter with Choices offers. more reports that
// there are more than the list can offer.
func FilterChoices(ctx context.Context, c *Caller, object string, f Filter) (choices []Choice, more bool, err error) {
	if _, err := c.withPages(object); err != nil {
		return nil, false, err
	}
	return dashboard.Choices(ctx, c.Store, c.Organisation, object, f.Column)
}

// Column is a member that a list of the dashboard can show.
type Column struct {
	openapi.Field
	Sorts   bool // View.Sort may name it
	Default bool // shown unless the user chooses others
}

// Columns returns the members that the dashboard's list of a resource can show: the
// default ones in their order, then the others.
func Columns(document *openapi.Document, r *resource.Resource) []Column {
	fields, sorts := document.Fields(r.Type), r.SortNames()
	var columns []Column
	add := func(at int, isDefault bool) {
		columns = append(columns, Column{fields[at], slices.Contains(sorts, fields[at].Name), isDefault})
	}
	for _, name := range r.Page.Columns {
		if at := fieldOf(fields, name); at >= 0 {
			add(at, true)
		}
	}
	for at, field := range fields {
		plain := field.Type != "object" && field.Type != "array" && !slices.Contains(noColumns, field.Name)
		if plain && !slices.Contains(r.Page.Columns, field.Name) {
			add(at, false)
		}
	}
	return columns
}

// noColumns are members of the document that records do not have or that are the same
// for all of them.
var noColumns = []string{"object", "api_version", "severity_change_reason"}

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
