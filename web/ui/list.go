package ui

import (
	"slices"
	"strconv"
)

// Pager is the argument of the block "pager": links to the pages of a list.
type Pager struct {
	Previous, Next string // paths; "" for no such page
	Shown          int    // rows on this page
	Total          int    // rows of all pages; 0 if unknown
	More           bool   // Total is a lower bound
	One, Many      string // singular and plural: "risk", "risks"
	Sizes          *Sizes // nil if the size of a page is fixed
}

// Sizes is the part of a Pager that sets the number of rows on a page.
type Sizes struct {
	Action string // path that receives the form
	Now    int
	Choose []int
	Hidden map[string]string
}

// Filters is the argument of the block "filters": the form above a list, sent
// with GET.
type Filters struct {
	Action string   // path of the list
	Search *Field   // nil for none
	Fields []*Field // selects, unless Type is set
	More   []*Field // the same, folded away unless one is set
	Hidden map[string]string
	Active bool   // at least one filter is set
	Live   bool   // a filter applies when it changes, with a script
	Submit string // label of the button; "Apply" by default
	// CSV is the path of the same view as CSV; "" for none.
	CSV string
}

// MoreSet reports whether a filter that would be folded away is set.
func (f Filters) MoreSet() bool {
	return slices.ContainsFunc(f.More, func(field *Field) bool { return field.Value != "" })
}

// Paginate returns one page of a list that is in memory, with its links. number
// is the page number from the URL. An invalid number means the first page.
func Paginate[T any](list []T, size int, number string, path func(page int) string) ([]T, Pager) {
	pages := max(1, (len(list)+size-1)/size)
	page, _ := strconv.Atoi(number)
	page = min(max(page, 1), pages)
	from := (page - 1) * size
	to := min(from+size, len(list))
	pager := Pager{Total: len(list), Shown: to - from}
	if page > 1 {
		pager.Previous = path(page - 1)
	}
	if page < pages {
		pager.Next = path(page + 1)
	}
	return list[from:to], pager
}
