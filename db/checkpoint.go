package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
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
		if _, err := conn.ExecContext(ctx, pragma); err != nil && !isTransient(err) {
			return storeError(err)
		}
	}
	return nil
}

const (
	// turnedAt is how long the log of a replicated file grows before the door
	// empties it: less than what SQLite by itself lets it grow, 1000 pages.
	turnedAt = 3 << 20
	// turnPatience bounds how long the door waits for readers of the log when the
	// file has all of it. It is a moment: who comes meanwhile reads no log.
	turnPatience = 50 * time.Millisecond
	// lookedEvery is how often the door looks whether the file is replicated.
	lookedEvery = 200 * time.Millisecond
)

// turnLog empties the log beside a file that Litestream replicates, once it has
// grown and all of it is in the file. SQLite by itself would begin the log anew
// over what stands there, and leave the rest of that behind. Litestream, back
// after an absence, takes this rest for proof that it has missed nothing; where
// it has, what it replicates from then on is damaged. From an emptied log it
// learns that it must copy the whole file. While it is there, it keeps the log
// from being moved, and so from being emptied, until it has copied it.
func (w *writer) turnLog() {
	if w.db.Now().Sub(w.looked).Abs() >= lookedEvery {
		w.look()
	}
	if !w.replicated || w.db.LogSize() < turnedAt {
		return
	}
	var busy, frames, moved int
	err := w.conn.Row("PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &frames, &moved)
	if err != nil || moved < frames {
		// an older reader needs the rest, or Litestream; what was written is safe
		// where it is, and the next one tries again
		return
	}
	for _, pragma := range []string{
		fmt.Sprintf("PRAGMA busy_timeout = %d", turnPatience.Milliseconds()),
		"PRAGMA wal_checkpoint(TRUNCATE)",
		fmt.Sprintf("PRAGMA busy_timeout = %d", w.db.options.Wait.Milliseconds()),
	} {
		_ = w.conn.set(context.Background(), pragma)
	}
}

// look looks for the table that Litestream makes in each file it replicates. To
// other files an emptied log is a loss: syncing a log that grows takes longer
// than syncing one that is written over.
func (w *writer) look() {
	w.looked = w.db.Now()
	var tables int
	if err := w.conn.Row("SELECT count(*) FROM sqlite_schema WHERE name = '_litestream_seq'").Scan(&tables); err != nil {
		return // whoever writes will be told
	}
	if w.replicated = tables > 0; w.replicated {
		// where a reader is in the way of the door, the change that begins the log
		// anew cuts off the rest
		_ = w.conn.set(context.Background(), "PRAGMA journal_size_limit = 0")
	}
}
