package db

import (
	"context"
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
}

// Page is one page of a collection.
type Page struct {
	Data    []byte // the rows as a JSON array
	HasMore bool
	Next    string // the cursor of the next page; "" on the last
}

// List reads a page. Pages go by the position of the last row seen, not by
// count, so that rows added meanwhile neither repeat nor hide another.
func (d *DB) List(ctx context.Context, org Organisation, c *Collection, q ListQuery) (Page, error) {
	query, args, err := d.listQuery(org, c, q)
	if err != nil {
		return Page{}, err
	}
	resources, positions, err := d.pages.read(ctx, joinedRows(query), args)
	if err != nil {
		return Page{}, storeError(err)
	}
	var page Page
	var order, id string
	page.Data, page.HasMore, order, id = cut(resources, positions, q.Limit)
	if page.HasMore {
		page.Next = d.seal(c.Name, org, order, id)
	}
	return page, nil
}

// listQuery writes the statement that has just the conditions asked for: one
// with all of them made optional would serve none from an index.
func (d *DB) listQuery(org Organisation, c *Collection, q ListQuery) (string, []any, error) {
	var where strings.Builder
	args := []any{int64(org.Org)}
	sort := c.order + " DESC, id DESC"
	if c.upwards {
		sort = c.order
	}
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
	if q.UpdatedSince != "" {
		add("updated_at >= ?", q.UpdatedSince)
	}
	if q.Cursor != "" {
		order, id, err := d.unseal(c.Name, org, q.Cursor)
		if err != nil {
			return "", nil, err
		}
		if c.upwards {
			add(c.order+" > ?", order)
		} else {
			add("("+c.order+", id) < (?, ?)", order, id)
		}
	}
	args = append(args, int64(q.Limit+1))
	return "SELECT " + c.order + " AS position, id, resource FROM " + c.table + " WHERE org_id = ?" + where.String() +
		" ORDER BY " + sort + " LIMIT ? + 0", args, nil
}

// current reads the one resource that a query gives, or nil if there is none.
func (d *DB) current(ctx context.Context, query string, org Organisation) ([]byte, error) {
	var resource []byte
	if _, err := absent(d.row(ctx, query, org.Org).Scan(&resource)); err != nil {
		return nil, storeError(err)
	}
	return resource, nil
}
