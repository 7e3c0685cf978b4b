package db

import (
	"context"
	"encoding/json"
	"fmt"
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
	Rows    string // the resources as JSON, commas between them
	HasMore bool
	Next    string // the cursor of the next page; "" on the last
}

// List reads a page. Pages go by the position of the last row seen, not by
// count, so that rows added meanwhile neither repeat nor hide another.
func (d *DB) List(ctx context.Context, org Organisation, c *Collection, q ListQuery) (Page, error) {
	few, err := d.fewSince(ctx, org, c, q)
	if err != nil {
		return Page{}, err
	}
	query, args, err := d.listQuery(org, c, q, few)
	if err != nil {
		return Page{}, err
	}
	resources, positions, err := d.readPage(ctx, joinedRows(query), args)
	if err != nil {
		return Page{}, storeError(err)
	}
	var page Page
	var order, id string
	page.Rows, page.HasMore, order, id = cut(resources, positions, q.Limit)
	if page.HasMore {
		if c.upwards {
			if err := json.Unmarshal([]byte(order), &order); err != nil {
				return Page{}, err
			}
		}
		page.Next = d.seal(c.Name, org, order, id)
	}
	return page, nil
}

// fewRows is how many rows may be sorted for a page.
const fewRows = 1000

// fewSince tells whether so few rows were changed since the instant that q asks
// for, if it does, that sorting them takes less than walking the list until
// enough of them have turned up. To sort a row takes some six times as long as
// to pass one by, and a page ends after some 25: m changed rows among n are
// worth sorting where 6·m < 25·n/m.
func (d *DB) fewSince(ctx context.Context, org Organisation, c *Collection, q ListQuery) (bool, error) {
	if q.UpdatedSince == "" {
		return false, nil
	}
	where := " WHERE org_id = ? AND updated_at >= ?"
	if c.only != "" {
		where += " AND " + c.only
	}
	var changed, all int64
	err := d.row(ctx, "SELECT (SELECT count(*) FROM (SELECT 1 FROM "+c.changed()+where+fmt.Sprintf(" LIMIT %d)), ", fewRows+1)+
		"(SELECT coalesce(max(seq), 0) FROM "+c.table+")", org.Org, q.UpdatedSince).Scan(&changed, &all)
	return changed <= fewRows && changed*changed <= 4*all, storeError(err)
}

// changed is the table, to be read by when its rows changed.
func (c *Collection) changed() string { return c.table + " INDEXED BY " + c.table + "_by_updated" }

// listQuery writes the statement that has just the conditions asked for: one
// with all of them made optional would serve none from an index. Rows changed
// since an instant are found in the order of their change and sorted where they
// are few; where they are many, the list is walked in its own order, in which
// some will turn up soon.
func (d *DB) listQuery(org Organisation, c *Collection, q ListQuery, few bool) (string, []any, error) {
	var where strings.Builder
	args := []any{int64(org.Org)}
	position, sort := c.order, c.order+" DESC, id DESC"
	if c.upwards { // a key that people choose: any character may be in it
		position, sort = "json_quote("+c.order+")", c.order
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
	from := c.table
	switch {
	case q.UpdatedSince != "" && few:
		from = c.changed()
		add("updated_at >= ?", q.UpdatedSince)
	case q.UpdatedSince != "":
		add("+updated_at >= ?", q.UpdatedSince) // the sign keeps the planner from its index
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
	return "SELECT " + position + " AS position, id, resource FROM " + from + " WHERE org_id = ?" + where.String() +
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
