package db

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"govsvc/db/resource"
	"govsvc/db/sqlite"
)

// ListQuery asks for a page of a resource's list.
type ListQuery struct {
	Cursor       string
	Limit        int
	UpdatedSince string            // a stored timestamp: rows created or changed at or after it
	Filters      map[string]string // query parameter → value
	Size         PageSize
}

// Page is one page of a list.
type Page struct {
	Rows    string // the objects as JSON, with commas between them
	HasMore bool
	Next    string // the cursor of the next page; "" on the last
}

// List reads a page by keyset pagination: a page starts after the last row of the
// page before. Rows that are added between two pages repeat or hide no other row.
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

// listing is the query for one page.
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
	if r.List.Where != "" {
		add(r.List.Where)
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

// all returns the statement of a page without updated_since.
func (l listing) all() (string, []any) {
	return "SELECT " + l.position() + " AS position, id, resource FROM " + l.Table + l.where + l.sorted() + limited, l.with(l.limit + 1)
}

// limited adds 0 to the variable. With a bare variable, SQLite would plan the
// statement again at each run.
const limited = " LIMIT ? + 0"

// position returns the expression for the part of a cursor that precedes the id.
func (l listing) position() string {
	if l.List.Ascending { // a key that users choose, with any characters
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

// with returns the arguments of the conditions and further ones.
func (l listing) with(more ...any) []any { return slices.Concat(l.args, more) }

// page returns the page that readPage has read.
func (l listing) page(objects, positions string, limit int, err error) (Page, error) {
	if err != nil {
		return Page{}, StoreError(err)
	}
	var page Page
	var order, id string
	page.Rows, page.HasMore, order, id = cutPage(objects, positions, limit)
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

// PageBytes is the size of the records from which a page ends early
// (contract, section 2).
const PageBytes = 4 << 20

// ErrLargePage is returned instead of a page that is larger than PageSize.Small.
// The caller reserves memory and asks again.
var ErrLargePage = errors.New("the page is larger than the caller allows")

// PageSize bounds the size of a page in bytes. A page has at least one record,
// whatever its size.
type PageSize struct {
	Most  int // a page ends early when it reaches them; 0 is PageBytes
	Small int // a page that is larger is an ErrLargePage; 0 is no bound
}

// Limit is the size in bytes at which a page ends early.
func (s PageSize) Limit() int {
	if s.Most > 0 {
		return s.Most
	}
	return PageBytes
}

// readPage runs a query for position, id and resource, and returns the objects and
// their positions as joinedRows joins them; "" without rows. A page that would be
// too large has fewer rows: rows is the limit that was applied.
func readPage(ctx context.Context, d *DB, query string, args []any, limit int, size PageSize) (objects, positions string, rows int, err error) {
	longest := size.Limit()
	if size.Small > 0 {
		longest = min(longest, size.Small)
	}
	var row [2]any // an aggregate returns one row, also of none
	joined, ok := d.engine.Frequent.RowWithin(ctx, longest, joinedRows(query), args...)
	if ok {
		err = joined.Scan(&row[0], &row[1])
	}
	switch {
	case ok:
		objects, _ = row[0].(string)
		positions, _ = row[1].(string)
		return objects, positions, limit, err
	case size.Small > 0:
		return "", "", 0, ErrLargePage
	}
	return readRows(ctx, d, query, args, limit, size.Limit())
}

// readRows reads a page row by row, if it is too large for SQLite to join. It reads one
// row beyond those that fit, which shows that there are more.
func readRows(ctx context.Context, d *DB, query string, args []any, limit, most int) (objects, positions string, rows int, err error) {
	var texts, places strings.Builder
	read := 0
	err = d.engine.Frequent.Each(ctx, func(row Scanner) error {
		var place, object string
		if err := row.Scan(&place, &object); err != nil {
			return err
		}
		if read > 0 {
			texts.WriteByte(',')
			places.WriteByte(rowEnd)
		}
		texts.WriteString(object)
		places.WriteString(place)
		if read++; read > 1 && read <= limit && texts.Len() > most {
			limit = read - 1
			return sqlite.ErrStop
		}
		return nil
	}, "SELECT position || '\x1f' || id || '\x1f' || octet_length(resource), resource FROM ("+query+")", args...)
	return texts.String(), places.String(), limit, StoreError(err)
}

// joinedRows joins the rows of a query for position, id and resource into one: the
// objects, and for each its position, its id and its size in bytes. SQLite joins
// rows in the order of the query.
func joinedRows(query string) string {
	return "SELECT group_concat(resource, ','), group_concat(position || '\x1f' || id || '\x1f' || octet_length(resource), '\x1e') FROM (" + query + ")"
}

// Separators of the positions of a page. They occur neither in JSON, which escapes
// control characters, nor in instants and ids.
const (
	rowEnd   = '\x1e'
	fieldEnd = '\x1f'
)

// cutPage removes the row beyond the limit, if there is one, and returns the
// position of the last row that stays.
func cutPage(objects, positions string, limit int) (rows string, more bool, order, id string) {
	if strings.Count(positions, string(rowEnd)) < limit {
		return objects, false, "", ""
	}
	positions, beyond := cutLast(positions, rowEnd)
	_, size := cutLast(beyond, fieldEnd)
	bytes, _ := strconv.Atoi(size) // SQLite's own number
	_, last := cutLast(positions, rowEnd)
	last, _ = cutLast(last, fieldEnd)
	order, id, _ = strings.Cut(last, string(fieldEnd))
	return objects[:len(objects)-bytes-len(",")], true, order, id
}

// cutLast cuts a text around the last end. Without one, before is "".
func cutLast(text string, end byte) (before, after string) {
	at := strings.LastIndexByte(text, end)
	return text[:max(0, at)], text[at+1:]
}

// cursorTag is the length of a cursor's authentication in bytes.
const cursorTag = 16

// maxCursor bounds the text of a cursor. The longest ones contain a key of 200
// characters, of four bytes each.
const maxCursor = 2048

// ErrCursor refuses a cursor that the list did not issue.
var ErrCursor = &Error{
	Code: InvalidCursor, Param: "cursor",
	Message: "cursor was not issued by this list; use a next_cursor without changes, or leave it out to start over",
}

// Cursors is the service that encodes and checks the cursors of lists. A cursor is a
// position in a list of an organisation: the order's value and the id of the last row of
// a page. It is authenticated with a secret of the file, so that a list accepts only the
// cursors that it issued. It is valid as long as the file exists.
type Cursors struct{ db *DB }

// Encode encodes a position as a cursor.
func (c Cursors) Encode(list string, org Organisation, order, id string) string {
	position := order + "\x00" + id
	return base64.RawURLEncoding.EncodeToString(append(c.tag(list, org, position), position...))
}

// Decode returns the position of a cursor. It refuses a cursor that Encode did not
// make for this list and organisation.
func (c Cursors) Decode(list string, org Organisation, cursor string) (order, id string, err error) {
	invalid := ErrCursor
	if len(cursor) > maxCursor || strings.ContainsAny(cursor, "\r\n") { // the decoder would skip line breaks
		return "", "", invalid
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) < cursorTag {
		return "", "", invalid
	}
	position := string(raw[cursorTag:])
	if !hmac.Equal(raw[:cursorTag], c.tag(list, org, position)) {
		return "", "", invalid
	}
	end := strings.LastIndexByte(position, 0) // ids have no such byte, keys that users choose may
	return position[:end], position[end+1:], nil
}

func (c Cursors) tag(list string, org Organisation, position string) []byte {
	mac := hmac.New(sha256.New, c.db.secrets.cursor)
	mac.Write([]byte(list + "\x00" + org.ID + "\x00" + position))
	return mac.Sum(nil)[:cursorTag]
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
