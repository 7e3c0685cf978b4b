package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"govsvc/db/fair"
	"govsvc/db/sqlite"
)

// Scanner is one row of a result, or the error that came instead of it.
type Scanner = sqlite.Scanner

// Row reads one row in the pool of bounded lookups. Its Scan returns
// sqlite.ErrNoRows if there is none.
func (d *DB) Row(ctx context.Context, query string, args ...any) Scanner {
	return d.engine.Lookups.Row(ctx, query, args...)
}

// Each calls fn for each row of a query in the pool of bounded lookups; see
// sqlite.Pool.Each.
func (d *DB) Each(ctx context.Context, fn func(Scanner) error, query string, args ...any) error {
	return StoreError(d.engine.Lookups.Each(ctx, fn, query, args...))
}

// Bounds of searches.
const (
	// searchTime is how long a search may take, with its wait.
	searchTime = 10 * time.Second
	// maxWaitingSearches bounds the searches of one user that wait.
	maxWaitingSearches = 16
)

// Search runs a read whose time grows with the data, in the pool for searches. It
// bounds the time. It runs the searches of one user one after the other, so that they
// delay that user only. The user "" is not bounded.
func (d *DB) Search(ctx context.Context, user string, run func(context.Context, *sqlite.Pool) error) error {
	bounded, cancel := context.WithTimeout(ctx, d.options.SearchTime)
	defer cancel()
	release, err := d.searches.Acquire(bounded, user)
	if err == nil {
		defer release()
		err = run(bounded, d.engine.Searches)
	}
	var known *Error
	switch {
	case errors.Is(err, fair.ErrCrowded):
		return &Error{Code: SearchBusy, RetryAfter: time.Second, Message: "too many of your searches are running; wait for them to end, and search again"}
	case err != nil && ctx.Err() != nil:
		return ctx.Err() // instead of the error of the interrupted statement
	case err != nil && bounded.Err() != nil && (!errors.As(err, &known) || known.Code == Unavailable):
		return &Error{Code: SearchTimeout, Err: err, Message: fmt.Sprintf("the search was stopped after %s; "+
			"search for a longer or rarer word, set a filter, or sort by the default order", d.options.SearchTime)}
	}
	return StoreError(err)
}

// Snapshot is the file at one instant: all reads through it see the same state. One
// goroutine uses it, inside DB.Snapshot, for a short time: the log beside the file
// cannot be emptied while it lasts.
type Snapshot struct{ snapshot *sqlite.Snapshot }

// Snapshot runs read with the state of the file at read's first query.
func (d *DB) Snapshot(ctx context.Context, read func(*Snapshot) error) error {
	var failed error
	err := d.engine.Bulk.Snapshot(ctx, func(s *sqlite.Snapshot) error {
		failed = read(&Snapshot{s})
		return failed
	})
	if failed != nil {
		return failed
	}
	return StoreError(err)
}

// Each calls fn for each row of a query; see sqlite.Pool.Each.
func (s *Snapshot) Each(ctx context.Context, fn func(Scanner) error, query string, args ...any) error {
	return StoreError(s.snapshot.Each(ctx, fn, query, args...))
}

// Records calls each with every record of a type, as JSON, oldest first. It has what
// Put reads, and would write unchanged. The bytes are valid during the call.
func (s *Snapshot) Records(ctx context.Context, org Org, object string, each func([]byte) error) error {
	r, err := findResource(object)
	if err != nil {
		return err
	}
	var record sqlite.RawBytes
	return s.Each(ctx, func(row Scanner) error {
		if err := row.Scan(&record); err != nil {
			return StoreError(err)
		}
		return each(record)
	}, "SELECT record FROM "+r.Type+"_records WHERE org_id = ? ORDER BY created_at, id", org)
}

// Records reads one type in a new snapshot; see Snapshot.Records.
func (d *DB) Records(ctx context.Context, org Org, object string, each func([]byte) error) error {
	return d.Snapshot(ctx, func(s *Snapshot) error { return s.Records(ctx, org, object, each) })
}
