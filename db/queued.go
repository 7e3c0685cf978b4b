package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
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
// is used by one goroutine at a time.
type Watch struct {
	pool    *sql.DB
	conn    *sql.Conn // kept: the count is the connection's own
	query   driver.StmtQueryContext
	version [1]driver.Value
}

// Watch starts to watch the file.
func (d *DB) Watch(ctx context.Context) (*Watch, error) {
	pool, err := sql.Open("sqlite", d.dsn("ro"))
	if err != nil {
		return nil, err
	}
	w := &Watch{pool: pool}
	if w.conn, err = pool.Conn(ctx); err == nil {
		err = w.conn.Raw(w.prepare)
	}
	if err == nil {
		_, err = w.Moved()
	}
	if err != nil {
		w.Close()
		return nil, storeError(err)
	}
	return w, nil
}

// prepare keeps the driver's own statement: every request asks it, and what
// database/sql puts around a query costs more than the query.
func (w *Watch) prepare(conn any) error {
	made, err := conn.(driver.Conn).Prepare("PRAGMA data_version")
	if err == nil {
		w.query = made.(driver.StmtQueryContext)
	}
	return err
}

// Moved tells whether something was committed since the last call, at a cost
// of microseconds.
func (w *Watch) Moved() (bool, error) {
	before := w.version[0]
	err := w.conn.Raw(func(any) error {
		rows, err := w.query.QueryContext(context.Background(), nil)
		if err != nil {
			return err
		}
		return errors.Join(rows.Next(w.version[:]), rows.Close())
	})
	return w.version[0] != before, storeError(err)
}

// Close ends the watch.
func (w *Watch) Close() {
	if w.conn != nil {
		if statement, ok := w.query.(driver.Stmt); ok {
			_ = w.conn.Raw(func(any) error { return statement.Close() })
		}
		_ = w.conn.Close() // it held no lock, and nothing to be written
	}
	_ = w.pool.Close()
}
