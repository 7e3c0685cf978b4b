package db

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Code tells the kinds of failure that a caller of the store can act on.
type Code int

// The codes of Error.
const (
	// NotFound: no such record in this organisation.
	NotFound Code = iota + 1
	// Conflict: a record with this natural key or id is there already.
	Conflict
	// Invalid: the value of Param does not fit what is stored.
	Invalid
	// InvalidCursor: the cursor was not issued by this list of this file.
	InvalidCursor
	// KeyReused: the idempotency key belongs to another request.
	KeyReused
	// InFlight: the same request is being done by somebody else.
	InFlight
	// Unavailable: the file can't be read or written now. Nothing was done; the
	// same call may go through later.
	Unavailable
	// Unauthenticated: name, password or code is wrong, or the session has ended.
	Unauthenticated
	// CodeNeeded: the password is right, and a code of the second factor is
	// wanted too.
	CodeNeeded
	// Throttled: too many wrong tries; RetryAfter says how long to wait.
	Throttled
	// Busy: too many callers wait for the same work; RetryAfter says how long to
	// wait. Nothing was done.
	Busy
	// SearchTimeout: a search took too long and was stopped.
	SearchTimeout
	// SearchBusy: too many searches of the same user wait for their turn.
	SearchBusy
)

// Error is a failure that the store's caller can act on. Any other error is a
// defect or a broken file.
type Error struct {
	Code    Code
	Param   string // the member at fault, if one is
	Message string // for the user: what was wrong and what to do
	Err     error  // the cause, for the log
	// RetryAfter is how long to wait before the next try; Throttled and Busy only.
	RetryAfter time.Duration
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is tells whether err is an Error with this code.
func Is(err error, code Code) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// sqliteCode is SQLite's extended result code, 0 where err is another's.
func sqliteCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

// unique tells whether err is a violated UNIQUE or PRIMARY KEY.
func unique(err error) bool {
	code := sqliteCode(err)
	return code == sqlite3.SQLITE_CONSTRAINT_UNIQUE || code == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
}

// isTransient tells the failures of the file's surroundings, which may be gone at
// the next call, from those of the statement.
func isTransient(err error) bool {
	switch sqliteCode(err) & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR,
		sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PROTOCOL:
		return true
	}
	return false
}

// corrupt tells the failures of a file that is damaged, or none of SQLite's.
func corrupt(err error) bool {
	code := sqliteCode(err) & 0xff
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}

// full tells whether there was no room for more.
func full(err error) bool { return sqliteCode(err)&0xff == sqlite3.SQLITE_FULL }

// busy tells whether another process has the lock.
func busy(err error) bool { return sqliteCode(err)&0xff == sqlite3.SQLITE_BUSY }

// removedBefore tells whether SQLite meant to remove what is left of a file that
// is gone, and another process, opening the new one too, was sooner. It is gone
// then, and who opens the file again does not meet it.
func removedBefore(err error) bool { return sqliteCode(err) == sqlite3.SQLITE_IOERR_DELETE_NOENT }

// readOnly tells whether the connection may read only.
func readOnly(err error) bool { return sqliteCode(err)&0xff == sqlite3.SQLITE_READONLY }

// storeError gives an error of the driver its meaning.
func storeError(err error) error {
	var known *Error
	switch {
	case err == nil, errors.As(err, &known), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, sql.ErrNoRows):
		return &Error{Code: NotFound, Message: "no such record"}
	case isTransient(err), errors.Is(err, context.DeadlineExceeded):
		return unavailable(err)
	}
	return err
}

func unavailable(cause error) error {
	return &Error{Code: Unavailable, Message: "the data file can't be used right now; nothing was done", Err: cause}
}
