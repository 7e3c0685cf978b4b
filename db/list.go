package db

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
)

// Collection is a list of the API: a table whose rows carry the resource's
// JSON, in a fixed order, with the filters that an index serves.
// Each noun's file declares its own.
type Collection struct {
	Name    string // names the list in its cursors
	table   string
	order   string            // the column that orders it, greatest first; ties go by id
	upwards bool              // smallest first instead; no two rows have the same, so that ids don't count
	only    string            // a fixed condition, or ""
	Filters map[string]string // query parameter → column
	Since   bool              // whether updated_since is offered
}

// ListQuery asks for a page of a collection.
type ListQuery struct {
	Cursor       string
	Limit        int
	UpdatedSince string            // a stored timestamp: rows made or changed at or after it
	Filters      map[string]string // query parameter → value
	Size         PageSize
}

// Page is one page of a collection.
type Page struct {
	Rows    string // the resources as JSON, commas between them
	HasMore bool
	Next    string // the cursor of the next page; "" on the last
}

// List reads a page. Pages go by the position of the last row seen, not by
// count, so that rows added meanwhile neither repeat nor hide another.
func (d *DB) List(ctx context.Context, org Organisation, c *Collection, q ListQuery) (Page, error) {
	l, err := d.listing(org, c, q)
	if err != nil {
		return Page{}, err
	}
	if q.UpdatedSince != "" {
		return l.since(ctx, q.UpdatedSince, usual)
	}
	query, args := l.all()
	return l.page(l.db.readPage(ctx, query, args, l.limit, l.size))
}

// listing is a page being looked for.
type listing struct {
	*Collection
	db      *DB
	org     Organisation
	limit   int
	filters int    // how many are asked for
	where   string // the conditions that are asked for, but for updated_since
	args    []any  // what they compare with
	size    PageSize
}

// listing has just the conditions asked for: a statement with all of them made
// optional would serve none from an index.
func (d *DB) listing(org Organisation, c *Collection, q ListQuery) (listing, error) {
	var where strings.Builder
	where.WriteString(" WHERE org_id = ?")
	args := []any{org.Org}
	add := func(condition string, values ...any) {
		where.WriteString(" AND " + condition)
		args = append(args, values...)
	}
	if c.only != "" {
		add(c.only)
	}
	for _, parameter := range sortedKeys(q.Filters) {
		add(c.Filters[parameter]+" = ?", q.Filters[parameter])
	}
	if q.Cursor != "" {
		order, id, err := d.decodeCursor(c.Name, org, q.Cursor)
		if err != nil {
			return listing{}, err
		}
		if c.upwards {
			add(c.order+" > ?", order)
		} else {
			add("("+c.order+", id) < (?, ?)", order, id)
		}
	}
	return listing{c, d, org, q.Limit, len(q.Filters), where.String(), args, q.Size}, nil
}

// all is the statement of a page whose rows may have changed at any time.
func (l listing) all() (string, []any) {
	return "SELECT " + l.position() + " AS position, id, resource FROM " + l.table + l.where + l.sorted() + limited, l.with(l.limit + 1)
}

// limited is written so because a bare variable would have the statement
// planned anew at each run.
const limited = " LIMIT ? + 0"

// position is what a cursor keeps of a row, beside its id.
func (c *Collection) position() string {
	if c.upwards { // a key that people choose: any character may be in it
		return "json_quote(" + c.order + ")"
	}
	return c.order
}

func (c *Collection) sorted() string {
	if c.upwards {
		return " ORDER BY " + c.order
	}
	return " ORDER BY " + c.order + " DESC, id DESC"
}

// with are the arguments of the conditions and those that follow.
func (l listing) with(more ...any) []any { return slices.Concat(l.args, more) }

// page makes a page of what was read.
func (l listing) page(resources, positions string, limit int, err error) (Page, error) {
	if err != nil {
		return Page{}, storeError(err)
	}
	var page Page
	var order, id string
	page.Rows, page.HasMore, order, id = cut(resources, positions, limit)
	if page.HasMore {
		if l.upwards {
			if err := json.Unmarshal([]byte(order), &order); err != nil {
				return Page{}, err
			}
		}
		page.Next = l.db.encodeCursor(l.Name, l.org, order, id)
	}
	return page, nil
}

// current reads the one resource that a query gives, or nil if there is none.
func (d *DB) current(ctx context.Context, query string, org Organisation) ([]byte, error) {
	var resource []byte
	if _, err := absent(d.Row(ctx, query, org.Org).Scan(&resource)); err != nil {
		return nil, storeError(err)
	}
	return resource, nil
}
