package db

import (
	"context"
	"database/sql"

	"govsvc/db/sqlite"
)

// Snapshot is the file at one instant: all that is read through it belongs
// together, whatever is written meanwhile. It is used by one goroutine, inside
// DB.Snapshot, and kept short: the log of writes can't shrink while it lasts.
type Snapshot struct{ *sqlite.Snapshot }

// Snapshot runs read with the file as it is at the first query.
func (d *DB) Snapshot(ctx context.Context, read func(*Snapshot) error) error {
	var failed error
	err := d.engine.Bulk.Snapshot(ctx, func(s *sqlite.Snapshot) error {
		failed = read(&Snapshot{s})
		return failed
	})
	if failed != nil {
		return failed
	}
	return storeError(err)
}

// rows calls each for every row that the query gives.
func (s *Snapshot) rows(ctx context.Context, each func(Scanner) error, query string, args ...any) error {
	return storeError(s.Each(ctx, each, query, args...))
}

// Records calls each with every record of a type, as JSON, oldest first: what
// Put reads, and would write unchanged. The bytes are valid during the call.
func (s *Snapshot) Records(ctx context.Context, org Org, object string, each func([]byte) error) error {
	r, err := findResource(object)
	if err != nil {
		return err
	}
	var record sql.RawBytes
	return s.rows(ctx, func(row Scanner) error {
		if err := row.Scan(&record); err != nil {
			return storeError(err)
		}
		return each(record)
	}, "SELECT record FROM "+r.Type+"_records WHERE org_id = ? ORDER BY created_at, id", org)
}

// Records reads one type in a snapshot of its own; see Snapshot.Records.
func (d *DB) Records(ctx context.Context, org Org, object string, each func([]byte) error) error {
	return d.Snapshot(ctx, func(s *Snapshot) error { return s.Records(ctx, org, object, each) })
}
