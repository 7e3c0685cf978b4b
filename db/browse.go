package db

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"govsvc/db/search"
	"govsvc/db/sqlite"
)

// BrowseQuery asks for a page of the dashboard's list of a resource.
type BrowseQuery struct {
	Filters      map[string][]string // by names of Resource.ListFilters: the record has one of the values
	UpdatedSince string              // a stored timestamp: rows created or changed at or after it
	Words        []string            // each is in one of the record's texts, in either case
	User         string              // runs one search at a time; "" has no such bound
	Sort         string              // one of Resource.SortNames, "-" before it for the greatest first; "" is the API's order
	Cursor       string              // Next or Previous of a page of the same type and sort
	Limit        int
	Size         PageSize // Small does not count
}

// BrowsePage is one page.
type BrowsePage struct {
	Records  [][]byte // with all of their members, as JSON
	Next     string   // cursors; "" where there is no such page
	Previous string
	Total    int  // the number of records, up to CountedRecords
	More     bool // there are more
}

// CountedRecords bounds the count of the records of a query.
const CountedRecords = 10_000

// Browse reads a page by keyset pagination: records that are added between two pages
// repeat or hide no other record.
func (d *DB) Browse(ctx context.Context, org Organisation, object string, q BrowseQuery) (BrowsePage, error) {
	b, err := newBrowsing(d, org, object, q)
	if err != nil {
		return BrowsePage{}, err
	}
	if err := b.start(q.Cursor); err != nil {
		return BrowsePage{}, err
	}
	if b.light(q) {
		page, err := b.browse(ctx, d.engine.Lookups, q)
		return page, StoreError(err)
	}
	var page BrowsePage
	err = d.Search(ctx, q.User, func(ctx context.Context, pool *sqlite.Pool) error {
		page, err = b.browse(ctx, pool, q)
		return err
	})
	return page, err
}

// light reports whether an index serves the query, so that its time does not grow
// with the data. Other queries run as searches.
func (b *browsing) light(q BrowseQuery) bool {
	if len(q.Words) > 0 || q.Sort != "" || q.UpdatedSince != "" || len(q.Filters) > 1 {
		return false
	}
	for name, values := range q.Filters {
		if _, indexed := b.List.Filters[name]; !indexed || len(values) != 1 {
			return false
		}
	}
	return true
}

func (b *browsing) browse(ctx context.Context, pool *sqlite.Pool, q BrowseQuery) (BrowsePage, error) {
	b.pool = pool
	total, err := b.count(ctx)
	if err != nil {
		return BrowsePage{}, err
	}
	page, err := b.page(ctx, q.Limit, q.Size.most())
	if err != nil {
		return page, err
	}
	if b.back && page.Previous == "" && len(page.Records) < q.Limit {
		// going back ended in the middle of the first page: read all of it
		b.place, b.back = position{}, false
		if page, err = b.page(ctx, q.Limit, q.Size.most()); err != nil {
			return page, err
		}
	}
	page.Total, page.More = min(total, CountedRecords), total > CountedRecords
	return page, nil
}

// browsing is a query that is being run.
type browsing struct {
	db    *DB
	pool  *sqlite.Pool
	org   Organisation
	words []string
	*storedResource
	list  string // identifies the order in its cursors
	key   string // what the order compares
	down  bool
	where string // conditions with their arguments; ?1 is the organisation
	args  []any

	place position // where the page starts; zero at the end of the list
	back  bool     // the page ends there
}

// position is a record's place in an order.
type position struct {
	key any // int64, float64 or string
	id  string
}

func newBrowsing(d *DB, org Organisation, object string, q BrowseQuery) (*browsing, error) {
	r, err := findResource(object)
	if err != nil {
		return nil, err
	}
	if r.List.OrderBy == "" {
		return nil, fmt.Errorf("records of type %q have no list", object)
	}
	b := &browsing{db: d, org: org, storedResource: r, words: q.Words, args: []any{org.Org}}
	if b.key, b.down, err = r.order(q.Sort); err != nil {
		return nil, err
	}
	b.list = "browse " + object + " " + q.Sort
	if b.listed != "" {
		b.add(b.listed)
	}
	for _, name := range sortedKeys(q.Filters) {
		if err := b.filter(name, q.Filters[name]); err != nil {
			return nil, err
		}
	}
	if q.UpdatedSince != "" {
		b.add("updated_at >= ?", q.UpdatedSince)
	}
	for _, word := range q.Words {
		b.search(word)
	}
	return b, nil
}

