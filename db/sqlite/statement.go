package sqlite

import (
	"database/sql/driver"
	"fmt"
	"math"
	"strings"
	"unsafe"

	sqlite3 "modernc.org/sqlite/lib"
)

// statement is a prepared statement.
type statement struct {
	conn    *conn
	handle  uintptr
	text    string
	params  int  // how many arguments it takes
	reading bool // its result is being read, so that it cannot run again yet
	cached  bool

	// memory of the library has the texts of the arguments until the statement runs again.
	memory uintptr
	size   int // of memory, in bytes

	footprint  *footprint // nil until it is needed
	generation int64      // of footprints
	touched    touch      // what the statement last added to touched.set
	batch      int64      // of touched
}

// RawRow is a row in SQLite's own memory. It is valid only while the function runs that
// gets it.
type RawRow struct{ statement *statement }

// Text returns a column as text, which must be neither kept nor changed. It is empty for
// NULL.
func (r RawRow) Text(column int) []byte {
	return textOf(r.statement.conn.tls, r.statement.column(column))
}

// prepare prepares a statement. A text without a statement, or with several, is an error.
func (c *conn) prepare(query string) (*statement, error) {
	// The text with its end, and two pointers before it.
	size := 2*pointerSize + len(query) + 1
	out, err := c.allocate(size)
	if err != nil {
		return nil, err
	}
	defer sqlite3.Xsqlite3_free(c.tls, out)
	rest, text := out+uintptr(pointerSize), out+uintptr(2*pointerSize)
	*as[*uintptr](out) = 0
	memory(text, len(query)+1)[copy(memory(text, len(query)+1), query)] = 0
	if err := c.check(sqlite3.Xsqlite3_prepare_v2(c.tls, c.handle, text, int32(len(query)+1), out, rest)); err != nil { //nolint:gosec // SQLite's limit is less
		return nil, err
	}
	s := &statement{conn: c, text: query, handle: *as[*uintptr](out)}
	if s.handle == 0 || strings.Trim(query[*as[*uintptr](rest)-text:], "; \t\r\n") != "" {
		s.finalize()
		return nil, fmt.Errorf("%q is not one statement", query)
	}
	s.params = int(sqlite3.Xsqlite3_bind_parameter_count(c.tls, s.handle))
	return s, nil
}

// allocate returns memory of the library, which the caller frees.
func (c *conn) allocate(size int) (uintptr, error) {
	found := sqlite3.Xsqlite3_malloc64(c.tls, uint64(size)) //nolint:gosec // not negative
	if found == 0 {
		return 0, c.check(sqlite3.SQLITE_NOMEM)
	}
	return found, nil
}

// step runs a statement up to its next row; false if there is none.
func (s *statement) step() (bool, error) {
	switch code := sqlite3.Xsqlite3_step(s.conn.tls, s.handle); code {
	case sqlite3.SQLITE_ROW:
		return true, nil
	case sqlite3.SQLITE_DONE:
		return false, nil
	case sqlite3.SQLITE_TOOBIG:
		return false, ErrTooLong
	default:
		return false, s.conn.check(code)
	}
}

// reset ends the run of a statement. It reports the failure of a step again.
func (s *statement) reset() int32 { return sqlite3.Xsqlite3_reset(s.conn.tls, s.handle) }

// end ends the run of a statement, which can run again if it is cached.
func (s *statement) end() {
	if !s.cached {
		s.finalize()
		return
	}
	s.reset()
	if s.size > maxKept {
		sqlite3.Xsqlite3_clear_bindings(s.conn.tls, s.handle)
		s.free()
	}
}

// maxKept bounds the memory that a statement keeps for its arguments.
const maxKept = 4 << 10

func (s *statement) finalize() {
	sqlite3.Xsqlite3_finalize(s.conn.tls, s.handle)
	s.free()
}

func (s *statement) free() {
	sqlite3.Xsqlite3_free(s.conn.tls, s.memory)
	s.memory, s.size = 0, 0
}

// column returns the value of a column of the row.
func (s *statement) column(at int) uintptr {
	return sqlite3.Xsqlite3_column_value(s.conn.tls, s.handle, int32(at)) //nolint:gosec // few columns
}

