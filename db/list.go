package db

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"govsvc/db/resource"
)

// ListQuery asks for a page of a resource's list.
type ListQuery struct {
	Cursor       string
	Limit        int
	UpdatedSince string            // a stored timestamp: rows made or changed at or after it
	Filters      map[string]string // query parameter → value
	Size         PageSize
}

// Page is one page of a list.
type Page struct {
	Rows    string // the resources as JSON, commas between them
	HasMore bool
	Next    string // the cursor of the next page; "" on the last
}

// List reads a page. Pages go by the position of the last row seen, not by
// count, so that rows added meanwhile neither repeat nor hide another.
func (d *DB) List(ctx context.Context, org Organisation, r *resource.Resource, q ListQuery) (Page, error) {
	l, err := newListing(d, org, stored(r), q)
	if err != nil {
		return Page{}, err
	}
	if q.UpdatedSince != "" {
		return l.since(ctx, q.UpdatedSince, usual)
	}
	query, args := l.all()
	return l.page(readPage(ctx, l.db, query, args, l.limit, l.size))
}

// listing is a page being looked for.
type listing struct {
	*storedResource
	db      *DB
	org     Organisation
	limit   int
	filters int    // how many are asked for
	where   string // the conditions that are asked for, but for updated_since
	args    []any  // what they compare with
	size    PageSize
}

// newListing has just the conditions asked for: a statement with all of them made
// optional would serve none from an index.
func newListing(d *DB, org Organisation, r *storedResource, q ListQuery) (listing, error) {
	var where strings.Builder
	where.WriteString(" WHERE org_id = ?")
	args := []any{org.Org}
	add := func(condition string, values ...any) {
		where.WriteString(" AND " + condition)
		args = append(args, values...)
	}
	if r.listed != "" {
		add(r.listed)
	}
	for _, parameter := range sortedKeys(q.Filters) {
		add(r.List.Filters[parameter]+" = ?", q.Filters[parameter])
	}
	if q.Cursor != "" {
		order, id, err := d.Cursors.Decode(r.List.Name, org, q.Cursor)
		if err != nil {
			return listing{}, err
		}
		if r.List.Ascending {
			add(r.List.OrderBy+" > ?", order)
		} else {
			add("("+r.List.OrderBy+", id) < (?, ?)", order, id)
		}
	}
	return listing{r, d, org, q.Limit, len(q.Filters), where.String(), args, q.Size}, nil
}

// all is the statement of a page whose rows may have changed at any time.
func (l listing) all() (string, []any) {
	return "SELECT " + l.position() + " AS position, id, resource FROM " + l.Table + l.where + l.sorted() + limited, l.with(l.limit + 1)
}

// limited is written so because a bare variable would have the statement
// planned anew at each run.
const limited = " LIMIT ? + 0"

// position is what a cursor keeps of a row, beside its id.
func (l listing) position() string {
	if l.List.Ascending { // a key that people choose: any character may be in it
		return "json_quote(" + l.List.OrderBy + ")"
	}
	return l.List.OrderBy
}

func (l listing) sorted() string {
	if l.List.Ascending {
		return " ORDER BY " + l.List.OrderBy
	}
	return " ORDER BY " + l.List.OrderBy + " DESC, id DESC"
}

// with are the arguments of the conditions and those that follow.
func (l listing) with(more ...any) []any { return slices.Concat(l.args, more) }

// page makes a page of what was read.
func (l listing) page(resources, positions string, limit int, err error) (Page, error) {
	if err != nil {
		return Page{}, StoreError(err)
	}
	var page Page
	var order, id string
	page.Rows, page.HasMore, order, id = cut(resources, positions, limit)
	if page.HasMore {
		if l.List.Ascending {
			if err := json.Unmarshal([]byte(order), &order); err != nil {
				return Page{}, err
			}
		}
		page.Next = l.db.Cursors.Encode(l.List.Name, l.org, order, id)
	}
	return page, nil
}
