package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"

	"modernc.org/sqlite"
)

// connection is one of the driver's own, with the statements that were prepared
// on it: what database/sql puts around a small statement takes a good part of its
// time. It is used by one goroutine at a time, and its statements are never
// interrupted: that would end the transaction of others.
type connection struct {
	conn       driver.Conn
	statements map[string]statement // by their text
	open       int                  // results that are being read
	values     []driver.NamedValue  // of the statement about to run
	bounded    *bounded             // nil where the length of texts is not bounded
}

// keptStatements bounds the statements that are kept: some 20 KB each. There is
// one for each choice of a record's members, of which an import may bring any.
const keptStatements = 1000

type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// connect opens the file; see dsn for the mode.
func (d *DB) connect(ctx context.Context, mode string) (*connection, error) {
	connector, err := sqlite.NewConnector(d.dsn(mode))
	if err != nil {
		return nil, err
	}
	conn, err := connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &connection{conn: conn, statements: map[string]statement{}}, nil
}

func (c *connection) close() error {
	err := c.forget() // SQLite keeps a connection that has a statement
	if c.bounded != nil {
		return errors.Join(err, c.bounded.close())
	}
	return errors.Join(err, c.conn.Close())
}

func (c *connection) forget() error {
	var err error
	for _, statement := range c.statements {
		err = errors.Join(err, statement.Close())
	}
	clear(c.statements)
	return err
}

// set runs a pragma that sets something. Nothing is kept of it: many take
// effect when they are prepared, and not again.
func (c *connection) set(ctx context.Context, pragma string) error {
	_, err := c.conn.(driver.ExecerContext).ExecContext(ctx, pragma, nil)
	return err
}

// Exec runs a statement to its end.
func (c *connection) Exec(query string, args ...any) (driver.Result, error) {
	statement, values, err := c.prepare(query, args)
	if err != nil {
		return nil, err
	}
	return statement.ExecContext(context.Background(), values)
}

// Row reads the first row that a query gives; sql.ErrNoRows if there is none.
func (c *connection) Row(query string, args ...any) Scanner {
	rows, err := c.query(query, args)
	if err != nil {
		return failedRow{err}
	}
	row := make(values, len(rows.Columns()))
	err = rows.Next(row)
	if err == io.EOF { //nolint:errorlint // the driver's contract
		err = sql.ErrNoRows
	}
	if closed := rows.Close(); err == nil { // tells a failure of Next once more
		err = closed
	}
	if err != nil {
		return failedRow{err}
	}
	return row
}

// Each calls do for every row that a query gives. The row is valid during the
// call.
func (c *connection) Each(do func(Scanner) error, query string, args ...any) error {
	rows, err := c.query(query, args)
	if err != nil {
		return err
	}
	c.open++
	defer func() {
		c.open--
		_ = rows.Close() // it was read to its end, or failed before
	}()
	row := make(values, len(rows.Columns()))
	for {
		switch err := rows.Next(row); {
		case err == io.EOF: //nolint:errorlint // the driver's contract
			return nil
		case err != nil:
			return err
		}
		if err := do(row); err != nil {
			return err
		}
	}
}

func (c *connection) query(query string, args []any) (driver.Rows, error) {
	statement, values, err := c.prepare(query, args)
	if err != nil {
		return nil, err
	}
	return statement.QueryContext(context.Background(), values)
}

// prepare finds or makes a statement, and brings its arguments into the few
// types that the driver takes, as database/sql does.
func (c *connection) prepare(query string, args []any) (statement, []driver.NamedValue, error) {
	known, ok := c.statements[query]
	if !ok {
		if len(c.statements) >= keptStatements && c.open == 0 {
			if err := c.forget(); err != nil {
				return nil, nil, err
			}
		}
		made, err := c.conn.Prepare(query)
		if err != nil {
			return nil, nil, err
		}
		known = made.(statement)
		c.statements[query] = known
	}
	for len(c.values) < len(args) {
		c.values = append(c.values, driver.NamedValue{Ordinal: len(c.values) + 1})
	}
	for i, arg := range args {
		value, err := driver.DefaultParameterConverter.ConvertValue(arg)
		if err != nil {
			return nil, nil, fmt.Errorf("argument %d of %q: %w", i+1, query, err)
		}
		c.values[i].Value = value
	}
	return known, c.values[:len(args)], nil
}

// values are those of a row.
type values []driver.Value

// Scan stores each value where it fits without a change: nothing is rounded,
// cut or taken for zero.
func (v values) Scan(into ...any) error {
	if len(into) != len(v) {
		return fmt.Errorf("a row of %d columns was to be read as %d", len(v), len(into))
	}
	for i, value := range v {
		if !store(value, into[i]) {
			return fmt.Errorf("column %d, a %T, can't be read as %T", i+1, value, into[i])
		}
	}
	return nil
}

func store(value driver.Value, into any) bool {
	switch into := into.(type) {
	case *any:
		*into = value
		return true
	case *[]byte:
		switch value := value.(type) {
		case string:
			*into = []byte(value)
		case []byte:
			*into = value
		case nil:
			*into = nil
		default:
			return false
		}
		return true
	}
	to := reflect.ValueOf(into)
	return to.Kind() == reflect.Pointer && storeKind(value, to.Elem())
}

// storeKind goes by the kind of what a value goes to, which may be a type of
// ours, or a pointer: that is nil for NULL.
func storeKind(value driver.Value, to reflect.Value) bool {
	if to.Kind() == reflect.Pointer {
		if value == nil {
			to.SetZero()
			return true
		}
		to.Set(reflect.New(to.Type().Elem()))
		return store(value, to.Interface())
	}
	switch value := value.(type) {
	case string:
		if to.Kind() == reflect.String {
			to.SetString(value)
			return true
		}
	case []byte:
		if to.Kind() == reflect.String {
			to.SetString(string(value))
			return true
		}
	case int64:
		switch {
		case to.CanInt() && !to.OverflowInt(value):
			to.SetInt(value)
			return true
		case to.Kind() == reflect.Bool && (value == 0 || value == 1):
			to.SetBool(value == 1)
			return true
		}
	}
	return false
}
