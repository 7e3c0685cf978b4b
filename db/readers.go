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
func (r *readers) row(ctx context.Context, query string, args ...any) Scanner {
	var row Scanner
	err := r.through(ctx, func(conn *connection) error {
		row = conn.Row(query, args...)
		if failed, ok := row.(failedRow); ok && failed.err != sql.ErrNoRows { //nolint:errorlint // never wrapped
			return failed.err
		}
		return nil
	})
	if err != nil {
		return failedRow{err}
	}
	return row
}

// bounded is row for a query whose texts must not be longer than so many bytes;
// see tooLong.
func (r *readers) bounded(ctx context.Context, longest int, query string, args ...any) Scanner {
	var row Scanner
	err := r.through(ctx, func(conn *connection) error {
		if err := conn.bounded.longest(longest); err != nil {
			return err
		}
		row = conn.Row(query, args...)
		if err := conn.bounded.longest(sqliteTextLimit); err != nil {
			return err
		}
		if failed, ok := row.(failedRow); ok && !tooLong(failed.err) {
			return failed.err
		}
		return nil
	})
	if err != nil {
		return failedRow{err}
	}
	return row
}

// errEnough ends a read of rows before the last one.
var errEnough = errors.New("enough rows were read")

// each calls do for every row that a query gives, until it returns errEnough.
func (r *readers) each(ctx context.Context, do func(Scanner) error, query string, args ...any) error {
	return r.through(ctx, func(conn *connection) error {
		if err := conn.Each(do, query, args...); err != errEnough { //nolint:errorlint // never wrapped
			return err
		}
		return nil
	})
}

// through waits for a connection and reads through it. One on which a read
// failed is closed: a new one may do better.
func (r *readers) through(ctx context.Context, read func(*connection) error) error {
	if err := ctx.Err(); err != nil { // a free turn might be taken all the same
		return err
	}
	select {
	case r.turns <- struct{}{}:
		defer func() { <-r.turns }()
	case <-ctx.Done():
		return ctx.Err()
	}
	conn, err := r.take(ctx)
	if err != nil {
		return err
	}
	defer r.reading.Done()
	if err = read(conn); err != nil {
		_ = conn.close()
		return err
	}
	r.mutex.Lock()
	r.idle = append(r.idle, conn)
	r.mutex.Unlock()
	return nil
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
		if conn, err = r.db.connectBounded(ctx); err != nil {
			return nil, err
		}
	}
	r.reading.Add(1)
	return conn, nil
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
