package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	modernc "modernc.org/sqlite"
)

// conn is a connection of the driver with a cache of prepared statements. It
// bypasses database/sql, which takes a good part of the time of a small
// statement. One goroutine uses it at a time.
type conn struct {
	driver     driver.Conn
	statements map[string]*statement // by their text
	reading    int                   // results that are being read
	arguments  []driver.NamedValue   // of the statement about to run
	failed     bool                  // a statement failed; a new connection may do better
	raw        raw                   // see eachRaw
	trace      func(query string)    // nil unless a test watches the statements
	// observe is called with each statement before it runs; it may be nil.
	observe func(s *statement, args []any)
}

// maxStatements bounds the cached statements of a connection, of about 20 KB
// each. There is one for each set of a record's members, and an import may have
// any of these sets.
const maxStatements = 1000

// statement is a prepared statement.
type statement struct {
	prepared
	text    string
	reading bool // its result is being read, so that it cannot run again yet
	cached  bool
	raw     uintptr // see eachRaw

	footprint  *footprint // nil until it is needed
	generation int64      // of footprints
	touched    touch      // what the statement last added to touched.set
	batch      int64      // of touched
}

type prepared interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// connect opens a connection; see dsn for the mode.
func (d *DB) connect(ctx context.Context, mode string) (*conn, error) { return dial(ctx, d.dsn(mode)) }

func dial(ctx context.Context, dsn string) (*conn, error) {
	connector, err := modernc.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	c := &conn{statements: map[string]*statement{}}
	if c.driver, err = connector.Connect(ctx); err != nil {
		return nil, err
	}
	c.raw = rawOf(c.driver)
	return c, nil
}

func (c *conn) close() error {
	// SQLite keeps a connection open that has a statement.
	return errors.Join(c.clearStatements(), c.driver.Close())
}

func (c *conn) clearStatements() error {
	var err error
	for _, s := range c.statements {
		err = errors.Join(err, s.Close())
	}
	clear(c.statements)
	return err
}

// runOnce runs a statement that is not cached. Pragmas need it: many of them take
// effect when they are prepared.
func (c *conn) runOnce(ctx context.Context, query string, args ...any) error {
	values, err := c.bind(query, args)
	if err != nil {
		return err
	}
	_, err = c.driver.(driver.ExecerContext).ExecContext(ctx, query, values)
	return c.note(err)
}

// note remembers a failure of the driver.
func (c *conn) note(err error) error {
	c.failed = c.failed || err != nil
	return err
}

// Exec runs a statement to its end.
func (c *conn) Exec(query string, args ...any) (driver.Result, error) {
	s, values, err := c.prepare(query, args, true)
	if err != nil {
		return nil, c.note(err)
	}
	defer s.release()
	result, err := s.ExecContext(context.Background(), values)
	return result, c.note(err)
}

// Row reads the first row of a query; see Scanner.
func (c *conn) Row(query string, args ...any) Scanner {
	row, err := c.first(context.Background(), query, args)
	if err != nil {
		return failedRow{err}
	}
	return row
}

// first reads the first row of a query; ErrNoRows if there is none.
func (c *conn) first(ctx context.Context, query string, args []any) (Values, error) {
	s, values, err := c.prepare(query, args, true)
	if err != nil {
		return nil, c.note(err)
	}
	defer s.release()
	rows, err := s.QueryContext(ctx, values)
	if err != nil {
		return nil, c.note(err)
	}
	row := make(Values, len(rows.Columns()))
	err = rows.Next(row)
	closed := rows.Close() // reports a failure of Next again
	if err == io.EOF {     //nolint:errorlint // the driver's contract
		return nil, ErrNoRows
	}
	if err == nil {
		err = closed
	}
	return row, c.note(err)
}

// Each calls fn for each row of a query; see Pool.Each.
func (c *conn) Each(fn func(Scanner) error, query string, args ...any) error {
	return c.each(background, background, true, fn, query, args)
}

// each reads rows like Each, with two contexts: step interrupts the first step of the
// statement, and ctx ends the read between two rows.
func (c *conn) each(ctx, step context.Context, cached bool, fn func(Scanner) error, query string, args []any) error {
	s, values, err := c.prepare(query, args, cached)
	if err != nil {
		return c.note(err)
	}
	defer s.release()
	rows, err := s.QueryContext(step, values)
	if err != nil {
		return c.note(err)
	}
	s.reading = true
	c.reading++
	defer func() {
		s.reading = false
		c.reading--
		_ = rows.Close() // the rows were read to their end, or Next failed before
	}()
	row := make(Values, len(rows.Columns()))
	scanner := Scanner(row) // converted once, not for each row
	for {
		switch err := rows.Next(row); {
		case err == io.EOF: //nolint:errorlint // the driver's contract
			return nil
		case err != nil:
			return c.note(err)
		}
		if err := fn(scanner); err == ErrStop { //nolint:errorlint // never wrapped
			return nil
		} else if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// prepare finds or prepares a statement and binds its arguments. The caller
// releases the statement.
func (c *conn) prepare(query string, args []any, cached bool) (*statement, []driver.NamedValue, error) {
	values, err := c.bind(query, args)
	if err != nil {
		return nil, nil, err
	}
	if c.trace != nil {
		c.trace(query)
	}
	known := c.statements[query]
	if known != nil && !known.reading {
		if c.observe != nil {
			c.observe(known, args)
		}
		return known, values, nil
	}
	if cached = cached && known == nil; cached && len(c.statements) >= maxStatements && c.reading == 0 {
		if err := c.clearStatements(); err != nil {
			return nil, nil, err
		}
	}
	made, err := c.driver.Prepare(query)
	if err != nil {
		return nil, nil, err
	}
	s := &statement{prepared: made.(prepared), text: query, cached: cached, raw: rawStatement(made)}
	if cached {
		c.statements[query] = s
	}
	if c.observe != nil {
		c.observe(s, args)
	}
	return s, values, nil
}

// release closes a statement that is not cached.
func (s *statement) release() {
	if !s.cached {
		_ = s.Close() // its failure was reported when it ran
	}
}

// bind converts arguments into the few types that the driver takes, as
// database/sql does.
func (c *conn) bind(query string, args []any) ([]driver.NamedValue, error) {
	for len(c.arguments) < len(args) {
		c.arguments = append(c.arguments, driver.NamedValue{Ordinal: len(c.arguments) + 1})
	}
	for i, arg := range args {
		value, err := driver.DefaultParameterConverter.ConvertValue(arg)
		if err != nil {
			return nil, fmt.Errorf("argument %d of %q: %w", i+1, query, err)
		}
		c.arguments[i].Value = value
	}
	return c.arguments[:len(args)], nil
}
