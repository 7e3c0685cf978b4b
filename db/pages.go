package db

import (
	"context"
	"strconv"
	"strings"
)

// What is beside the rows of a page is told apart by what stands neither in JSON
// text, where control characters are escaped, nor in instants and ids.
const (
	rowEnd   = '\x1e'
	fieldEnd = '\x1f'
)

// joinedRows makes one row of all that a query for position, id and resource
// gives: the resources, and where each stands and how many bytes it takes.
// SQLite joins rows in the order in which they come.
func joinedRows(query string) string {
	return "SELECT group_concat(resource, ','), group_concat(position || '\x1f' || id || '\x1f' || octet_length(resource), '\x1e') FROM (" + query + ")"
}

// readPage runs a query made by joinedRows and returns its two texts, "" where
// there are no rows.
func (d *DB) readPage(ctx context.Context, query string, args []any) (resources, positions string, err error) {
	var row [2]any // an aggregate gives one, also of nothing
	err = d.fast.row(ctx, query, args...).Scan(&row[0], &row[1])
	resources, _ = row[0].(string)
	positions, _ = row[1].(string)
	return resources, positions, err
}

// cut takes from what was read the row beyond the limit, if there is one, and
// tells the position of the last row that stays.
func cut(resources, positions string, limit int) (rows string, more bool, order, id string) {
	if strings.Count(positions, string(rowEnd)) < limit {
		return resources, false, "", ""
	}
	positions, beyond := cutLast(positions, rowEnd)
	_, size := cutLast(beyond, fieldEnd)
	bytes, _ := strconv.Atoi(size) // SQLite's own number
	_, last := cutLast(positions, rowEnd)
	last, _ = cutLast(last, fieldEnd)
	order, id, _ = strings.Cut(last, string(fieldEnd))
	return resources[:len(resources)-bytes-len(",")], true, order, id
}

// cutLast cuts a text around the last end; what stands before none is "".
func cutLast(text string, end byte) (before, after string) {
	at := strings.LastIndexByte(text, end)
	return text[:max(0, at)], text[at+1:]
}
