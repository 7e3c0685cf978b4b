package db

import (
	"slices"
	"strconv"
	"strings"

	"govsvc/db/resource"
)

// sortedText is the number of characters of a text that an order compares. Rows with
// the same characters are ordered by id. The bound keeps cursors short.
const sortedText = 60

// sortKey returns the expression that an order compares. It is never null.
func sortKey(s resource.Sort) string {
	switch s.Kind {
	case resource.SortText:
		return "lower(substr(coalesce(" + s.Member + ", ''), 1, " + strconv.Itoa(sortedText) + "))"
	case resource.SortTime:
		return "coalesce(" + s.Member + ", '')"
	case resource.SortNumber:
		return "coalesce(" + s.Member + ", -9e999)"
	case resource.SortRank:
		var key strings.Builder
		key.WriteString("CASE " + s.Member)
		for i, value := range s.Values {
			key.WriteString(" WHEN '" + value + "' THEN " + strconv.Itoa(i+1))
		}
		return key.String() + " ELSE 0 END"
	default:
		return s.Member
	}
}

// order finds an order by its name, with "-" before it for the greatest first; ""
// is that of the list.
func (r *storedResource) order(name string) (key string, descending bool, err error) {
	if name == "" {
		return r.List.OrderBy, !r.List.Ascending, nil
	}
	member, descending := strings.CutPrefix(name, "-")
	at := slices.IndexFunc(r.Sorts, func(s resource.Sort) bool { return s.Member == member })
	if at < 0 {
		return "", false, &Error{Code: Invalid, Param: "sort", Message: "sort must be one of " + strings.Join(r.SortNames(), ", ") + ", with - before it for the greatest first"}
	}
	return sortKey(r.Sorts[at]), descending, nil
}

// filterColumn finds the column that a filter compares; "" if there is no such
// filter.
func (r *storedResource) filterColumn(filter string) string {
	if column, known := r.List.Filters[filter]; known {
		return column
	}
	if slices.Contains(r.Filters, filter) {
		return filter
	}
	return ""
}
