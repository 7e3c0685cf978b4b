package db

import (
	"context"
	"database/sql"
	"sync"
)

// Sizes of the read pools that database/sql manages.
const (
	// searchesAtOnce bounds the searches that run at the same time.
	searchesAtOnce = 2
	// bulkAtOnce bounds the exports, evidence packs and verifications that read
	// the file at the same time.
	bulkAtOnce = 2
)

// ReadPool is a pool of connections for reading, with the statements that were
// prepared on it. There are four pools, so that no read waits for a slower kind:
//
//   - readers, for keys, pages of the API and webhook subscriptions,
//   - DB.read, for lookups of bounded time: sessions, idempotency, readiness,
//   - DB.searches, for reads whose time grows with the data,
//   - DB.bulk, for reads of all records: exports, evidence, verification.
type ReadPool struct {
	*sql.DB
	statements sync.Map // SQL text → *sql.Stmt
}

func openPool(dsn string, size int) (*ReadPool, error) {
	pool, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	return &ReadPool{DB: pool}, nil
}

// openPools opens the pools of a file that is in use.
func (d *DB) openPools() error {
	var err error
	if d.read, err = openPool(d.dsn("ro"), readersAtOnce); err != nil {
		return err
	}
	if d.searches.pool, err = openPool(d.dsn("ro"), searchesAtOnce); err != nil {
		return err
	}
	d.bulk, err = openPool(d.dsn("ro"), bulkAtOnce)
	return err
}

// sharePool uses one pool for all reads of a file that only a command reads.
func (d *DB) sharePool(access string) (err error) {
	d.read, err = openPool(d.dsn(access), readersAtOnce)
	d.searches.pool, d.bulk = d.read, d.read
	return err
}

// statement prepares a query of the pool once. Its LIMIT is "? + 0": at a bare
// variable the planner would look, and so plan anew for every new value, which
// is half of the time of a page.
func (p *ReadPool) statement(ctx context.Context, query string) (*sql.Stmt, error) {
	if known, ok := p.statements.Load(query); ok {
		return known.(*sql.Stmt), nil
	}
	made, err := p.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if known, ok := p.statements.LoadOrStore(query, made); ok {
		return known.(*sql.Stmt), made.Close() //nolint:sqlclosecheck // the other one is kept
	}
	return made, nil
}

// Row reads one row; sql.ErrNoRows if there is none.
func (p *ReadPool) Row(ctx context.Context, query string, args ...any) Scanner {
	statement, err := p.statement(ctx, query)
	if err != nil {
		return failedRow{err}
	}
	return statement.QueryRowContext(ctx, args...)
}

// Each calls each for every row that the query gives.
func (p *ReadPool) Each(ctx context.Context, each func(Scanner) error, query string, args ...any) error {
	statement, err := p.statement(ctx, query)
	if err != nil {
		return storeError(err)
	}
	rows, err := statement.QueryContext(ctx, args...)
	if err != nil {
		return storeError(err)
	}
	return eachRow(rows, each)
}

// EachUncached is rows for a statement of so many forms that it is not kept.
func (p *ReadPool) EachUncached(ctx context.Context, each func(Scanner) error, query string, args ...any) error {
	rows, err := p.QueryContext(ctx, query, args...)
	if err != nil {
		return storeError(err)
	}
	return eachRow(rows, each)
}

// Scanner is one row of a result, or the error that came instead of it.
type Scanner interface{ Scan(into ...any) error }

type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }

// Row reads one row through the pool of bounded lookups; sql.ErrNoRows if there
// is none.
func (d *DB) Row(ctx context.Context, query string, args ...any) Scanner {
	return d.read.Row(ctx, query, args...)
}

// Each calls each for every row that the query gives through the pool of bounded
// lookups.
func (d *DB) Each(ctx context.Context, each func(Scanner) error, query string, args ...any) error {
	return d.read.Each(ctx, each, query, args...)
}

// eachRow reads a result to its end and closes it.
func eachRow(rows *sql.Rows, each func(Scanner) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return storeError(rows.Err())
}