// add adds a condition. Each "?" of it is numbered, so that the statement may
// have others before it.
func (b *browsing) add(condition string, values ...any) {
	b.where += " AND "
	for _, value := range values {
		before, after, _ := strings.Cut(condition, "?")
		b.where += before + b.argument(value)
		condition = after
	}
	b.where += condition
}

func (b *browsing) filter(name string, values []string) error {
	column := b.filterColumn(name)
	if column == "" {
		return &Error{Code: Invalid, Param: name, Message: name + " is not a filter of this list"}
	}
	if len(values) == 1 {
		b.add(column+" = ?", values[0])
		return nil
	}
	args := make([]any, len(values))
	for i, value := range values {
		args[i] = value
	}
	// with several values, an index does not have the order of the list: use none
	b.add("+"+column+" IN (?"+strings.Repeat(", ?", max(len(values)-1, 0))+")", args...)
	return nil
}

// search adds the condition that a text contains the word in one of its spellings.
func (b *browsing) search(word string) {
	var places []string
	for _, form := range search.Spellings(word) {
		number := b.argument(pattern(form))
		for _, text := range b.Searched {
			places = append(places, text+" LIKE "+number+` ESCAPE '\'`)
		}
	}
	b.where += " AND (" + strings.Join(places, " OR ") + ")"
}

var escapeLike = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

func pattern(word string) string { return "%" + escapeLike.Replace(word) + "%" }

// The cursors of this list contain the direction, the type of the key and the key.
const (
	forwards  = "f"
	backwards = "b"
)

func (b *browsing) cursor(way string, p position) string {
	text := fmt.Sprint(p.key)
	switch p.key.(type) {
	case int64:
		text = "i" + text
	case float64:
		text = "r" + text
	default:
		text = "t" + text
	}
	return b.db.Cursors.Encode(b.list, b.org, way+text, p.id)
}

// start sets the place and the direction from a cursor.
func (b *browsing) start(cursor string) error {
	if cursor == "" {
		return nil
	}
	sealed, id, err := b.db.Cursors.Decode(b.list, b.org, cursor)
	if err != nil {
		return err
	}
	text := sealed[2:] // only cursor made it
	b.back, b.place.id = sealed[:1] == backwards, id
	switch sealed[1] {
	case 'i':
		b.place.key, err = strconv.ParseInt(text, 10, 64)
	case 'r':
		b.place.key, err = strconv.ParseFloat(text, 64)
	default:
		b.place.key = text
	}
	return err
}

// statement reads the records after the place or, backwards, before it: one more
// than the limit.
func (b *browsing) statement(limit int) (string, []any) {
	order, beyond := "", ">"
	if b.down != b.back {
		order, beyond = " DESC", "<"
	}
	where, args := b.where, slices.Clone(b.args)
	if b.place.id != "" {
		where += " AND (" + b.key + ", id) " + beyond + " (?, ?)"
		args = append(args, b.place.key, b.place.id)
	}
	// MATERIALIZED puts the search into the first step of the statement, which the
	// end of the context interrupts.
	return "WITH p AS MATERIALIZED (SELECT " + b.key + " AS key, id FROM " + b.Table + " WHERE org_id = ?1" + where +
		" ORDER BY 1" + order + ", id" + order + " LIMIT ?) SELECT p.key, p.id, r.record FROM p CROSS JOIN " +
		b.Type + "_records r ON r.org_id = ?1 AND r.id = p.id ORDER BY p.key" + order + ", p.id" + order, append(args, limit+1)
}

func (b *browsing) page(ctx context.Context, limit, most int) (BrowsePage, error) {
	query, args := b.statement(limit)
	var page BrowsePage
	var places []position
	more, taken := false, 0
	err := b.pool.EachUncached(ctx, func(row Scanner) error {
		var p position
		var record sqlite.RawBytes
		if err := row.Scan(&p.key, &p.id, &record); err != nil {
			return err
		}
		taken += len(record)
		if more = len(places) == limit || len(places) > 0 && taken > most; more {
			return sqlite.ErrStop
		}
		places, page.Records = append(places, p), append(page.Records, bytes.Clone(record))
		return nil
	}, query, args...)
	if err != nil {
		return page, err
	}
	if b.back {
		slices.Reverse(places)
		slices.Reverse(page.Records)
	}
	if len(places) == 0 {
		return page, nil
	}
	if b.back || more {
		page.Next = b.cursor(forwards, places[len(places)-1])
	}
	if b.back && more || !b.back && b.place.id != "" {
		page.Previous = b.cursor(backwards, places[0])
	}
	return page, nil
}

