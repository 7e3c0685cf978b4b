package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"sync"
)

// receivers reads where deliveries go now, anew before each attempt: through a
// connection of its own with the driver's own statement, which takes half of
// the time that it takes through database/sql.
type receivers struct {
	mutex     sync.Mutex
	closed    bool
	conn      driver.Conn
	statement driver.Stmt
}

// receiverRow holds the values of receiverColumns.
type receiverRow [6]driver.Value

// read tells false where there is no such subscription. A connection that
// failed is not used again: a new one may do better.
func (r *receivers) read(d *DB, subscription int64) (row receiverRow, there bool, err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.closed {
		return row, false, errClosed
	}
	if r.conn == nil {
		if err := r.open(d); err != nil {
			return row, false, errors.Join(err, r.drop())
		}
	}
	// it is read in less time than it takes to end it, so that no context is asked
	rows, err := r.statement.(driver.StmtQueryContext).QueryContext(context.Background(), []driver.NamedValue{{Ordinal: 1, Value: subscription}})
	if err == nil {
		err = rows.Next(row[:])
		if err == io.EOF { //nolint:errorlint // the driver's contract
			return row, false, rows.Close()
		}
		err = errors.Join(err, rows.Close())
	}
	if err != nil {
		_ = r.drop()
	}
	return row, err == nil, err
}

func (r *receivers) open(d *DB) (err error) {
	if r.conn, err = d.read.Driver().Open(d.dsn("ro")); err == nil {
		r.statement, err = r.conn.Prepare("SELECT " + receiverColumns + " FROM webhook_subscriptions WHERE seq = ?")
	}
	return err
}

func (r *receivers) drop() (err error) {
	if r.statement != nil { // SQLite keeps a connection that has one
		err = r.statement.Close()
	}
	if r.conn != nil {
		err = errors.Join(err, r.conn.Close())
	}
	r.conn, r.statement = nil, nil
	return err
}

func (r *receivers) close() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.closed = true
	return r.drop()
}
