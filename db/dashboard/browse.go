package dashboard

import (
	"bytes"
	"context"
	"slices"

	"govsvc/db"
	"govsvc/db/sqlite"
)

// BrowseQuery asks for a page of the dashboard's list of a resource.
type BrowseQuery struct {
	Filters      map[string][]string // by names of Resource.ListFilters: the record has one of the values
	Archived     bool                // the archived records only; otherwise all others
	Texts        map[string]string   // by the same names: the record has the value or, if none has it, contains it
	Due          Due                 // when the record needs attention
	UpdatedSince string              // a stored timestamp: rows created or changed at or after it
	Words        []string            // each is in one of the record's texts, in either case
	User         string              // runs one search at a time; "" has no such bound
	Sort         string              // one of Resource.SortNames, "-" before it for the greatest first; "" is the API's order
	Cursor       string              // Next or Previous of a page of the same type and sort
	Limit        int
	Size         db.PageSize // Small does not count
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
func Browse(ctx context.Context, store *db.DB, org db.Organisation, object string, q BrowseQuery) (BrowsePage, error) {
	b, err := newBrowsing(ctx, store, org, object, q)
	if err != nil {
		return BrowsePage{}, err
	}
	if err := b.start(q.Cursor); err != nil {
		return BrowsePage{}, err
	}
	if b.light {
		page, err := b.browse(ctx, store.Engine().Lookups, q)
		return page, db.StoreError(err)
	}
	var page BrowsePage
	err = store.Search(ctx, q.User, func(ctx context.Context, pool *sqlite.Pool) error {
		page, err = b.browse(ctx, pool, q)
		return err
	})
	return page, err
}

func (b *browsing) browse(ctx context.Context, pool *sqlite.Pool, q BrowseQuery) (BrowsePage, error) {
	b.pool = pool
	total, err := b.count(ctx)
	if err != nil {
		return BrowsePage{}, err
	}
	page, err := b.page(ctx, q.Limit, q.Size.Limit())
	if err != nil {
		return page, err
	}
	if b.back && page.Previous == "" && len(page.Records) < q.Limit {
		// going back ended in the middle of the first page: read all of it
		b.place, b.back = position{}, false
		if page, err = b.page(ctx, q.Limit, q.Size.Limit()); err != nil {
			return page, err
		}
	}
	page.Total, page.More = min(total, CountedRecords), total > CountedRecords
	return page, nil
}

func (b *browsing) page(ctx context.Context, limit, most int) (BrowsePage, error) {
	query, args := b.statement(limit)
	var page BrowsePage
	var places []position
	more, taken := false, 0
	err := b.pool.EachUncached(ctx, func(row db.Scanner) error {
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
		err = b.pool.EachUncached(ctx, func(row db.Scanner) error { return row.Scan(&n) }, query, append(slices.Clone(b.args), CountedRecords+1)...)
		return n, err
	}
	args := len(b.args)
	// With one row for all of them, the search is in the first step of the statement,
	// which the end of the context interrupts.
	query := "SELECT count(*), json_group_array(seq) FROM (SELECT seq FROM " + b.source() + " WHERE org_id = ?1" + b.where + " LIMIT ?)"
	var found string
	err = b.pool.EachUncached(ctx, func(row db.Scanner) error { return row.Scan(&n, &found) }, query, append(slices.Clone(b.args), CountedRecords+1)...)
	b.args = b.args[:args]
	if err == nil && n <= CountedRecords {
		b.where, b.args = " AND seq IN (SELECT value FROM json_each(?2))", []any{b.org.Org, found}
	}
	return n, err
}

// EachBrowsed calls each with every record of a query, regardless of its cursor and
// limit. It uses no connection while each runs, so that a slow reader delays only
// itself. It leaves out a record that was removed before it was read.
func EachBrowsed(ctx context.Context, store *db.DB, org db.Organisation, object string, q BrowseQuery, each func([]byte) error) error {
	b, err := newBrowsing(ctx, store, org, object, q)
	if err != nil {
		return err
	}
	order := ""
	if b.down {
		order = " DESC"
	}
	source := b.source()
	var found []int64 // 8 bytes a record
	err = store.Engine().Bulk.EachUncached(ctx, func(row db.Scanner) error {
		var seq int64
		err := row.Scan(&seq)
		found = append(found, seq)
		return err
	}, "SELECT seq FROM "+source+" WHERE org_id = ?1"+b.where+" ORDER BY "+b.key+order+", id"+order, b.args...)
	if err != nil {
		return db.StoreError(err)
	}
	query := "SELECT r.record FROM " + b.Table + " t CROSS JOIN " + object + "_records r ON r.org_id = t.org_id AND r.id = t.id WHERE t.seq = ? AND t.org_id = ?"
	for _, seq := range found {
		var record []byte
		none, err := db.Absent(store.Engine().Bulk.Row(ctx, query, seq, org.Org).Scan(&record))
		if err == nil && !none {
			err = each(record)
		}
		if err != nil {
			return db.StoreError(err)
		}
	}
	return nil
}
