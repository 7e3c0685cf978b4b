package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"math"
	"time"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// conn is a connection through the interface of the SQLite library, with a cache of
// prepared statements. The driver of database/sql would copy each text twice and describe
// the columns for each run. One goroutine uses a conn at a time, so SQLite locks nothing
// for it.
type conn struct {
	tls        *libc.TLS
	handle     uintptr
	statements map[string]*statement // by their text
	reading    int                   // results that are being read
	failed     bool                  // a statement failed; a new connection may do better
	trace      func(query string)    // nil unless a test watches the statements
	// observe is called with each statement before it runs; it may be nil.
	observe func(s *statement, args []any)
}

// maxStatements bounds the cached statements of a connection, of about 20 KB
// each. There is one for each set of a record's members, and an import may have
// any of these sets.
const maxStatements = 1000

// connect opens a connection; see uri for the mode.
func (d *DB) connect(ctx context.Context, mode string) (*conn, error) {
	return dial(ctx, d.uri(mode), d.pragmas(mode))
}

// dial opens a connection and runs the pragmas, such as "foreign_keys(1)".
func dial(ctx context.Context, uri string, pragmas []string) (*conn, error) {
	c := &conn{tls: libc.NewTLS(), statements: map[string]*statement{}}
	name, err := libc.CString(uri)
	if err != nil {
		c.tls.Close()
		return nil, err
	}
	defer libc.Xfree(c.tls, name)
	out := c.tls.Alloc(pointerSize)
	code := sqlite3.Xsqlite3_open_v2(c.tls, name, out, sqlite3.SQLITE_OPEN_READWRITE|sqlite3.SQLITE_OPEN_CREATE|sqlite3.SQLITE_OPEN_NOMUTEX|sqlite3.SQLITE_OPEN_URI, 0)
	c.handle = *as[*uintptr](out)
	c.tls.Free(pointerSize)
	if err = c.check(code); err == nil {
		err = c.check(sqlite3.Xsqlite3_extended_result_codes(c.tls, c.handle, 1))
	}
	for _, pragma := range pragmas {
		if err == nil {
			err = c.runOnce(ctx, "PRAGMA "+pragma)
		}
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *conn) close() error {
	c.clearStatements() // SQLite keeps a connection open that has a statement
	err := c.check(sqlite3.Xsqlite3_close_v2(c.tls, c.handle))
	c.tls.Close()
	return err
}

func (c *conn) clearStatements() {
	for _, s := range c.statements {
		s.finalize()
	}
	clear(c.statements)
}

// check returns the error of a result code, with SQLite's message.
func (c *conn) check(code int32) error {
	if code == sqlite3.SQLITE_OK {
		return nil
	}
	e := &libraryError{code: int(code), text: libc.GoString(sqlite3.Xsqlite3_errstr(c.tls, code))}
	if c.handle != 0 {
		if message := libc.GoString(sqlite3.Xsqlite3_errmsg(c.tls, c.handle)); message != e.text {
			e.text += ": " + message
		}
	}
	return e
}

// note remembers a failure of SQLite. A text that is too long is none.
func (c *conn) note(err error) error {
	c.failed = c.failed || err != nil && err != ErrTooLong //nolint:errorlint // never wrapped
	return err
}

// runOnce runs a statement that is not cached. Pragmas need it: many of them take
// effect when they are prepared. The context interrupts it.
func (c *conn) runOnce(ctx context.Context, query string, args ...any) error {
	return c.each(ctx, ctx, false, func(Scanner) error { return nil }, query, args)
}

// result is what a statement has changed.
type result struct {
	rows int64 // how many
	last int64 // rowid of the row that was inserted last
}

// Exec runs a statement to its end.
func (c *conn) Exec(query string, args ...any) (result, error) {
	s, err := c.begin(query, args, true)
	if err != nil {
		return result{}, c.note(err)
	}
	defer s.end()
	for {
		if more, err := s.step(); err != nil {
			return result{}, c.note(err)
		} else if !more {
			return result{sqlite3.Xsqlite3_changes64(c.tls, c.handle), sqlite3.Xsqlite3_last_insert_rowid(c.tls, c.handle)}, nil
		}
	}
}

// Row reads the first row of a query; see Scanner.
func (c *conn) Row(query string, args ...any) Scanner {
	row, err := c.first(background, query, args)
	if err != nil {
		return failedRow{err}
	}
	return row
}

// first reads the first row of a query; ErrNoRows if there is none. The context
// interrupts it.
func (c *conn) first(ctx context.Context, query string, args []any) (Values, error) {
	stop, err := c.interruptAfter(ctx)
	if err != nil {
		return nil, c.note(err)
	}
	defer stop()
	s, err := c.begin(query, args, true)
	if err != nil {
		return nil, c.note(err)
	}
	defer s.end()
	found, err := s.step()
	var row Values
	if found {
		row = s.values(nil)
		err = c.check(s.reset()) // a statement outside a transaction ends here
	}
	switch {
	case err != nil:
		return nil, c.note(interrupted(ctx, err))
	case !found:
		return nil, ErrNoRows
	}
	return row, nil
}

// Each calls fn for each row of a query; see Pool.Each.
func (c *conn) Each(fn func(Scanner) error, query string, args ...any) error {
	return c.each(background, background, true, fn, query, args)
}

// each reads rows like Each, with two contexts: step interrupts the statement, and ctx
// ends the read between two rows.
func (c *conn) each(ctx, step context.Context, cached bool, fn func(Scanner) error, query string, args []any) error {
	stop, err := c.interruptAfter(step)
	if err != nil {
		return c.note(err)
	}
	defer stop()
	var row Values
	var scanner Scanner
	err = c.steps(cached, func(s *statement) error {
		if row == nil {
			row = s.values(nil)
			scanner = row // converted once, not for each row
		} else {
			s.values(row)
		}
		if err := fn(scanner); err != nil {
			return err
		}
		return ctx.Err()
	}, query, args)
	return interrupted(step, err)
}

// eachRaw calls fn for each row of a query without copying it. A text longer than longest
// bytes is an ErrTooLong; 0 is the default limit.
func (c *conn) eachRaw(longest int, fn func(RawRow) error, query string, args []any) error {
	if longest > 0 {
		before := sqlite3.Xsqlite3_limit(c.tls, c.handle, sqlite3.SQLITE_LIMIT_LENGTH, int32(min(longest, math.MaxInt32))) //nolint:gosec // bounded
		defer sqlite3.Xsqlite3_limit(c.tls, c.handle, sqlite3.SQLITE_LIMIT_LENGTH, before)
	}
	return c.steps(true, func(s *statement) error { return fn(RawRow{s}) }, query, args)
}

// steps calls fn after each step of a query that returned a row, until fn fails. ErrStop
// ends it without an error.
func (c *conn) steps(cached bool, fn func(*statement) error, query string, args []any) error {
	s, err := c.begin(query, args, cached)
	if err != nil {
		return c.note(err)
	}
	s.reading = true
	c.reading++
	defer func() {
		s.reading = false
		c.reading--
		s.end()
	}()
	for {
		if more, err := s.step(); err != nil {
			return c.note(err)
		} else if !more {
			return nil
		}
		if err := fn(s); err == ErrStop { //nolint:errorlint // never wrapped
			return nil
		} else if err != nil {
			return err
		}
	}
}

// begin finds or prepares a statement and binds its arguments. The caller ends it.
func (c *conn) begin(query string, args []any, cached bool) (*statement, error) {
	if c.trace != nil {
		c.trace(query)
	}
	s := c.statements[query]
	if s == nil || s.reading {
		cached = cached && s == nil
		if cached && len(c.statements) >= maxStatements && c.reading == 0 {
			c.clearStatements()
		}
		var err error
		if s, err = c.prepare(query); err != nil {
			return nil, err
		}
		if s.cached = cached; cached {
			c.statements[query] = s
		}
	}
	if c.observe != nil {
		c.observe(s, args)
	}
	if err := s.bind(args); err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

// interruptAfter interrupts the statement of this connection when the context ends. The
// caller calls stop when the statement has returned.
func (c *conn) interruptAfter(ctx context.Context) (stop func(), err error) {
	if ctx.Done() == nil {
		return func() {}, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	returned, left := make(chan struct{}), make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(left)
		for { // an interrupt before the first step has no effect
			sqlite3.Xsqlite3_interrupt(c.tls, c.handle)
			select {
			case <-returned:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	return func() {
		close(returned)
		if !cancel() {
			<-left
		}
	}, nil
}

// interrupted returns the error of the context if that is what interrupted a statement.
func interrupted(ctx context.Context, err error) error {
	if primaryCode(err) == sqlite3.SQLITE_INTERRUPT && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// valueOf copies a value of SQLite.
func valueOf(tls *libc.TLS, value uintptr) driver.Value {
	switch sqlite3.Xsqlite3_value_type(tls, value) {
	case sqlite3.SQLITE_INTEGER:
		return sqlite3.Xsqlite3_value_int64(tls, value)
	case sqlite3.SQLITE_FLOAT:
		return sqlite3.Xsqlite3_value_double(tls, value)
	case sqlite3.SQLITE_TEXT:
		return string(textOf(tls, value))
	case sqlite3.SQLITE_BLOB:
		bytes := sqlite3.Xsqlite3_value_blob(tls, value)
		return append([]byte(nil), memory(bytes, int(sqlite3.Xsqlite3_value_bytes(tls, value)))...)
	}
	return nil
}

// textOf returns a value as text in SQLite's own memory.
func textOf(tls *libc.TLS, value uintptr) []byte {
	text := sqlite3.Xsqlite3_value_text(tls, value)
	return memory(text, int(sqlite3.Xsqlite3_value_bytes(tls, value)))
}
