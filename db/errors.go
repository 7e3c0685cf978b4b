package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// ErrDamaged is part of the errors that say what to do about a damaged file.
var ErrDamaged = errors.New("is damaged")

// isUnexplainedDamage reports whether err is of a damaged file and has no advice yet.
func isUnexplainedDamage(err error) bool { return sqlite.IsCorrupt(err) && !errors.Is(err, ErrDamaged) }

var errForeign = errors.New("is not a govsvc data file")

// withAdvice says what to do about a damaged file, or one that this user is not allowed
// to use, unless err says so already.
func withAdvice(err error) error {
	switch {
	case isUnexplainedDenial(err):
		return explainDenial(err)
	case isUnexplainedDamage(err):
		return fmt.Errorf("%w: %w; keep it, and restore an intact backup (`govsvc restore --help`)", ErrDamaged, err)
	}
	return err
}

var errDenied = errors.New("this user is not allowed to use it")

// isUnexplainedDenial reports whether SQLite could only read the file, and err has no
// advice yet.
func isUnexplainedDenial(err error) bool {
	return sqlite.IsDenied(err) && !errors.Is(err, errDenied)
}

// explainPermission does the same as explainDenial for errors of the operating system.
func explainPermission(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return explainDenial(err)
	}
	return err
}

// explainDenial says what to do if the system does not allow this user to use the file.
func explainDenial(err error) error {
	var known *Error
	if errors.As(err, &known) && known.Err != nil {
		err = known.Err // without "right now", because the denial stays
	}
	return fmt.Errorf("%w: %w; run as the owner of the file, or let this user write the file and its folder", errDenied, err)
}

// Explain adds the path and what to do to an error of a damaged file. It does the same
// if this user is not allowed to use the file.
func (f File) Explain(err error) error {
	if !isUnexplainedDamage(err) && !isUnexplainedDenial(err) {
		return err
	}
	return fmt.Errorf("%s: %w", f.Path(), withAdvice(err))
}
