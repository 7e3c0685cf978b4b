package sqlite

import (
	"context"
	"fmt"
	"time"
)

// Checkpoint moves the write-ahead log into the file and empties the log, as far
// as readers and other writers allow it. Otherwise the log keeps the size of the
// largest transaction as long as a process has the file open.
func (d *DB) Checkpoint(ctx context.Context) error {
	c, err := d.connect(ctx, "rw")
	if err != nil {
		return err
	}
	for _, pragma := range []string{
		"PRAGMA wal_checkpoint(PASSIVE)", // moves the most of it, and blocks no other connection
		"PRAGMA busy_timeout = 200",      // less than other writers wait
		"PRAGMA wal_checkpoint(TRUNCATE)",
	} {
		if err = c.runOnce(ctx, pragma); err != nil && !isTransient(err) {
			break
		}
		err = nil
	}
	if closed := c.close(); err == nil {
		err = closed
	}
	return err
}

const (
	// replicatedWALLimit is the size at which the writer empties the log of a replicated
	// file. SQLite itself restarts the log at 1000 pages, which is more.
	replicatedWALLimit = 3 << 20
	// replicatedWALWait bounds how long the writer waits for readers of the log, once all
	// of it is in the file. It is short because new readers do not read the log.
	replicatedWALWait = 50 * time.Millisecond
	// replicationCheckInterval is how often the writer checks whether the file is
	// replicated.
	replicationCheckInterval = 200 * time.Millisecond
)

// emptyReplicatedWAL empties the log of a file that Litestream replicates, when the log
// has grown and was completely copied into the file. SQLite alone would restart the log
// and overwrite only its beginning. If Litestream is started again and finds the frames
// that it copied last behind the new ones, it concludes that it has missed no change. If
// it has missed one, its replica is damaged from then on. After the log was emptied, it
// copies the complete file. While Litestream runs, it prevents the log from being
// emptied until it has copied the log.
func (w *writer) emptyReplicatedWAL() {
	if w.db.options.Now().Sub(w.checked).Abs() >= replicationCheckInterval {
		w.checkReplication()
	}
	if !w.replicated || w.db.LogSize() < replicatedWALLimit {
		return
	}
	var busy, frames, moved int
	err := w.conn.Row("PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &frames, &moved)
	if err != nil || moved < frames {
		// An older reader or Litestream needs the rest. The next transaction tries
		// again; what was written is safe in the log.
		return
	}
	w.db.versions.suspend() // the pragma changes the header of the WAL index
	for _, pragma := range []string{
		fmt.Sprintf("PRAGMA busy_timeout = %d", replicatedWALWait.Milliseconds()),
		"PRAGMA wal_checkpoint(TRUNCATE)",
		fmt.Sprintf("PRAGMA busy_timeout = %d", w.db.options.Wait.Milliseconds()),
	} {
		_ = w.conn.runOnce(background, pragma)
	}
	w.attribute(true)
}

// checkpointFrames is the length of the log at which the writer moves it into the file. It
// is SQLite's own.
const checkpointFrames = 1000

// checkpoint moves a long log into the file, as far as readers allow it. SQLite would do
// it within the COMMIT, and the data version would not be known during that time.
func (w *writer) checkpoint() {
	if w.commits.checkpoints && w.commits.frames >= checkpointFrames {
		_ = w.conn.runOnce(background, "PRAGMA wal_checkpoint(PASSIVE)") // the next commit tries again
	}
}

// checkReplication looks for the table that Litestream creates in each file that
// it replicates. In other files the log is not emptied, because syncing a log that grows
// takes longer than syncing a log that is overwritten.
func (w *writer) checkReplication() {
	w.checked = w.db.options.Now()
	var tables int
	if err := w.conn.Row("SELECT count(*) FROM sqlite_schema WHERE name = '_litestream_seq'").Scan(&tables); err != nil {
		return // the next write reports it
	}
	if w.replicated = tables > 0; w.replicated {
		// If a reader keeps emptyReplicatedWAL from emptying the log, the transaction
		// that restarts the log truncates it.
		_ = w.conn.runOnce(background, "PRAGMA journal_size_limit = 0")
	}
}

const (
	// keptFree is the part of the file that ReleaseFreeSpace leaves free, as one
	// page in 10, because removed rows are often followed by new ones.
	keptFree = 10
	// minFreePages is how many pages ReleaseFreeSpace leaves free in any case.
	minFreePages = 256
	// vacuumBatch bounds the pages that one transaction of ReleaseFreeSpace moves,
	// so that it does not delay other requests.
	vacuumBatch = 128
)

// ReleaseFreeSpace makes the file smaller by removing free pages, in small transactions
// between those of other writers. Some pages remain free. It returns the number of bytes
// that it removed.
func (d *DB) ReleaseFreeSpace(ctx context.Context) (bytes int64, err error) {
	for {
		var page, pages, free, given int64
		err := d.Write(ctx, func(tx *Tx) error {
			err := tx.Row("SELECT page_size, page_count, freelist_count FROM pragma_page_size, pragma_page_count, pragma_freelist_count").
				Scan(&page, &pages, &free)
			if err != nil || free < max(pages/keptFree, minFreePages)+vacuumBatch {
				return err
			}
			err = tx.Each(func(Scanner) error { return nil }, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", vacuumBatch))
			if err != nil {
				return err
			}
			var left int64
			err = tx.Row("SELECT page_count FROM pragma_page_count").Scan(&left)
			given = pages - left
			return err
		})
		bytes += given * page
		if err != nil || given == 0 {
			return bytes, err
		}
	}
}
