package auth

import (
	"context"
	"errors"

	"govsvc/db"
	"govsvc/db/audit"
)

// Account changes the account of the signed-in user.
type Account struct {
	store     *db.DB
	passwords *passwordHasher
	throttle  *throttle
}

// ChangePassword replaces the password of the session's user if the current one is right.
// It ends the user's other sessions. The session continues with the returned token.
// Errors: Invalid for either password, Throttled.
func (a *Account) ChangePassword(ctx context.Context, by db.Actor, session Session, current, next string) (token string, err error) {
	known, err := a.verifyPassword(ctx, by, session, current, &db.Error{Code: db.Invalid, Param: "current", Message: "this is not your current password"})
	if err != nil {
		return "", err
	}
	if form, ok := passwordForm(next); ok {
		if same, _ := passwordForm(current); form == same {
			return "", &db.Error{Code: db.Invalid, Param: "next", Message: "the new password is the current one; choose another"}
		}
	}
	secret, err := a.passwords.newPassword(ctx, by.Address, "next", known.name, next)
	if err != nil {
		return "", err
	}
	if token, err = newToken(a.store); err != nil {
		return "", err
	}
	err = writeAccount(ctx, a.store, by, func(tx *db.Tx) error {
		if err := requireSession(tx, session); err != nil {
			return err
		}
		if err := setPassword(tx, known, secret, session); err != nil {
			return err
		}
		return renewSession(tx, session, token)
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

// verifyPassword checks the password of the session's user and counts failed attempts.
// The audit log records a wrong password. The error is then wrong.
func (a *Account) verifyPassword(ctx context.Context, by db.Actor, session Session, plain string, wrong *db.Error) (credentials, error) {
	made, err := a.throttle.begin(a.store.Now(), subjectOf(perOwnPassword, "own password", session.User.ID))
	if err != nil {
		return credentials{}, err
	}
	known, right, err := a.passwords.authenticate(ctx, by.Address, nameKey(session.User.Name), plain)
	if err != nil {
		a.throttle.refund(made)
		return known, err
	}
	if !right || known.id != session.User.ID {
		return known, a.auditRefusal(ctx, by, session, wrongPassword, wrong)
	}
	a.throttle.refund(made)
	return known, nil
}

// Confirm records that the session's user has just given a code of the second factor or,
// without a second factor, the password. Errors: Invalid for the parameter "secret",
// Throttled, Busy.
func (a *Account) Confirm(ctx context.Context, by db.Actor, session Session, secret string) error {
	confirm := func(tx *db.Tx, method string) error {
		if _, err := tx.Exec("UPDATE sessions SET confirmed_at = ? WHERE token_hash = ?", tx.At(), []byte(session.hash)); err != nil {
			return err
		}
		return auditUser(tx, "confirmed", audit.Authentication, audit.SeverityWrite, session.User.ID, audit.Metadata{"method": method})
	}
	if session.User.SecondFactor {
		err := a.changeWithCode(ctx, session, secret, func(tx *db.Tx, _ int64) error { return confirm(tx, "code") })
		return forParam(err, "code", "secret")
	}
	known, err := a.verifyPassword(ctx, by, session, secret, &db.Error{Code: db.Invalid, Param: "secret", Message: "this is not your password"})
	if err != nil {
		return err
	}
	return writeAccount(ctx, a.store, by, func(tx *db.Tx) error {
		if err := requireSession(tx, session); err != nil {
			return err
		}
		// The user may have turned on a second factor since the session was read.
		on, err := hasSecondFactor(tx, known.id)
		if err != nil {
			return err
		}
		if on {
			return &db.Error{Code: db.Conflict, Message: "a second factor has been turned on; reload the page and enter a code"}
		}
		return confirm(tx, "password")
	})
}

// forParam replaces the parameter that an error names.
func forParam(err error, from, to string) error {
	var refused *db.Error
	if errors.As(err, &refused) && refused.Param == from {
		other := *refused
		other.Param = to
		return &other
	}
	return err
}

// auditRefusal records a wrong password or code of the signed-in user, and returns the
// refusal.
func (a *Account) auditRefusal(ctx context.Context, by db.Actor, session Session, reason string, refusal *db.Error) error {
	err := writeAccount(context.WithoutCancel(ctx), a.store, by, func(tx *db.Tx) error {
		return auditUser(tx, "check_refused", audit.Authentication, audit.SeverityRefused, session.User.ID, audit.Metadata{"reason": reason})
	})
	if err != nil {
		return err
	}
	return refusal
}
