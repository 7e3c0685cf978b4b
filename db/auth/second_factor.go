package auth

import (
	"context"
	"encoding/base32"
	"net/url"

	"govsvc/db"
	"govsvc/db/audit"
)

// base32NoPadding encodes secrets for apps, and recovery codes.
var base32NoPadding = base32.StdEncoding.WithPadding(base32.NoPadding)

// SecondFactor is what a user enters in an authenticator app, by hand or by QR code.
type SecondFactor struct {
	Secret string // base32
	URI    string // otpauth://, for a QR code
}

func secondFactorOf(name string, secret []byte) SecondFactor {
	text := base32NoPadding.EncodeToString(secret)
	query := url.Values{"secret": {text}, "issuer": {"govsvc"}, "algorithm": {"SHA1"}, "digits": {"6"}, "period": {"30"}}
	return SecondFactor{text, "otpauth://totp/govsvc:" + url.PathEscape(name) + "?" + query.Encode()}
}

var errSecondFactorOn = &db.Error{Code: db.Conflict, Message: "a second factor is already on; turn it off before you set up another"}

// BeginSecondFactor returns a secret for the session's user. Later calls in the session
// return the same secret. It has no effect until ConfirmSecondFactor, and is removed with
// the session. Conflict if a second factor is on.
func (a *Account) BeginSecondFactor(ctx context.Context, session Session) (SecondFactor, error) {
	fresh, err := a.store.RandomBytes(totpSecret)
	if err != nil {
		return SecondFactor{}, err
	}
	var secret []byte
	err = a.store.Maintain(ctx, func(tx *db.Tx) error { // audited when it is confirmed
		if err := requireSession(tx, session); err != nil {
			return err
		}
		on, err := hasSecondFactor(tx, session.User.ID)
		if err != nil {
			return err
		}
		if on {
			return errSecondFactorOn
		}
		return db.StoreError(tx.Returning("UPDATE sessions SET totp_secret = coalesce(totp_secret, ?) WHERE token_hash = ? RETURNING totp_secret",
			fresh, []byte(session.hash)).Scan(&secret))
	})
	if err != nil {
		return SecondFactor{}, err
	}
	return secondFactorOf(session.User.Name, secret), nil
}

// ConfirmSecondFactor turns on the second factor that the session began to set up, if its
// code is correct. It is the only function that returns the recovery codes. The session
// continues with the returned token, and the user's other sessions end. Errors: Invalid
// for the code; Conflict if the session did not begin a setup or a second factor is on.
func (a *Account) ConfirmSecondFactor(ctx context.Context, session Session, code string) (codes []string, token string, err error) {
	texts, err := newRecoveryCodes(a.store)
	if err != nil {
		return nil, "", err
	}
	if token, err = newToken(a.store); err != nil {
		return nil, "", err
	}
	err = a.store.Write(ctx, session.Actor(), func(tx *db.Tx) error {
		if err := requireSession(tx, session); err != nil {
			return err
		}
		var seq int64
		var secret []byte
		if err := tx.Row("SELECT user_seq, totp_secret FROM sessions WHERE token_hash = ?", []byte(session.hash)).Scan(&seq, &secret); err != nil {
			return db.StoreError(err)
		}
		if secret == nil {
			return &db.Error{Code: db.Conflict, Message: "this session has not begun to set up a second factor; start again"}
		}
		step, ok := totpStep(secret, code, tx.Now())
		if !ok {
			return &db.Error{Code: db.Invalid, Param: "code", Message: "this is not the current code; enter the one that the app shows, and check the clock of the device"}
		}
		if err := turnOnSecondFactor(tx, session, seq, secret, step, texts); err != nil {
			return err
		}
		return renewSession(tx, session, token)
	})
	if err != nil {
		return nil, "", err
	}
	return texts, token, nil
}

