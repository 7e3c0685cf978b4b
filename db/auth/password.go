package auth

import (
	"context"
	"crypto/subtle"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/secure/precis"

	"govsvc/db"
	"govsvc/db/fair"
)

// Limits of a password in characters.
const (
	MinPassword = 12
	MaxPassword = 200
)

// maxTextBytes limits the bytes of a text that is normalized.
const maxTextBytes = 1024

// The parameters of argon2id. A hash takes 19 MB and about 30 ms.
const (
	argonPasses  = 2
	argonKiB     = 19 << 10
	argonThreads = 1
	saltLength   = 16
	hashLength   = 32
)

// password is the stored form of a password.
type password struct{ salt, hash []byte }

// passwordForm returns the form of a password that is hashed, which does not depend on
// the keyboard: NFC with plain spaces (RFC 8265, OpaqueString). It reports false for
// control characters and code points that are not assigned.
func passwordForm(plain string) (string, bool) {
	if len(plain) > maxTextBytes || !utf8.ValidString(plain) {
		return "", false
	}
	form, err := precis.OpaqueString.String(plain)
	return form, err == nil
}

// Limits of the passwords that are hashed at the same time and of the callers that wait.
// A full queue takes about a second.
const (
	passwordsAtOnce  = 2
	waitingPasswords = 64
)

// passwordHasher hashes passwords in a queue that is fair to client addresses.
type passwordHasher struct {
	store *db.DB
	queue *fair.Semaphore
	wait  time.Duration // how long a caller waits
}

func newPasswordHasher(store *db.DB) *passwordHasher {
	return &passwordHasher{store, fair.NewSemaphore(passwordsAtOnce, waitingPasswords, waitingPasswords), store.Wait()}
}

// hash waits until it may hash. No hash starts after ctx has ended. Errors: Busy,
// or that of ctx.
func (h *passwordHasher) hash(ctx context.Context, address, form string, salt []byte) ([]byte, error) {
	if err := h.queue.Acquire(ctx, address, "", h.wait); err != nil {
		return nil, db.QueueError(err, "passwords")
	}
	defer h.queue.Release()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return argon2.IDKey([]byte(form), salt, argonPasses, argonKiB, argonThreads, hashLength), nil
}

// newPassword checks and hashes a new password of the user with the name. An error names
// the parameter.
func (h *passwordHasher) newPassword(ctx context.Context, address, param, name, plain string) (password, error) {
	var p password
	refuse := func(message string) (password, error) {
		return p, &db.Error{Code: db.Invalid, Param: param, Message: message}
	}
	form, ok := passwordForm(plain)
	characters := utf8.RuneCountInString(form)
	switch {
	case plain == "":
		return refuse("a password is needed")
	case len(plain) > maxTextBytes || characters > MaxPassword:
		return refuse(fmt.Sprintf("a password has at most %d characters and %d bytes", MaxPassword, maxTextBytes))
	case !ok:
		return refuse("a password can't contain control characters, joined emoji or characters that Unicode does not know")
	case characters < MinPassword:
		return refuse(fmt.Sprintf("a password has at least %d characters; several words are enough", MinPassword))
	case isGuessable(form, name):
		return refuse("this password is easy to guess: it is a name, a well-known password or a sequence; choose another")
	}
	salt, err := h.store.RandomBytes(saltLength)
	if err != nil {
		return p, err
	}
	hash, err := h.hash(ctx, address, form, salt)
	return password{salt, hash}, err
}

// matches reports whether a password is the stored one. It takes the same time for a
// wrong password and for a user that does not exist.
func (h *passwordHasher) matches(ctx context.Context, address, plain string, stored password) (bool, error) {
	form, ok := passwordForm(plain)
	salt := stored.salt
	if len(salt) == 0 {
		salt = make([]byte, saltLength) // the user does not exist
	}
	hash, err := h.hash(ctx, address, form, salt)
	return ok && subtle.ConstantTimeCompare(hash, stored.hash) == 1, err
}

// minUnpredictable is how many characters of a password must not follow from the name,
// from well-known passwords or from the preceding character.
const minUnpredictable = 6

// wellKnown matches parts of well-known passwords, also in the spelling p4$$w0rd.
var wellKnown = regexp.MustCompile(strings.NewReplacer(
	"a", "[a4@]", "e", "[e3]", "i", "[i1!]", "o", "[o0]", "s", "[s5$]",
).Replace("password|passwort|passphrase|kennwort|administrator|admin|welcome|letmein|changeme|iloveyou|secret|" +
	"govsvc|governance|dashboard|default|example|login|1qaz|2wsx|3edc|correct.?horse.?battery.?staple"))

// sequences are rows of keyboards and alphabets.
var sequences = strings.Fields("abcdefghijklmnopqrstuvwxyz 01234567890 qwertyuiop qwertzuiop asdfghjkl zxcvbnm yxcvbnm !@#$%^&*()_+")

// isGuessable reports whether a password is one that attackers try first.
func isGuessable(form, name string) bool {
	rest := strings.ToLower(form)
	if key := nameKey(name); utf8.RuneCountInString(key) > 2 {
		rest = strings.ReplaceAll(rest, key, " ")
	}
	rest = wellKnown.ReplaceAllString(rest, " ")
	unpredictable, before := 0, ' '
	for _, r := range rest {
		if !unicode.IsSpace(r) && !isPredictable(before, r) {
			unpredictable++
		}
		before = r
	}
	return unpredictable < minUnpredictable
}

// isPredictable reports whether b repeats a or is next to it in a sequence.
func isPredictable(a, b rune) bool {
	if a == b {
		return true
	}
	for _, row := range sequences {
		if strings.Contains(row, string([]rune{a, b})) || strings.Contains(row, string([]rune{b, a})) {
			return true
		}
	}
	return false
}
