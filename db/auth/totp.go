package auth

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // RFC 6238's, and the only one that all apps know
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"govsvc/db"
)

// Codes are those of RFC 6238: six digits of HMAC-SHA-1 for each half minute.
const (
	totpSecret = 20 // bytes
	totpPeriod = 30 // seconds
	totpDigits = 6
	totpSkew   = 1 // steps that a clock may be early or late
)

// totpCode is the code of a step (RFC 4226, section 5.3).
func totpCode(secret []byte, step int64) string {
	mac := hmac.New(sha1.New, secret)
	_ = binary.Write(mac, binary.BigEndian, step) // a hash takes all
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0x0f
	number := binary.BigEndian.Uint32(sum[offset:]) & 0x7fffffff
	return fmt.Sprintf("%0*d", totpDigits, number%1_000_000)
}

// totpStep finds the step near now whose code it is.
func totpStep(secret []byte, code string, now time.Time) (step int64, ok bool) {
	code = trimCode(code)
	at := now.Unix() / totpPeriod
	for near := at - totpSkew; near <= at+totpSkew; near++ {
		if subtle.ConstantTimeCompare([]byte(totpCode(secret, near)), []byte(code)) == 1 {
			step, ok = near, true
		}
	}
	return step, ok
}

// trimCode is a code without the spaces and hyphens that it may be typed with.
func trimCode(code string) string {
	if len(code) > maxTextBytes {
		return ""
	}
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' {
			return -1
		}
		return r
	}, strings.TrimSpace(code))
}

// The second factors, as the audit log has them.
const (
	byTOTP         = "totp"
	byRecoveryCode = "recovery_code"
)

// useCode uses up a code of the user: each recovery code and the code of each
// step counts once. It returns by which of them, or "" if the code is wrong.
func useCode(tx *db.Tx, seq int64, code string) (factor string, err error) {
	if len(trimCode(code)) != totpDigits {
		used, err := tx.Exec("UPDATE recovery_codes SET used_at = ? WHERE user_seq = ? AND hash = ? AND used_at IS NULL",
			tx.At(), seq, hashRecoveryCode(code))
		if err != nil || used == 0 {
			return "", err
		}
		return byRecoveryCode, nil
	}
	var secret []byte
	if err := tx.Row("SELECT totp_secret FROM users WHERE seq = ?", seq).Scan(&secret); err != nil {
		return "", db.StoreError(err)
	}
	step, ok := totpStep(secret, code, tx.Now())
	if !ok {
		return "", nil
	}
	// no step is used after a later one: its code may have been seen on the way
	used, err := tx.Exec("UPDATE users SET totp_step = ? WHERE seq = ? AND totp_step < ?", step, seq, step)
	if err != nil || used == 0 {
		return "", err
	}
	return byTOTP, nil
}
