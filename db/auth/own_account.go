package auth

import (
	"context"
	"errors"

	"govsvc/db"
)

// Account is what users change of their own accounts while they are signed in.
type Account struct {
	store     *db.DB
	passwords *passwordHasher
	throttle  *throttle
}

// ChangePassword gives the session's user another password, if the current
// one is right, and ends the user's other sessions. The session goes on under
// the token that is returned. Errors: Invalid for either password, Throttled.
func (a *Account) ChangePassword(ctx context.Context, by db.Actor, s Session, current, next string) (token string, err error) {
	known, err := a.ownPassword(ctx, by, s, current, &db.Error{Code: db.Invalid, Param: "current", Message: "the current password is not this one"})
	if err != nil {
		return "", err
	}
	if form, ok := passwordForm(next); ok {
		if same, _ := passwordForm(current); form == same {
			return "", &db.Error{Code: db.Invalid, Param: "next", Message: "the new password is the current one; take another"}
		}
	}
	secret, err := a.passwords.newPassword(ctx, by.Address, "next", known.name, next)
	if err != nil {
		return "", err
	}
	if token, err = newToken(a.store); err != nil {
		return "", err
	}
	err = writeUser(ctx, a.store, by, func(tx *db.Tx) error {
		if err := alive(tx, s); err != nil {
			return err
		}
		if err := setPassword(tx, known, secret, s); err != nil {
			return err
		}
		return renewSession(tx, s, token)
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

// ownPassword checks the password of the session's user, which is throttled. A
// wrong one is told to the audit log and refused with wrong.
func (a *Account) ownPassword(ctx context.Context, by db.Actor, s Session, plain string, wrong *db.Error) (credentials, error) {
	made, err := a.throttle.take(a.store.Now(), subjectOf(perOwnPassword, "own password", s.User.ID))
	if err != nil {
		return credentials{}, err
	}
	known, right, err := a.passwords.authenticate(ctx, by.Address, nameKey(s.User.Name), plain)
	if err != nil {
		a.throttle.giveBack(made)
		return known, err
	}
	if !right || known.id != s.User.ID {
		return known, a.refuseOwn(ctx, by, s, wrongPassword, wrong)
	}
	a.throttle.giveBack(made)
	return known, nil
}

// Confirm notes that the session's user has just proved who it is, by a
// code of the second factor where one is on, or else by the password. Errors:
// Invalid for the param "secret", Throttled, Busy.
func (a *Account) Confirm(ctx context.Context, by db.Actor, s Session, secret string) error {
	confirm := func(tx *db.Tx, method string) error {
		if _, err := tx.Exec("UPDATE sessions SET confirmed_at = ? WHERE token_hash = ?", tx.At(), []byte(s.hash)); err != nil {
			return err
		}
		return auditUser(tx, "confirmed", db.Authentication, db.SeverityWrite, s.User.ID, db.Metadata{"method": method})
	}
	if s.User.SecondFactor {
		err := a.afterCode(ctx, s, secret, func(tx *db.Tx, _ int64) error { return confirm(tx, "code") })
		return forParam(err, "code", "secret")
	}
	known, err := a.ownPassword(ctx, by, s, secret, &db.Error{Code: db.Invalid, Param: "secret", Message: "this is not your password"})
	if err != nil {
		return err
	}
	return writeUser(ctx, a.store, by, func(tx *db.Tx) error {
		if err := alive(tx, s); err != nil {
			return err
		}
		// a second factor that was turned on since asks for a code
		on, err := account(tx, known.id)
		if err != nil {
			return err
		}
		if on {
			return &db.Error{Code: db.Conflict, Message: "a second factor has been turned on; reload the page and give a code"}
		}
		return confirm(tx, "password")
	})
}

// forParam names another member in an error about one.
func forParam(err error, from, to string) error {
	var refused *db.Error
	if errors.As(err, &refused) && refused.Param == from {
		other := *refused
		other.Param = to
		return &other
	}
	return err
}

// refuseOwn tells the audit log of a wrong password or code of one who is
// signed in, and returns the refusal.
func (a *Account) refuseOwn(ctx context.Context, by db.Actor, s Session, reason string, refusal *db.Error) error {
	err := writeUser(context.WithoutCancel(ctx), a.store, by, func(tx *db.Tx) error {
		return auditUser(tx, "check_refused", db.Authentication, db.SeverityRefused, s.User.ID, db.Metadata{"reason": reason})
	})
	if err != nil {
		return err
	}
	return refusal
}
