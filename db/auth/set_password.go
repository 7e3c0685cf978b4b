package auth

import (
	"context"

	"govsvc/db"
	"govsvc/db/audit"
)

// errOwnAccount makes users change their own accounts through Account, which asks for
// the password or a code: a session may have been left open.
var errOwnAccount = &db.Error{Code: db.Conflict, Message: "this is your own account; change it on its page, which asks for the current password or a code"}

// SetPassword gives another user a new password and ends the sessions of that user.
// Errors: Invalid for the password; Conflict for the caller's own account, see
// Account.ChangePassword, and for one that the caller does not manage, see
// Memberships.ManagesAccount.
func (u *Users) SetPassword(ctx context.Context, by db.Actor, id, plain string) error {
	if by.ID == id {
		return errOwnAccount
	}
	stored, err := credentialsOf(ctx, u.store, "u.id = ?", id)
	if err != nil {
		return err
	}
	if stored.id == "" {
		return errNoUser
	}
	next, err := u.passwords.newPassword(ctx, by.Address, "password", stored.name, plain)
	if err != nil {
		return err
	}
	return writeAccount(ctx, u.store, by, func(tx *db.Tx) error {
		if err := requireManaged(tx, id); err != nil {
			return err
		}
		return setPassword(tx, stored, next, Session{})
	})
}

// setPassword replaces the password that was read and ends the user's sessions except
// one.
func setPassword(tx *db.Tx, stored credentials, next password, keep Session) error {
	changed, err := tx.Exec("UPDATE users SET salt = ?, password_hash = ?, updated_at = ? WHERE seq = ? AND id = ? AND password_hash = ?",
		next.salt, next.hash, tx.At(), stored.seq, stored.id, stored.hash)
	if err != nil {
		return err
	}
	if changed == 0 {
		return &db.Error{Code: db.Conflict, Message: "the user was changed or removed at the same time; try again"}
	}
	ended, err := endOtherSessions(tx, stored.seq, keep)
	if err != nil {
		return err
	}
	return auditUser(tx, "password_changed", audit.Authentication, audit.SeveritySettings, stored.id, audit.Metadata{"sessions_ended": ended})
}
