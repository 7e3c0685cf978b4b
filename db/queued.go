package db

import (
	"context"
	"database/sql"
)

// queued tells the delivery loop of this process that a commit of this process
// made deliveries due. It holds at most one word, and nobody waits to say it.
type queued chan struct{}

func (q queued) tell(batch []*change) {
	for _, c := range batch {
		if c.queued && !c.failed() {
			select {
			case q <- struct{}{}:
			default:
			}
			return
		}
	}
}

// Queued gives a value after commits through this DB that made deliveries due.
// It serves one delivery loop.
func (d *DB) Queued() <-chan struct{} { return d.queued }

// Watch tells of commits to the file by anybody, other processes included. It
// is used by one goroutine.
type Watch struct {
	pool    *sql.DB
	conn    *sql.Conn // kept: the count is the connection's own
	query   *sql.Stmt
	version int64
}

// Watch starts to watch the file.
func (d *DB) Watch(ctx context.Context) (*Watch, error) {
	pool, err := sql.Open("sqlite", d.dsn("ro"))
	if err != nil {
		return nil, err
	}
	w := &Watch{pool: pool}
	if w.conn, err = pool.Conn(ctx); err == nil {
		w.query, err = w.conn.PrepareContext(ctx, "PRAGMA data_version")
	}
	if err == nil {
		_, err = w.Moved(ctx)
	}
	if err != nil {
		w.Close()
		return nil, storeError(err)
	}
	return w, nil
}

// Moved tells whether something was committed since the last call, at a cost
// of microseconds.
func (w *Watch) Moved(ctx context.Context) (bool, error) {
	before := w.version
	err := w.query.QueryRowContext(ctx).Scan(&w.version)
	return w.version != before, storeError(err)
}

// Close ends the watch.
func (w *Watch) Close() {
	if w.query != nil {
		_ = w.query.Close()
	}
	if w.conn != nil {
		_ = w.conn.Close() // it held no lock, and nothing to be written
	}
	_ = w.pool.Close()
}
