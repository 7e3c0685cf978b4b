package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"

	modernc "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrNoRows is what Scan returns if the query has no row. It is never wrapped.
var ErrNoRows = sql.ErrNoRows

var (
	// ErrStop ends Each without an error, if the function that Each calls returns it.
	ErrStop = errors.New("no more rows are wanted")
	// ErrClosed is returned after Close. The text is that of database/sql.
	ErrClosed = errors.New("sql: database is closed")
	// ErrWriterBusy is returned if a write waited too long for other writes.
	ErrWriterBusy = errors.New("waited too long for other writers")
	// ErrForeign is returned for a file that is another program's or no SQLite file.
	ErrForeign = errors.New("is not a file of this program")
	// ErrReplaced is returned if the file was replaced while Open opened it.
	ErrReplaced = errors.New("was replaced while it was being opened; try again")
	// ErrInUse is returned by Lock if another process has the file open.
	ErrInUse = errors.New("is in use by another process")
	// ErrTooLong is returned if a query reads or computes a longer text than it may.
	ErrTooLong = errors.New("a text is longer than the query may read")
	// ErrNotRegular matches the errors of RequireRegular.
	ErrNotRegular = errors.New("is not a regular file")
)

// notRegular is an error that matches ErrNotRegular.
type notRegular string

func (e notRegular) Error() string { return string(e) }

// Is reports whether the target is ErrNotRegular.
func (e notRegular) Is(target error) bool { return target == ErrNotRegular }

// libraryError is an error of the SQLite library.
type libraryError struct {
	code int // extended
	text string
}

// Error returns the text and the code, in the form of the driver's errors.
func (e *libraryError) Error() string { return fmt.Sprintf("%s (%d)", e.text, e.code) }

// code returns SQLite's extended result code, or 0 if err is not an error of SQLite.
func code(err error) int {
	var ours *libraryError
	if errors.As(err, &ours) {
		return ours.code
	}
	var driver *modernc.Error // see SingleTx
	if errors.As(err, &driver) {
		return driver.Code()
	}
	return 0
}

func primaryCode(err error) int { return code(err) & 0xff }

// IsUnique reports whether a UNIQUE or PRIMARY KEY constraint failed.
func IsUnique(err error) bool {
	c := code(err)
	return c == sqlite3.SQLITE_CONSTRAINT_UNIQUE || c == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
}

// IsTransient reports whether the disk, a lock, the system or a queue caused a
// failure, rather than the statement. The same call can succeed later.
func IsTransient(err error) bool { return isTransient(err) || errors.Is(err, ErrWriterBusy) }

func isTransient(err error) bool {
	switch primaryCode(err) {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR,
		sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PROTOCOL:
		return true
	}
	return false
}

// IsCorrupt reports whether the file is damaged or no SQLite file.
func IsCorrupt(err error) bool {
	c := primaryCode(err)
	return c == sqlite3.SQLITE_CORRUPT || c == sqlite3.SQLITE_NOTADB
}

// IsCorruptTable reports whether the content of a virtual table is damaged.
func IsCorruptTable(err error) bool { return code(err) == sqlite3.SQLITE_CORRUPT_VTAB }

// IsBusy reports whether another process holds the lock.
func IsBusy(err error) bool { return primaryCode(err) == sqlite3.SQLITE_BUSY }

// IsDenied reports whether the system lets this user only read the file. A file
// that was moved while it was open does not count.
func IsDenied(err error) bool {
	return isReadOnly(err) && code(err) != sqlite3.SQLITE_READONLY_DBMOVED
}

// LacksSchema reports whether the file has no such table or column. A file of an
// older version can lack them.
func LacksSchema(err error) bool {
	return primaryCode(err) == sqlite3.SQLITE_ERROR && strings.Contains(err.Error(), "no such ")
}

// isFull reports whether the disk is full.
func isFull(err error) bool { return primaryCode(err) == sqlite3.SQLITE_FULL }

// isReadOnly reports whether the connection can only read.
func isReadOnly(err error) bool { return primaryCode(err) == sqlite3.SQLITE_READONLY }

// isDeleteRace reports whether SQLite failed to delete a leftover file because
// another process had already deleted it. Opening the file again succeeds.
func isDeleteRace(err error) bool { return code(err) == sqlite3.SQLITE_IOERR_DELETE_NOENT }

// LibraryVersion is the version of the SQLite library, for example 3.53.4.
const LibraryVersion = sqlite3.SQLITE_VERSION