// count counts all records of the query, up to CountedRecords and one more. The
// records that a search finds replace its conditions, so that the search runs once.
// If there are more, a page along the order of the list is soon full.
func (b *browsing) count(ctx context.Context) (n int, err error) {
	if len(b.words) == 0 {
		query := "SELECT count(*) FROM (SELECT 1 FROM " + b.Table + " WHERE org_id = ?1" + b.where + " LIMIT ?)"
		err = b.pool.EachUncached(ctx, func(row Scanner) error { return row.Scan(&n) }, query, append(slices.Clone(b.args), CountedRecords+1)...)
		return n, err
	}
	args := len(b.args)
	// With one row for all of them, the search is in the first step of the statement,
	// which the end of the context interrupts.
	query := "SELECT count(*), json_group_array(seq) FROM (SELECT seq FROM " + b.source() + " WHERE org_id = ?1" + b.where + " LIMIT ?)"
	var found string
	err = b.pool.EachUncached(ctx, func(row Scanner) error { return row.Scan(&n, &found) }, query, append(slices.Clone(b.args), CountedRecords+1)...)
	b.args = b.args[:args]
	if err == nil && n <= CountedRecords {
		b.where, b.args = " AND seq IN (SELECT value FROM json_each(?2))", []any{b.org.Org, found}
	}
	return n, err
}

// argument adds an argument and returns its name in the statement.
func (b *browsing) argument(value any) string {
	b.args = append(b.args, value)
	return "?" + strconv.Itoa(len(b.args))
}

// source returns the table, or the candidates of the search index in it.
func (b *browsing) source() string {
	if candidates := search.Candidates(b.Resource, int64(b.org.Org), b.words, b.argument); candidates != "" {
		return "(" + candidates + ") CROSS JOIN " + b.Table + " ON seq = place"
	}
	return b.Table
}

// EachBrowsed calls each with every record of a query, regardless of its cursor and
// limit. It uses no connection while each runs, so that a slow reader delays only
// itself. It leaves out a record that was removed before it was read.
func (d *DB) EachBrowsed(ctx context.Context, org Organisation, object string, q BrowseQuery, each func([]byte) error) error {
	b, err := newBrowsing(d, org, object, q)
	if err != nil {
		return err
	}
	order := ""
	if b.down {
		order = " DESC"
	}
	source := b.source()
	var found []int64 // 8 bytes a record
	err = d.engine.Bulk.EachUncached(ctx, func(row Scanner) error {
		var seq int64
		err := row.Scan(&seq)
		found = append(found, seq)
		return err
	}, "SELECT seq FROM "+source+" WHERE org_id = ?1"+b.where+" ORDER BY "+b.key+order+", id"+order, b.args...)
	if err != nil {
		return StoreError(err)
	}
	query := "SELECT r.record FROM " + b.Table + " t CROSS JOIN " + object + "_records r ON r.org_id = t.org_id AND r.id = t.id WHERE t.seq = ? AND t.org_id = ?"
	for _, seq := range found {
		var record []byte
		none, err := Absent(d.engine.Bulk.Row(ctx, query, seq, org.Org).Scan(&record))
		if err == nil && !none {
			err = each(record)
		}
		if err != nil {
			return StoreError(err)
		}
	}
	return nil
}

// Record reads a record with all of its members, as JSON; NotFound if the
// organisation has none with this id.
func (d *DB) Record(ctx context.Context, org Org, object, id string) ([]byte, error) {
	if _, err := findResource(object); err != nil {
		return nil, err
	}
	var record []byte
	err := d.Row(ctx, "SELECT record FROM "+object+"_records WHERE org_id = ? AND id = ?", org, id).Scan(&record)
	if none, err := Absent(err); none {
		return nil, &Error{Code: NotFound, Message: "no " + object + " with this id in this organisation"}
	} else if err != nil {
		return nil, StoreError(err)
	}
	return record, nil
}
