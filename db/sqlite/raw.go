package sqlite

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"reflect"
	"unsafe"

	"modernc.org/libc"
	modernc "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrTooLong is returned if a query reads or computes a longer text than it may.
var ErrTooLong = errors.New("a text is longer than the query may read")

// RawRow is a row in SQLite's own memory. It is valid only while the function runs that
// gets it.
type RawRow struct {
	tls       *libc.TLS
	statement uintptr
}

// Text returns a column as text, which must be neither kept nor changed. It is empty for
// NULL.
func (r RawRow) Text(column int) []byte {
	// column_text and column_bytes would lock the connection's mutex twice each.
	value := sqlite3.Xsqlite3_column_value(r.tls, r.statement, int32(column)) //nolint:gosec // few columns
	text := sqlite3.Xsqlite3_value_text(r.tls, value)
	bytes := sqlite3.Xsqlite3_value_bytes(r.tls, value)
	if text == 0 || bytes == 0 {
		return nil
	}
	return unsafe.Slice(as[*byte](text), bytes) //nolint:gosec // the length is SQLite's
}

// raw is the connection of the driver as SQLite's library knows it. The driver does not
// export it.
type raw struct {
	tls *libc.TLS
	db  uintptr
}

// errNoRaw is returned if the driver is not the one that rawOf and rawStatement know, or
// for several statements at once.
var errNoRaw = errors.New("the driver's statements can't be run without it")

// rawOf returns the library's connection inside a connection of the driver. It is zero if
// the driver has other fields.
func rawOf(c driver.Conn) raw {
	of := reflect.Indirect(reflect.ValueOf(c))
	tls, db := of.FieldByName("tls"), of.FieldByName("db")
	if !tls.IsValid() || tls.Type() != reflect.TypeFor[*libc.TLS]() || !db.IsValid() || db.Kind() != reflect.Uintptr {
		return raw{}
	}
	return raw{(*libc.TLS)(tls.UnsafePointer()), uintptr(db.Uint())}
}

// rawStatement returns the library's statement inside a statement of the driver. It is 0
// if the driver has other fields.
func rawStatement(s driver.Stmt) uintptr {
	statement := reflect.Indirect(reflect.ValueOf(s)).FieldByName("pstmt")
	if !statement.IsValid() || statement.Kind() != reflect.Uintptr {
		return 0
	}
	return uintptr(statement.Uint())
}

// rawError is an error of SQLite that did not come through the driver.
type rawError int32

func (e rawError) Error() string {
	return fmt.Sprintf("SQLite: %s (%d)", modernc.ErrorCodeString[int(e)&0xff], int(e))
}

// eachRaw calls fn for each row of a query, as each does, without the driver. So it copies
// no column. A text longer than longest bytes is an ErrTooLong; 0 is the default limit.
func (c *conn) eachRaw(longest int, fn func(RawRow) error, query string, args []any) (err error) {
	s, values, err := c.prepare(query, args, true)
	if err != nil {
		return c.note(err)
	}
	defer s.release()
	if c.raw.tls == nil || s.raw == 0 {
		return errNoRaw
	}
	tls := c.raw.tls
	s.reading = true
	c.reading++
	bound, err := c.raw.bind(s.raw, values)
	defer func() {
		s.reading = false
		c.reading--
		sqlite3.Xsqlite3_reset(tls, s.raw) // it reports the failure of a step again
		sqlite3.Xsqlite3_clear_bindings(tls, s.raw)
		for _, text := range bound {
			libc.Xfree(tls, text)
		}
	}()
	if err != nil {
		return c.note(err)
	}
	if longest > 0 {
		before := sqlite3.Xsqlite3_limit(tls, c.raw.db, sqlite3.SQLITE_LIMIT_LENGTH, int32(min(longest, math.MaxInt32))) //nolint:gosec // bounded
		defer sqlite3.Xsqlite3_limit(tls, c.raw.db, sqlite3.SQLITE_LIMIT_LENGTH, before)
	}
	for {
		switch code := sqlite3.Xsqlite3_step(tls, s.raw); code {
		case sqlite3.SQLITE_ROW:
		case sqlite3.SQLITE_DONE:
			return nil
		case sqlite3.SQLITE_TOOBIG:
			return ErrTooLong
		default:
			return c.note(rawError(sqlite3.Xsqlite3_extended_errcode(tls, c.raw.db)))
		}
		if err := fn(RawRow{tls, s.raw}); err == ErrStop { //nolint:errorlint // never wrapped
			return nil
		} else if err != nil {
			return err
		}
	}
}

// bind binds the arguments of a statement. The caller frees the texts.
func (r raw) bind(statement uintptr, values []driver.NamedValue) (texts []uintptr, err error) {
	if count := sqlite3.Xsqlite3_bind_parameter_count(r.tls, statement); int(count) != len(values) {
		return nil, fmt.Errorf("%d arguments, want %d", len(values), count)
	}
	for i, value := range values {
		var code int32
		at := int32(i + 1) //nolint:gosec // few arguments
		switch value := value.Value.(type) {
		case int64:
			code = sqlite3.Xsqlite3_bind_int64(r.tls, statement, at, value)
		case string:
			text, err := libc.CString(value)
			if err != nil {
				return texts, err
			}
			texts = append(texts, text)
			code = sqlite3.Xsqlite3_bind_text(r.tls, statement, at, text, int32(len(value)), sqlite3.SQLITE_STATIC) //nolint:gosec // bounded by requests
		default:
			return texts, fmt.Errorf("argument %d is a %T, want a text or a number", i+1, value)
		}
		if code != sqlite3.SQLITE_OK {
			return texts, rawError(code)
		}
	}
	return texts, nil
}
