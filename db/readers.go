package db

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// readers reads what is asked for all the time: pages, keys, where deliveries go,
// through connections of its own with the driver's own statements: half of the
// time of a page goes elsewhere when database/sql reads it row by row.
type readers struct {
	db *DB

	mutex   sync.Mutex
	closed  bool
	idle    []*connection  // that one query is read through at a time
	turns   chan struct{}  // a place for each connection there may be
	reading sync.WaitGroup // queries under way
}

var errClosed = errors.New("sql: database is closed") // as database/sql says it

func (r *readers) init(d *DB) {
	r.db = d
	r.turns = make(chan struct{}, readersAtOnce)
}

// row reads the first row that a query gives; sql.ErrNoRows if there is none. It
// is read in less time than it takes to end one, so that the context counts for
// the wait alone.
func (r *readers) row(ctx context.Context, query string, args ...any) scanner {
	if err := ctx.Err(); err != nil { // a free turn might be taken all the same
		return failedRow{err}
	}
	select {
	case r.turns <- struct{}{}:
		defer func() { <-r.turns }()
	case <-ctx.Done():
		return failedRow{ctx.Err()}
	}
	conn, err := r.take(ctx)
	if err != nil {
		return failedRow{err}
	}
	defer r.reading.Done()
	row := conn.row(query, args...)
	r.give(conn, row)
	return row
}

func (r *readers) take(ctx context.Context) (*connection, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.closed {
		return nil, errClosed
	}
	var conn *connection
	if last := len(r.idle) - 1; last >= 0 {
		conn, r.idle = r.idle[last], r.idle[:last]
	} else {
		var err error
		if conn, err = r.db.connect(ctx, "ro"); err != nil {
			return nil, err
		}
	}
	r.reading.Add(1)
	return conn, nil
}

// give puts a connection back, unless it failed: a new one may do better.
func (r *readers) give(conn *connection, row scanner) {
	if failed, ok := row.(failedRow); ok && failed.err != sql.ErrNoRows { //nolint:errorlint // never wrapped
		_ = conn.close()
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.idle = append(r.idle, conn)
}

// close waits for the queries under way, and lets no other begin.
func (r *readers) close() error {
	r.mutex.Lock()
	r.closed = true
	r.mutex.Unlock()
	r.reading.Wait()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var err error
	for _, conn := range r.idle {
		err = errors.Join(err, conn.close())
	}
	r.idle = nil
	return err
}
