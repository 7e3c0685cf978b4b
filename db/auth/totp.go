package auth

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the only algorithm of RFC 6238 that all apps support
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"govsvc/db"
)

// The parameters of RFC 6238: six digits of HMAC-SHA-1 for each half minute.
const (
	totpSecret = 20 // bytes
	totpPeriod = 30 // seconds
	totpDigits = 6
	totpSkew   = 1 // steps that a clock may be early or late
)

// totpCode returns the code of a step (RFC 4226, section 5.3).
func totpCode(secret []byte, step int64) string {
	mac := hmac.New(sha1.New, secret)
	_ = binary.Write(mac, binary.BigEndian, step) // a hash never fails
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0x0f
	number := binary.BigEndian.Uint32(sum[offset:]) & 0x7fffffff
	return fmt.Sprintf("%0*d", totpDigits, number%1_000_000)
}

// totpStep returns the step near now that has the code.
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

// trimCode removes the spaces and hyphens that people type in a code.
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

// The second factors in the audit log.
const (
	byTOTP         = "totp"
	byRecoveryCode = "recovery_code"
)

// useCode marks a code of the user as used, because each code is valid once. It returns
// the kind of second factor, or "" if the code is wrong.
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
	// A code of an earlier step is refused: somebody may have seen it in transit.
	used, err := tx.Exec("UPDATE users SET totp_step = ? WHERE seq = ? AND totp_step < ?", step, seq, step)
	if err != nil || used == 0 {
		return "", err
	}
	return byTOTP, nil
}
