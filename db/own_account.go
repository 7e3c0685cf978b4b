package db

import (
	"context"
	"errors"
)

// ChangeOwnPassword gives the session's user another password, if the current
// one is right, and ends the user's other sessions. The session goes on under
// the token that is returned. Errors: Invalid for either password, Throttled.
func (d *DB) ChangeOwnPassword(ctx context.Context, by Actor, s Session, current, next string) (token string, err error) {
	known, err := d.ownPassword(ctx, by, s, current, &Error{Code: Invalid, Param: "current", Message: "the current password is not this one"})
	if err != nil {
		return "", err
	}
	if form, ok := passwordForm(next); ok {
		if same, _ := passwordForm(current); form == same {
			return "", &Error{Code: Invalid, Param: "next", Message: "the new password is the current one; take another"}
		}
	}
	secret, err := d.newPassword(ctx, by.Address, "next", known.name, next)
	if err != nil {
		return "", err
	}
	if token, err = d.newToken(); err != nil {
		return "", err
	}
	err = d.writeUser(ctx, by, func(tx *Tx) error {
		if err := tx.alive(s); err != nil {
			return err
		}
		if err := tx.setPassword(known, secret, s); err != nil {
			return err
		}
		return tx.renewSession(s, token)
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

// ownPassword checks the password of the session's user, which is throttled. A
// wrong one is told to the audit log and refused with wrong.
func (d *DB) ownPassword(ctx context.Context, by Actor, s Session, plain string, wrong *Error) (credentials, error) {
	made, err := d.tries.take(d.Now(), subjectOf(perOwnPassword, "own password", s.User.ID))
	if err != nil {
		return credentials{}, err
	}
	known, right, err := d.recognise(ctx, by.Address, nameKey(s.User.Name), plain)
	if err != nil {
		d.tries.giveBack(made)
		return known, err
	}
	if !right || known.id != s.User.ID {
		return known, d.refuseOwn(ctx, by, s, wrongPassword, wrong)
	}
	d.tries.giveBack(made)
	return known, nil
}

// ConfirmSession notes that the session's user has just proved who it is, by a
// code of the second factor where one is on, or else by the password. Errors:
// Invalid for the param "secret", Throttled, Busy.
func (d *DB) ConfirmSession(ctx context.Context, by Actor, s Session, secret string) error {
	confirm := func(tx *Tx, method string) error {
		if _, err := tx.Exec("UPDATE sessions SET confirmed_at = ? WHERE token_hash = ?", tx.At(), []byte(s.hash)); err != nil {
			return err
		}
		return tx.auditUser("confirmed", Authentication, SeverityWrite, s.User.ID, Metadata{"method": method})
	}
	if s.User.SecondFactor {
		err := d.afterCode(ctx, s, secret, func(tx *Tx, _ int64) error { return confirm(tx, "code") })
		return forParam(err, "code", "secret")
	}
	known, err := d.ownPassword(ctx, by, s, secret, &Error{Code: Invalid, Param: "secret", Message: "this is not your password"})
	if err != nil {
		return err
	}
	return d.writeUser(ctx, by, func(tx *Tx) error {
		if err := tx.alive(s); err != nil {
			return err
		}
		// a second factor that was turned on since asks for a code
		on, err := tx.account(known.id)
		if err != nil {
			return err
		}
		if on {
			return &Error{Code: Conflict, Message: "a second factor has been turned on; reload the page and give a code"}
		}
		return confirm(tx, "password")
	})
}

// forParam names another member in an error about one.
func forParam(err error, from, to string) error {
	var refused *Error
	if errors.As(err, &refused) && refused.Param == from {
		other := *refused
		other.Param = to
		return &other
	}
	return err
}

// refuseOwn tells the audit log of a wrong password or code of one who is
// signed in, and returns the refusal.
func (d *DB) refuseOwn(ctx context.Context, by Actor, s Session, reason string, refusal *Error) error {
	err := d.writeUser(context.WithoutCancel(ctx), by, func(tx *Tx) error {
		return tx.auditUser("check_refused", Authentication, SeverityRefused, s.User.ID, Metadata{"reason": reason})
	})
	if err != nil {
		return err
	}
	return refusal
}
