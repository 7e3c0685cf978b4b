package web

import "strconv"

// cut takes a page out of a list that is read whole: there are few keys and
// subscriptions. asked is the page's number as the address has it; what is none
// is the first.
func cut[T any](list []T, size int, asked string, path func(page int) string) ([]T, Pager) {
	pages := max(1, (len(list)+size-1)/size)
	page, _ := strconv.Atoi(asked)
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
