package auth

import (
	"context"
	"crypto/sha256"
	"strings"

	"govsvc/db"
	"govsvc/db/audit"
)

// recoveryCodeCount is how many recovery codes a user has.
const recoveryCodeCount = 10

// NewRecoveryCodes replaces the recovery codes of the session's user after a code of the
// second factor. Nothing else returns the new codes. Errors: Invalid for the code,
// Conflict without a second factor, Throttled.
func (a *Account) NewRecoveryCodes(ctx context.Context, session Session, code string) ([]string, error) {
	texts, err := newRecoveryCodes(a.store)
	if err != nil {
		return nil, err
	}
	err = a.changeWithCode(ctx, session, code, func(tx *db.Tx, seq int64) error {
		if err := storeRecoveryCodes(tx, seq, texts); err != nil {
			return err
		}
		return auditUser(tx, "recovery_codes_made", audit.Authentication, audit.SeveritySettings, session.User.ID, nil)
	})
	if err != nil {
		return nil, err
	}
	return texts, nil
}

// newRecoveryCodes makes codes of 16 characters in groups of four. Each has 80 random
// bits.
func newRecoveryCodes(store *db.DB) ([]string, error) {
	codes := make([]string, recoveryCodeCount)
	for i := range codes {
		secret, err := store.RandomBytes(10)
		if err != nil {
			return nil, err
		}
		text := strings.ToLower(base32NoPadding.EncodeToString(secret))
		codes[i] = text[:4] + "-" + text[4:8] + "-" + text[8:12] + "-" + text[12:]
	}
	return codes, nil
}

// storeRecoveryCodes replaces the codes of a user. It uses a fast hash, because codes
// have too many bits to guess.
func storeRecoveryCodes(tx *db.Tx, seq int64, texts []string) error {
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

// hashRecoveryCode hashes a code. Letter case and hyphens do not matter. It reads 0 and 1,
// which no code has, as the letters o and l.
func hashRecoveryCode(text string) []byte {
	hash := sha256.Sum256([]byte(strings.NewReplacer("0", "o", "1", "l").Replace(strings.ToLower(trimCode(text)))))
	return hash[:]
}
