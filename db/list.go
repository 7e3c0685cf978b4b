package db

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"sync"

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
	Rows    []byte // the objects as JSON, with commas between them
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
	page, _, err := l.read(ctx, query, args)
	return page, err
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
	return "SELECT " + l.List.OrderBy + ", id, resource FROM " + l.Table + l.where + l.sorted() + limited, l.with(l.limit + 1)
}

// limited adds 0 to the variable. With a bare variable, SQLite would plan the
// statement again at each run.
const limited = " LIMIT ? + 0"

func (l listing) sorted() string {
	if l.List.Ascending {
		return " ORDER BY " + l.List.OrderBy
	}
	return " ORDER BY " + l.List.OrderBy + " DESC, id DESC"
}

// with returns the arguments of the conditions and further ones.
func (l listing) with(more ...any) []any { return slices.Concat(l.args, more) }

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

// read reads a page by a query for position, id and resource, which reads one row more
// than the page has. A page that would be too large has fewer rows. unfinished is true if
// the query ended with an empty resource; see along.
func (l listing) read(ctx context.Context, query string, args []any) (page Page, unfinished bool, err error) {
	longest := 0
	if l.size.Small > 0 {
		longest = min(l.size.Small, l.size.Limit())
	}
	b := pageBuilders.Get().(*pageBuilder)
	defer b.release()
	err = l.db.engine.Frequent.EachRaw(ctx, longest, func(row sqlite.RawRow) error {
		object := row.Text(2)
		unfinished, page.HasMore = len(object) == 0, b.count == l.limit
		if unfinished || page.HasMore {
			return sqlite.ErrStop
		}
		size := len(b.rows) + len(object)
		if b.count > 0 {
			size += len(",")
		}
		if longest > 0 && size > longest {
			return ErrLargePage
		}
		if page.HasMore = b.count > 0 && size > l.size.Limit(); page.HasMore {
			return sqlite.ErrStop
		}
		b.add(object)
		// only a page without a bound on small ones can end before its limit
		if b.count == l.limit || longest == 0 {
			b.order, b.id = append(b.order[:0], row.Text(0)...), append(b.id[:0], row.Text(1)...)
		}
		return nil
	}, query, args...)
	switch {
	case errors.Is(err, sqlite.ErrTooLong):
		return Page{}, false, ErrLargePage
	case err != nil || unfinished:
		return Page{}, unfinished, StoreError(err)
	}
	page.Rows = append(make([]byte, 0, len(b.rows)+envelopeBytes), b.rows...)
	if page.HasMore {
		page.Next = l.db.Cursors.Encode(l.List.Name, l.org, string(b.order), string(b.id))
	}
	return page, false, nil
}

// envelopeBytes is the capacity that the rows of a page have for the rest of the response.
const envelopeBytes = 256

// pageBuilder collects the rows of a page.
type pageBuilder struct {
	rows      []byte // with commas between them
	order, id []byte // of the last row
	count     int
}

// pageBuilders keeps the memory of pages of the usual size.
var pageBuilders = sync.Pool{New: func() any { return new(pageBuilder) }}

// maxPageBuilder bounds the memory that a page leaves to the next one.
const maxPageBuilder = 64 << 10

func (b *pageBuilder) add(object []byte) {
	if b.count++; b.count > 1 {
		b.rows = append(b.rows, ',')
	}
	b.rows = append(b.rows, object...)
}

func (b *pageBuilder) release() {
	if cap(b.rows) > maxPageBuilder {
		b.rows = nil
	}
	b.rows, b.count = b.rows[:0], 0
	pageBuilders.Put(b)
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
