package dashboard

import (
	"context"

	"govsvc/db"
	"govsvc/db/sqlite"
)

// Neighbours returns the ids of the records before and after a record in the list of a
// query, "" where there is none. The record itself may be outside of the query. The time is
// that of a page of the list.
func Neighbours(ctx context.Context, store *db.DB, org db.Organisation, object, id string, q BrowseQuery) (previous, next string, err error) {
	b, err := newBrowsing(ctx, store, org, object, q)
	if err != nil {
		return "", "", err
	}
	find := func(ctx context.Context, pool *sqlite.Pool) error {
		b.pool, b.place.id = pool, id
		err := pool.Row(ctx, "SELECT "+b.key+" FROM "+b.Table+" WHERE org_id = ? AND id = ?", org.Org, id).Scan(&b.place.key)
		if none, err := db.Absent(err); none || err != nil {
			return err
		}
		if next, err = b.beside(ctx, false); err == nil {
			previous, err = b.beside(ctx, true)
		}
		return err
	}
	if b.light {
		return previous, next, db.StoreError(find(ctx, store.Engine().Lookups))
	}
	err = store.Search(ctx, q.User, find)
	return previous, next, err
}

// beside returns the id of the record next to the place, backwards or forwards.
func (b *browsing) beside(ctx context.Context, back bool) (id string, err error) {
	b.back = back
	query, args := b.statement(0)
	err = b.pool.EachUncached(ctx, func(row db.Scanner) error {
		var key any
		var record sqlite.RawBytes
		return row.Scan(&key, &id, &record)
	}, query, args...)
	return id, err
}
