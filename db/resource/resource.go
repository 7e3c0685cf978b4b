// Package resource describes the types of record that the program keeps. Each resource
// has one file with one descriptor. The store, the API, import and export
// and the dashboard read the descriptors and keep no lists of their own.
//
// A descriptor has the facts that the OpenAPI document does not have. Members,
// their types, their values and scopes are read from the document. Where a
// descriptor must repeat one of them, a test in server/api compares the two.
package resource

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Resource describes one type of record. Descriptors do not change after the
// package is initialized.
type Resource struct {
	// Type names the resource in the data format, the API and the audit log.
	Type string
	// Singular and Plural name its records in a sentence.
	Singular, Plural string
	// ImportOrder is the resource's place in an import and an export. A resource
	// comes after those that its records refer to. 0 is a resource that is not part
	// of the data format.
	ImportOrder int
	// Feature is what a plan must include for the resource; "" is in every plan.
	Feature string

	// Table is the table of the records. Members and columns have the same names.
	Table string
	// Key lists the columns of the natural key, which is unique within an
	// organisation. nil: package db finds the records in another way.
	Key []string
	// Instants lists the columns that hold instants, in UTC to the millisecond.
	Instants []string
	// JSON lists the columns that hold JSON as text.
	JSON []string
	// Booleans lists the columns that hold 0 or 1.
	Booleans []string
	// Internal lists the columns that are not members of records.
	Internal []string
	// Derived lists the members that are not columns and that package db completes
	// in a record.
	Derived []string

	// Reference is the member that names a record of another resource.
	Reference Reference

	List    List
	Current Current
	// Create and Update are the operations of the API that write one record, or
	// several; "" if there is none.
	Create, Update string
	// Addable and Editable report whether people add and edit records in the
	// dashboard. Without an operation, the rules of an import apply.
	Addable, Editable bool
	// Linked reports whether people link records, comment on them, attach files to them
	// and archive them in the dashboard.
	Linked bool

	// Filters lists the columns that the dashboard filters by, beside List.Filters.
	// No index serves the enumerations among them.
	Filters []string
	// Choices are the filters by free texts whose values the list offers, each with
	// the column that names a value for people, or "" for the value itself. An index
	// of the list's records by the column serves each.
	Choices map[string]string
	// Sorts lists the orders that the dashboard offers, beside that of List.
	Sorts []Sort
	// Searched lists the columns in which the dashboard looks for words.
	Searched []string
	// SearchNumber identifies the resource in the search index; 0 if the index does
	// not hold it. The triggers of the migrations use the same numbers.
	SearchNumber int64
	// Attention says when a record needs attention; nil if none of them does.
	Attention *Attention
	// Page describes the dashboard's pages; nil if the resource has none.
	Page *Page
}

// Reference is a member that names a record of another resource.
type Reference struct {
	Member string
	To     *Resource // nil if there is no reference
	By     string    // the member of To that has the same value
}

// List is the order and the filters of a resource's list.
type List struct {
	// Operation is the API's operation; "" if only the dashboard has the list.
	Operation string
	// Name identifies the list in its cursors.
	Name string
	// OrderBy is the column that orders the list, greatest first. Rows with the
	// same value are ordered by id.
	OrderBy string
	// Ascending orders the list smallest first. OrderBy is unique then.
	Ascending bool
	// Where is a condition, in SQL, that the records of the list meet; "" for none.
	// ?1 is the organisation.
	Where string
	// Filters are the columns that are compared, by query parameter. An index
	// serves each.
	Filters map[string]string
	// UpdatedSince reports whether the API's list can be limited to records that
	// changed since an instant.
	UpdatedSince bool
}

// Current is the API's way to read the first record of a list: the current
// version or the latest assessment.
type Current struct {
	Operation string // "" if the API has none
	Object    string // the type of the object that is returned
	Column    string // the column that holds the object as JSON
}

