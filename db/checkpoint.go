package db

import (
	"context"
	"database/sql"
	"errors"
)

// Checkpoint moves what has been written into the file itself and empties the
// log beside it, as far as readers and other writers let it: a log as long as
// the largest change would otherwise stay while anyone has the file open.
func (d *DB) Checkpoint(ctx context.Context) (err error) {
	pool, err := sql.Open("sqlite", d.dsn("rw"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return storeError(err)
	}
	defer conn.Close() //nolint:errcheck // the pool tells
	for _, pragma := range []string{
		"PRAGMA wal_checkpoint(PASSIVE)", // the most of it, in nobody's way
		"PRAGMA busy_timeout = 200",      // below the patience of other writers
		"PRAGMA wal_checkpoint(TRUNCATE)",
	} {
		if _, err := conn.ExecContext(ctx, pragma); err != nil && !passing(err) {
			return storeError(err)
		}
	}
	return nil
}
