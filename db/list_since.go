package db

import (
	"context"
	"slices"
)

// The rows changed since an instant are found in one of two ways:
//
//   - a walk along the list, which soon fills a page if many rows were changed;
//   - a sort of the rows in the index of changes, which has the columns that order
//     and filter the list.
//
// The number of changed rows is counted, but their positions in the list are not
// known. So the walk passes some rows first. If the page is not full then and the sort
// costs no more than the walk did, the rows are sorted. Otherwise the walk continues.
// The read takes at most a few times as long as with the better way alone.

// budget bounds each way before the other one is tried.
type budget struct {
	few    int // changed rows that are sorted at once
	passed int // rows that the first walk passes
	many   int // changed rows that are sorted after the first walk
}

// usual was measured. The rows that a walk passes are counted as if passing one took as
// long as sorting one; see passCost.
var usual = budget{few: 1_000, passed: 8_192, many: 65_536}

// passCost is the cost of passing a row of a list, relative to sorting one: the index of
// the list does not have the time of the change. Of two filters, an index serves one. Rows
// that only the other filter excludes are not counted.
const passCost = 16

// since reads a page of the rows changed at or after an instant.
func (l listing) since(ctx context.Context, instant string, b budget) (Page, error) {
	changed, all, err := l.changed(ctx, instant, b.few)
	if err != nil {
		return Page{}, err
	}
	// if they are spread evenly, they fill a page of 25 after 25·all/changed rows
	few := changed <= b.few && changed*changed <= 25*all
	const further, worth = 8, 8
	for passed := b.passed; !few; passed *= further {
		page, complete, err := l.walk(ctx, instant, passed)
		if complete || err != nil {
			return page, err
		}
		most := max(b.many, worth*passed)
		if changed, _, err = l.changed(ctx, instant, most); err != nil {
			return Page{}, err
		}
		few = changed <= most
	}
	query, args := l.found(instant)
	page, _, err := l.read(ctx, query, args)
	return page, err
}

// changed counts the list's rows that were changed since an instant, up to most
// and one more, and estimates the number of all rows.
func (l listing) changed(ctx context.Context, instant string, most int) (changed, all int, err error) {
	query, args := l.count(instant, most+1)
	err = l.db.Row(ctx, query, args...).Scan(&changed, &all)
	return changed, all, StoreError(err)
}

func (l listing) count(instant string, most int) (string, []any) {
	where := " WHERE org_id = ? AND updated_at >= ?"
	if l.List.Where != "" {
		where += " AND " + l.List.Where
	}
	return "SELECT (SELECT count(*) FROM (SELECT 1 FROM " + l.byChange() + where + limited + ")), " +
		"(SELECT coalesce(max(seq), 0) FROM " + l.Table + ")", []any{l.org.Org, instant, most}
}

// byChange returns the table, read along the index of changes.
func (l listing) byChange() string { return l.Table + " INDEXED BY " + l.Table + "_by_updated" }

// found returns the statement that sorts the rows changed since an instant.
func (l listing) found(instant string) (string, []any) {
	return "SELECT " + l.List.OrderBy + ", id, resource FROM (SELECT seq AS place FROM " + l.byChange() + l.where +
		" AND updated_at >= ?" + l.sorted() + limited + ") CROSS JOIN " + l.Table + " ON seq = place", l.with(instant, l.limit+1)
}

// walk reads a page along the list and passes at most so many rows. The page is
// complete if it is full or the list ended.
func (l listing) walk(ctx context.Context, instant string, passed int) (page Page, complete bool, err error) {
	filters := max(1, l.filters)
	passed = max(1, passed/(passCost*filters*filters))
	query, args := l.along(instant, passed)
	page, unfinished, err := l.read(ctx, query, args)
	return page, !unfinished, err
}

// along returns the statement of a walk. SQLite passes rows on demand, so that the walk
// ends with the page. It looks for rows beyond only if the page is not full. If there are
// any, the last row has an empty resource.
func (l listing) along(instant string, passed int) (string, []any) {
	list := " FROM " + l.Table + l.where + l.sorted()
	return "SELECT " + l.List.OrderBy + ", id, resource FROM (SELECT seq AS place, updated_at AS changed" + list + limited +
			") CROSS JOIN " + l.Table + " ON seq = place WHERE changed >= ?" +
			" UNION ALL SELECT '', '', '' FROM (SELECT 1" + list + " LIMIT 1 OFFSET ? + 0)" + limited,
		slices.Concat(l.with(passed, instant), l.with(passed, l.limit+1))
}