// values copies the columns of the row into values of that length; nil makes them.
func (s *statement) values(into Values) Values {
	if into == nil {
		into = make(Values, sqlite3.Xsqlite3_column_count(s.conn.tls, s.handle))
	}
	for i := range into {
		into[i] = valueOf(s.conn.tls, s.column(i))
	}
	return into
}

// bind binds the arguments. It converts them into the few types of SQLite, as
// database/sql does.
func (s *statement) bind(args []any) error {
	if len(args) < s.params {
		return fmt.Errorf("%d arguments of %q, want %d", len(args), s.text, s.params)
	}
	var space [16]driver.Value
	values, size := space[:0], 0
	for i, arg := range args[:s.params] {
		value, err := driver.DefaultParameterConverter.ConvertValue(arg)
		if err != nil {
			return fmt.Errorf("argument %d of %q: %w", i+1, s.text, err)
		}
		switch value := value.(type) {
		case string:
			size += len(value) + 1
		case []byte:
			size += len(value) + 1
		}
		values = append(values, value)
	}
	if err := s.reserve(size); err != nil {
		return err
	}
	free := s.memory
	for i, value := range values {
		if err := s.bindOne(int32(i+1), value, &free); err != nil { //nolint:gosec // few arguments
			return fmt.Errorf("argument %d of %q: %w", i+1, s.text, err)
		}
	}
	return nil
}

// reserve makes room for the texts of the arguments. Those before are not valid any more.
func (s *statement) reserve(size int) error {
	if size <= s.size {
		return nil
	}
	sqlite3.Xsqlite3_clear_bindings(s.conn.tls, s.handle)
	s.free()
	size = max(size, 64)
	found, err := s.conn.allocate(size)
	if err == nil {
		s.memory, s.size = found, size
	}
	return err
}

// bindOne binds an argument. It copies a text to the free memory, which it advances. Even
// an empty text needs an address, or else SQLite takes it for NULL.
func (s *statement) bindOne(at int32, value driver.Value, free *uintptr) error {
	tls, address := s.conn.tls, *free
	var code int32
	switch value := value.(type) {
	case nil:
		code = sqlite3.Xsqlite3_bind_null(tls, s.handle, at)
	case int64:
		code = sqlite3.Xsqlite3_bind_int64(tls, s.handle, at, value)
	case bool:
		number := int64(0)
		if value {
			number = 1
		}
		code = sqlite3.Xsqlite3_bind_int64(tls, s.handle, at, number)
	case float64:
		code = sqlite3.Xsqlite3_bind_double(tls, s.handle, at, value)
	case string:
		if len(value) > math.MaxInt32 {
			return ErrTooLong
		}
		*free += uintptr(copy(memory(address, len(value)+1), value) + 1)
		code = sqlite3.Xsqlite3_bind_text(tls, s.handle, at, address, int32(len(value)), sqlite3.SQLITE_STATIC) //nolint:gosec // checked above
	case []byte:
		if len(value) > math.MaxInt32 {
			return ErrTooLong
		}
		if value == nil {
			address = 0 // NULL
		}
		*free += uintptr(copy(memory(*free, len(value)+1), value) + 1)
		code = sqlite3.Xsqlite3_bind_blob(tls, s.handle, at, address, int32(len(value)), sqlite3.SQLITE_STATIC) //nolint:gosec // checked above
	default:
		return fmt.Errorf("a %T can't be stored", value)
	}
	return s.conn.check(code)
}

// pointerSize is the size of an address of the library.
const pointerSize = int(unsafe.Sizeof(uintptr(0)))

// memory returns memory of the library.
func memory(address uintptr, size int) []byte {
	if address == 0 || size == 0 {
		return nil
	}
	return unsafe.Slice(as[*byte](address), size) //nolint:gosec // the size is the library's
}

// as converts an address or a function of the library to a Go value.
func as[T any](address uintptr) T {
	return *(*T)(unsafe.Pointer(&address)) //nolint:gosec // memory of the library, not of Go
}

// addressOf returns the address by which the library calls a function that is not a
// closure.
func addressOf[F any](function F) uintptr {
	return *(*uintptr)(unsafe.Pointer(&function)) //nolint:gosec // a function has one word
}