// Page describes the pages of a resource in the dashboard.
type Page struct {
	// Order is the place of the list in the navigation and among the tabs.
	Order int
	// Title is that of the list's page. Lists that share a title are its tabs.
	Title string
	// Tab names the list among those that share its title; "" if it is alone.
	Tab string
	// List is the path of the list, Base the path that the records are below.
	List, Base string
	// Names lists the members that name a record. The first one that has a value
	// counts, the second one is shown below it.
	Names []string
	// Columns lists the members that the list shows. Names[0] comes first.
	Columns []string
	// Empty is shown in an empty list: what a record is, and how to add the first.
	Empty string
	// VersionOf is the resource whose latest version the records belong to, or nil.
	VersionOf *Resource
	// State is the member that sums up a version; "" if none does.
	State string
}

var all []*Resource

// register adds a descriptor. It panics if the descriptor takes the name or the
// place of another one.
func register(r Resource) *Resource {
	for _, other := range all {
		if r.Type == other.Type || r.Table == other.Table || r.ImportOrder > 0 && r.ImportOrder == other.ImportOrder ||
			r.SearchNumber > 0 && r.SearchNumber == other.SearchNumber {
			panic(fmt.Sprintf("resource: %s and %s have the same type, table, import order or search number", r.Type, other.Type))
		}
	}
	all = append(all, &r)
	slices.SortFunc(all, func(a, b *Resource) int { return cmp.Compare(a.ImportOrder, b.ImportOrder) })
	return &r
}

// All returns every resource. Those of the data format are in the order of an
// import, after the others.
func All() []*Resource { return slices.Clone(all) }

// Records returns the resources of the data format in the order of an import.
func Records() []*Resource {
	return slices.DeleteFunc(All(), func(r *Resource) bool { return r.ImportOrder == 0 })
}

// Types returns the types of the data format in the order of an import.
func Types() []string {
	var types []string
	for _, r := range Records() {
		types = append(types, r.Type)
	}
	return types
}

// Pages returns the resources that the dashboard has pages for, in the order of
// its navigation.
func Pages() []*Resource {
	pages := slices.DeleteFunc(All(), func(r *Resource) bool { return r.Page == nil })
	slices.SortFunc(pages, func(a, b *Resource) int { return cmp.Compare(a.Page.Order, b.Page.Order) })
	return pages
}

// Find returns the resource of a type of the data format, or nil.
func Find(typeName string) *Resource {
	for _, r := range all {
		if r.Type == typeName && r.ImportOrder > 0 {
			return r
		}
	}
	return nil
}

// Filter is a parameter by which the dashboard limits a list.
type Filter struct {
	Name   string
	Column string // which is compared; the member has the same name
}

// ListFilters returns the filters of the dashboard's list by a column: those of the
// API by name, then the others, then the owner.
func (r *Resource) ListFilters() []Filter {
	var filters []Filter
	for _, name := range slices.Sorted(maps.Keys(r.List.Filters)) {
		filters = append(filters, Filter{name, r.List.Filters[name]})
	}
	for _, column := range r.Filters {
		filters = append(filters, Filter{column, column})
	}
	if owner := r.OwnerMember(); owner != "" {
		filters = append(filters, Filter{owner, owner})
	}
	return filters
}

// OwnerMember returns the member that names who is responsible for a record, and "" if
// none does. The dashboard filters by a part of it.
func (r *Resource) OwnerMember() string {
	if r.Attention == nil {
		return ""
	}
	return r.Attention.Owner
}

// FilterOf returns the parameter that limits the dashboard's list to values of a
// column, and "" if there is none.
func (r *Resource) FilterOf(column string) string {
	filters := r.ListFilters()
	at := slices.IndexFunc(filters, func(f Filter) bool { return f.Column == column })
	if at < 0 {
		return ""
	}
	return filters[at].Name
}

// SortNames returns the members that the dashboard's list can be sorted by.
func (r *Resource) SortNames() []string {
	names := make([]string, len(r.Sorts))
	for i, s := range r.Sorts {
		names[i] = s.Member
	}
	return names
}
