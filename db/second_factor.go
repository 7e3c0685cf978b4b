package db

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"net/url"
	"strings"
)

// recoveryCodes is how many of them a user gets at a time.
const recoveryCodes = 10

// base32Text is how apps take secrets, and how recovery codes are written.
var base32Text = base32.StdEncoding.WithPadding(base32.NoPadding)

// SecondFactor is what an authenticator app is told, by hand or by a picture.
type SecondFactor struct {
	Secret string // base32
	URI    string // otpauth://, for a QR picture
}

func secondFactorOf(name string, secret []byte) SecondFactor {
	text := base32Text.EncodeToString(secret)
	query := url.Values{"secret": {text}, "issuer": {"govsvc"}, "algorithm": {"SHA1"}, "digits": {"6"}, "period": {"30"}}
	return SecondFactor{text, "otpauth://totp/govsvc:" + url.PathEscape(name) + "?" + query.Encode()}
}

var errSecondFactorOn = &Error{Code: Conflict, Message: "a second factor is on already; turn it off before you set up another"}

// BeginSecondFactor makes a secret for the session's user, or gives the one
// that the session has begun with. It counts for nothing until a code confirms
// it, and goes with the session. Conflict if a second factor is on.
func (d *DB) BeginSecondFactor(ctx context.Context, s Session) (SecondFactor, error) {
	fresh, err := d.random(totpSecret)
	if err != nil {
		return SecondFactor{}, err
	}
	var secret []byte
	err = d.maintain(ctx, func(tx *Tx) error { // nothing to tell of before it is confirmed
		if err := tx.alive(s); err != nil {
			return err
		}
		on, err := tx.account(s.User.ID)
		if err != nil {
			return err
		}
		if on {
			return errSecondFactorOn
		}
		return storeError(tx.Returning("UPDATE sessions SET totp_secret = coalesce(totp_secret, ?) WHERE token_hash = ? RETURNING totp_secret",
			fresh, []byte(s.hash)).Scan(&secret))
	})
	if err != nil {
		return SecondFactor{}, err
	}
	return secondFactorOf(s.User.Name, secret), nil
}

// ConfirmSecondFactor turns on the second factor that the session has begun
// with, after a code of it, and returns the recovery codes for the only time.
// The session goes on under the token that is returned, and the user's other
// sessions end. Errors: Invalid for the code; Conflict if nothing was begun or
// a second factor is on.
func (d *DB) ConfirmSecondFactor(ctx context.Context, s Session, code string) (codes []string, token string, err error) {
	texts, err := d.newRecoveryCodes()
	if err != nil {
		return nil, "", err
	}
	if token, err = d.newToken(); err != nil {
		return nil, "", err
	}
	err = d.Write(ctx, s.Actor(), func(tx *Tx) error {
		if err := tx.alive(s); err != nil {
			return err
		}
		var seq int64
		var secret []byte
		if err := tx.Row("SELECT user_seq, totp_secret FROM sessions WHERE token_hash = ?", []byte(s.hash)).Scan(&seq, &secret); err != nil {
			return storeError(err)
		}
		if secret == nil {
			return &Error{Code: Conflict, Message: "no second factor was begun in this session; begin anew"}
		}
		step, ok := totpStep(secret, code, tx.now)
		if !ok {
			return &Error{Code: Invalid, Param: "code", Message: "this is not the code of now; enter the one that the app shows, and check the clock of its device"}
		}
		if err := tx.turnOnSecondFactor(s, seq, secret, step, texts); err != nil {
			return err
		}
		return tx.renewSession(s, token)
	})
	if err != nil {
		return nil, "", err
	}
	return texts, token, nil
}

func (tx *Tx) turnOnSecondFactor(s Session, seq int64, secret []byte, step int64, texts []string) error {
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
	if err := tx.storeRecoveryCodes(seq, texts); err != nil {
		return err
	}
	ended, err := tx.endOtherSessions(seq, s)
	if err != nil {
		return err
	}
	return tx.auditUser("second_factor_added", Authentication, SeveritySettings, s.User.ID, Metadata{"sessions_ended": ended})
}

// NewRecoveryCodes replaces the recovery codes of the session's user, after a
// code of the second factor, and returns the new ones for the only time.
// Errors: Invalid for the code, Conflict without a second factor, Throttled.
func (d *DB) NewRecoveryCodes(ctx context.Context, s Session, code string) ([]string, error) {
	texts, err := d.newRecoveryCodes()
	if err != nil {
		return nil, err
	}
	err = d.afterCode(ctx, s, code, func(tx *Tx, seq int64) error {
		if err := tx.storeRecoveryCodes(seq, texts); err != nil {
			return err
		}
		return tx.auditUser("recovery_codes_made", Authentication, SeveritySettings, s.User.ID, nil)
	})
	if err != nil {
		return nil, err
	}
	return texts, nil
}