func turnOnSecondFactor(tx *db.Tx, s Session, seq int64, secret []byte, step int64, texts []string) error {
	changed, err := tx.Exec("UPDATE users SET totp_secret = ?, totp_step = ?, updated_at = ? WHERE seq = ? AND totp_secret IS NULL", secret, step, tx.At(), seq)
	if err != nil {
		return err
	}
	if changed == 0 {
		return errSecondFactorOn
	}
	if _, err := tx.Exec("UPDATE sessions SET totp_secret = NULL WHERE user_seq = ?", seq); err != nil {
		return err
	}
	if err := storeRecoveryCodes(tx, seq, texts); err != nil {
		return err
	}
	ended, err := endOtherSessions(tx, seq, s)
	if err != nil {
		return err
	}
	return auditUser(tx, "second_factor_added", audit.Authentication, audit.SeveritySettings, s.User.ID, audit.Metadata{"sessions_ended": ended})
}

// RemoveSecondFactor turns off the second factor of the session's user after a code of
// it. It ends the user's other sessions. The session continues with the returned token.
// Errors as with NewRecoveryCodes.
func (a *Account) RemoveSecondFactor(ctx context.Context, session Session, code string) (token string, err error) {
	if token, err = newToken(a.store); err != nil {
		return "", err
	}
	err = a.changeWithCode(ctx, session, code, func(tx *db.Tx, seq int64) error {
		if err := removeSecondFactor(tx, seq, session.User.ID, session); err != nil {
			return err
		}
		return renewSession(tx, session, token)
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

// RemoveSecondFactor turns off a lost second factor of another user and ends the user's
// sessions. It does nothing if no second factor is on. Conflict for
// the caller's own account, see Account.RemoveSecondFactor, and for one that the caller
// does not manage, see Memberships.ManagesAccount.
func (u *Users) RemoveSecondFactor(ctx context.Context, by db.Actor, userID string) error {
	if by.ID == userID {
		return errOwnAccount
	}
	return writeAccount(ctx, u.store, by, func(tx *db.Tx) error {
		on, err := hasSecondFactor(tx, userID)
		if err == nil {
			err = requireManaged(tx, userID)
		}
		if err != nil || !on {
			return err
		}
		var seq int64
		if err := tx.Row("SELECT seq FROM users WHERE id = ?", userID).Scan(&seq); err != nil {
			return db.StoreError(err)
		}
		return removeSecondFactor(tx, seq, userID, Session{})
	})
}

// removeSecondFactor turns a second factor off and ends the user's sessions except one.
func removeSecondFactor(tx *db.Tx, seq int64, userID string, keep Session) error {
	if _, err := tx.Exec("UPDATE users SET totp_secret = NULL, updated_at = ? WHERE seq = ?", tx.At(), seq); err != nil {
		return err
	}
	if _, err := tx.Exec("DELETE FROM recovery_codes WHERE user_seq = ?", seq); err != nil {
		return err
	}
	ended, err := endOtherSessions(tx, seq, keep)
	if err != nil {
		return err
	}
	return auditUser(tx, "second_factor_removed", audit.Authentication, audit.SeveritySettings, userID, audit.Metadata{"sessions_ended": ended})
}

// changeWithCode runs a change for the session's user if the code is right. A wrong code
// is counted and recorded in the audit log.
func (a *Account) changeWithCode(ctx context.Context, session Session, code string, change func(tx *db.Tx, seq int64) error) error {
	codes := subjectOf(perCode, "code", session.User.ID)
	made, err := a.throttle.begin(a.store.Now(), codes)
	if err != nil {
		return err
	}
	wrong := false
	err = a.store.Write(ctx, session.Actor(), func(tx *db.Tx) error {
		wrong = false
		if err := requireSession(tx, session); err != nil {
			return err
		}
		var seq int64
		var on bool
		err := tx.Row("SELECT seq, totp_secret IS NOT NULL FROM users WHERE id = ?", session.User.ID).Scan(&seq, &on)
		if err != nil {
			return db.StoreError(err)
		}
		if !on {
			return &db.Error{Code: db.Conflict, Message: "no second factor is on"}
		}
		if factor, err := useCode(tx, seq, code); err != nil {
			return err
		} else if factor == "" {
			wrong = true
			return nil
		}
		return change(tx, seq)
	})
	switch {
	case err != nil:
		a.throttle.refund(made)
	case wrong:
		err = a.auditRefusal(ctx, session.Actor(), session, wrongCode, &db.Error{Code: db.Invalid, Param: "code", Message: errWrongCode.Message})
	default:
		a.throttle.reset(codes)
	}
	return err
}
