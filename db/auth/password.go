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

// The bounds of a password in characters.
const (
	MinPassword = 12
	MaxPassword = 200
)

// maxTextBytes bounds in bytes what is brought to its normal form.
const maxTextBytes = 1024

// The cost of a password's hash, argon2id: 19 MB and some 30 ms.
const (
	argonPasses  = 2
	argonKiB     = 19 << 10
	argonThreads = 1
	saltLength   = 16
	hashLength   = 32
)

// password is what is stored of one.
type password struct{ salt, hash []byte }

// passwordForm brings a password to the one form that is hashed, so that it is
// the same from every keyboard: Unicode's NFC, and every kind of space a plain
// one (RFC 8265, OpaqueString). Control characters and what Unicode does not
// know are refused.
func passwordForm(plain string) (string, bool) {
	if len(plain) > maxTextBytes || !utf8.ValidString(plain) {
		return "", false
	}
	form, err := precis.OpaqueString.String(plain)
	return form, err == nil
}

// Bounds of the passwords that are hashed at once and of the callers that wait.
// A full queue is worked off in about a second.
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

// newPassword checks a password that a user is to have and hashes it for a
// client at the address.
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
		return refuse("a password must not hold control characters, joined emoji or characters that Unicode does not know")
	case characters < MinPassword:
		return refuse(fmt.Sprintf("a password has at least %d characters; several words will do", MinPassword))
	case isGuessable(form, name):
		return refuse("this password would be guessed soon: it is a name, a well-known password or a sequence; take another")
	}
	salt, err := h.store.RandomBytes(saltLength)
	if err != nil {
		return p, err
	}
	hash, err := h.hash(ctx, address, form, salt)
	return password{salt, hash}, err
}

// matches tells whether a password is the stored one. It takes as long for one
// that is not, be it nobody's.
func (h *passwordHasher) matches(ctx context.Context, address, plain string, stored password) (bool, error) {
	form, ok := passwordForm(plain)
	salt := stored.salt
	if len(salt) == 0 {
		salt = make([]byte, saltLength) // of a user that is not there
	}
	hash, err := h.hash(ctx, address, form, salt)
	return ok && subtle.ConstantTimeCompare(hash, stored.hash) == 1, err
}

// minUnpredictable is how many characters of a password nobody could foresee
// from its name, from well-known passwords or from the character before.
const minUnpredictable = 6

// well-known passwords and what they are made of, also as in p4$$w0rd.
var wellKnown = regexp.MustCompile(strings.NewReplacer(
	"a", "[a4@]", "e", "[e3]", "i", "[i1!]", "o", "[o0]", "s", "[s5$]",
).Replace("password|passwort|passphrase|kennwort|administrator|admin|welcome|letmein|changeme|iloveyou|secret|" +
	"govsvc|governance|dashboard|default|example|login|1qaz|2wsx|3edc|correct.?horse.?battery.?staple"))

// sequences are rows of keyboards and alphabets.
var sequences = strings.Fields("abcdefghijklmnopqrstuvwxyz 01234567890 qwertyuiop qwertzuiop asdfghjkl zxcvbnm yxcvbnm !@#$%^&*()_+")

// isGuessable tells the passwords that are guessed first.
func isGuessable(form, name string) bool {
	rest := strings.ToLower(form)
	if key := nameKey(name); utf8.RuneCountInString(key) > 2 {
		rest = strings.ReplaceAll(rest, key, " ")
	}
	rest = wellKnown.ReplaceAllString(rest, " ")
	surprises, before := 0, ' '
	for _, r := range rest {
		if !unicode.IsSpace(r) && !isPredictable(before, r) {
			surprises++
		}
		before = r
	}
	return surprises < minUnpredictable
}

// isPredictable tells whether b repeats a or stands next to it in a sequence.
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