// RemoveOwnSecondFactor turns off the second factor of the session's user,
// after a code of it, and ends the user's other sessions. The session goes on
// under the token that is returned. Errors as with NewRecoveryCodes.
func (d *DB) RemoveOwnSecondFactor(ctx context.Context, s Session, code string) (token string, err error) {
	if token, err = d.newToken(); err != nil {
		return "", err
	}
	err = d.afterCode(ctx, s, code, func(tx *Tx, seq int64) error {
		if err := tx.removeSecondFactor(seq, s.User.ID, s); err != nil {
			return err
		}
		return tx.renewSession(s, token)
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

// RemoveSecondFactor turns off another user's second factor and ends its
// sessions: an administrator's help for one who has lost it. One that is off
// stays so. Conflict for the caller's own account, see RemoveOwnSecondFactor, and
// for one that the caller does not manage, see ManagesAccount.
func (d *DB) RemoveSecondFactor(ctx context.Context, by Actor, userID string) error {
	if by.ID == userID {
		return errOwnAccount
	}
	return d.writeUser(ctx, by, func(tx *Tx) error {
		on, err := tx.account(userID)
		if err == nil {
			err = tx.manage(userID)
		}
		if err != nil || !on {
			return err
		}
		var seq int64
		if err := tx.Row("SELECT seq FROM users WHERE id = ?", userID).Scan(&seq); err != nil {
			return storeError(err)
		}
		return tx.removeSecondFactor(seq, userID, Session{})
	})
}

// removeSecondFactor turns a second factor off and ends the user's sessions
// but the one to keep.
func (tx *Tx) removeSecondFactor(seq int64, userID string, keep Session) error {
	if _, err := tx.Exec("UPDATE users SET totp_secret = NULL, updated_at = ? WHERE seq = ?", tx.At(), seq); err != nil {
		return err
	}
	if _, err := tx.Exec("DELETE FROM recovery_codes WHERE user_seq = ?", seq); err != nil {
		return err
	}
	ended, err := tx.endOtherSessions(seq, keep)
	if err != nil {
		return err
	}
	return tx.auditUser("second_factor_removed", Authentication, SeveritySettings, userID, Metadata{"sessions_ended": ended})
}

// afterCode makes a change for the session's user if the code is right. A
// wrong one is counted and told to the audit log.
func (d *DB) afterCode(ctx context.Context, s Session, code string, change func(tx *Tx, seq int64) error) error {
	tries := subjectOf(perCode, "code", s.User.ID)
	made, err := d.tries.take(d.Now(), tries)
	if err != nil {
		return err
	}
	wrong := false
	err = d.Write(ctx, s.Actor(), func(tx *Tx) error {
		wrong = false
		if err := tx.alive(s); err != nil {
			return err
		}
		var seq int64
		var on bool
		err := tx.Row("SELECT seq, totp_secret IS NOT NULL FROM users WHERE id = ?", s.User.ID).Scan(&seq, &on)
		if err != nil {
			return storeError(err)
		}
		if !on {
			return &Error{Code: Conflict, Message: "no second factor is on"}
		}
		if factor, err := tx.useCode(seq, code); err != nil {
			return err
		} else if factor == "" {
			wrong = true
			return nil
		}
		return change(tx, seq)
	})
	switch {
	case err != nil:
		d.tries.giveBack(made)
	case wrong:
		err = d.refuseOwn(ctx, s.Actor(), s, wrongCode, &Error{Code: Invalid, Param: "code", Message: errWrongCode.Message})
	default:
		d.tries.forget(tries)
	}
	return err
}

// newRecoveryCodes makes codes of 16 characters, 80 random bits each, in
// groups of four.
func (d *DB) newRecoveryCodes() ([]string, error) {
	codes := make([]string, recoveryCodes)
	for i := range codes {
		secret, err := d.random(10)
		if err != nil {
			return nil, err
		}
		text := strings.ToLower(base32Text.EncodeToString(secret))
		codes[i] = text[:4] + "-" + text[4:8] + "-" + text[8:12] + "-" + text[12:]
	}
	return codes, nil
}

// storeRecoveryCodes puts codes in the place of those there were. Their hash
// is a plain one: they have too many bits to be guessed.
func (tx *Tx) storeRecoveryCodes(seq int64, texts []string) error {
	if _, err := tx.Exec("DELETE FROM recovery_codes WHERE user_seq = ?", seq); err != nil {
		return err
	}
	for _, text := range texts {
		if _, err := tx.Exec("INSERT INTO recovery_codes (user_seq, hash) VALUES (?, ?)", seq, hashRecoveryCode(text)); err != nil {
			return err
		}
	}
	return nil
}

// hashRecoveryCode takes a code in capitals or small letters, with or without
// the hyphens. 0 and 1, which no code has, are read as the letters they
// look like.
func hashRecoveryCode(text string) []byte {
	hash := sha256.Sum256([]byte(strings.NewReplacer("0", "o", "1", "l").Replace(strings.ToLower(plainCode(text)))))
	return hash[:]
}
