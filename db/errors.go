package db

import (
	"context"
	"errors"
	"time"

	"govsvc/db/sqlite"
)

// Code is the kind of a failure that a caller of the store can act on.
type Code int

// The codes of Error.
const (
	// NotFound: no such record in this organisation.
	NotFound Code = iota + 1
	// Conflict: a record with this natural key or id already exists.
	Conflict
	// Invalid: the value of Param does not fit what is stored.
	Invalid
	// InvalidCursor: the cursor was not issued by this list of this file.
	InvalidCursor
	// KeyReused: the idempotency key belongs to another request.
	KeyReused
	// InFlight: another caller runs the same request.
	InFlight
	// Unavailable: the file cannot be read or written now. Nothing was done; the same
	// call may succeed later.
	Unavailable
	// Unauthenticated: name, password or code is wrong, or the session has ended.
	Unauthenticated
	// CodeNeeded: the password is right, and a code of the second factor is required.
	CodeNeeded
	// Throttled: too many failed attempts; RetryAfter says how long to wait.
	Throttled
	// Busy: too many callers wait for the same work; RetryAfter says how long to
	// wait. Nothing was done.
	Busy
	// SearchTimeout: a search took too long and was stopped.
	SearchTimeout
	// SearchBusy: too many searches of the same user wait.
	SearchBusy
)

// Error is a failure that a caller of the store can act on. Any other error is a defect
// of the program or a damaged file.
type Error struct {
	Code    Code
	Param   string // the member at fault, if one is
	Message string // for the user: what was wrong and what to do
	Err     error  // the cause, for the log
	// RetryAfter is how long to wait before the next attempt, after Throttled, Busy or
	// SearchBusy.
	RetryAfter time.Duration
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether err is an Error with this code.
func Is(err error, code Code) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// LacksSchema reports whether an error says that the file has no such table or
// column. A file of an older version can lack them.
func LacksSchema(err error) bool { return sqlite.LacksSchema(err) }

// StoreError gives an error of a read or a statement its meaning: an Error with the
// code NotFound if there is no row, or Unavailable if the file can't be used. It
// returns other errors unchanged.
func StoreError(err error) error {
	var known *Error
	switch {
	case err == nil, errors.As(err, &known), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, sqlite.ErrNoRows):
		return &Error{Code: NotFound, Message: "no such record"}
	case sqlite.IsTransient(err), errors.Is(err, context.DeadlineExceeded):
		return unavailable(err)
	}
	return err
}

func unavailable(cause error) error {
	return &Error{Code: Unavailable, Message: "the data file can't be used right now; nothing was done", Err: cause}
}
