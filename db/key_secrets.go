package db

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"time"

	"golang.org/x/crypto/scrypt"

	"govsvc/db/fair"
)

// A key consists of gds_live_ or gds_test_, 12 characters that identify it, 32 secret ones
// and a tag of 8 (contract, section 3). The tag depends on a secret of the file, so that a
// mistyped or forged key is refused without a lookup.
const (
	livePrefix       = "gds_live_"
	testPrefix       = "gds_test_"
	formerLivePrefix = "gov_live_"
	formerTestPrefix = "gov_test_"

	identifying = 12
	secretPart  = 32
	tagPart     = 8
	// Keys of the former format were issued by another program.
	formerIdentifying = 8   // characters that identify the key
	formerMinimum     = 24  // characters after the prefix
	keyMaximum        = 512 // bytes of any key
)

// The cost of the hash of a key: 34 MB and about 50 ms.
const (
	scryptN, scryptR, scryptP = 32768, 8, 1
	hashLength                = 32
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// ParsedKey describes a presented key with a valid format and tag. The file does not
// necessarily contain the key.
type ParsedKey struct {
	Kind   string
	Prefix string // finds its row
	Tagged bool   // the key has the current format, so only this file can have issued it
}

// Parse checks the format and the tag of a presented key without reading the file.
func (s Keys) Parse(key string) (ParsedKey, bool) {
	var p ParsedKey
	if len(key) > keyMaximum {
		return p, false
	}
	for _, form := range []struct{ prefix, kind string }{
		{livePrefix, LiveKey}, {testPrefix, TestKey}, {formerLivePrefix, LiveKey}, {formerTestPrefix, TestKey},
	} {
		rest, ok := strings.CutPrefix(key, form.prefix)
		if !ok {
			continue
		}
		p.Kind = form.kind
		if strings.HasPrefix(form.prefix, "gov_") {
			if len(rest) < formerMinimum {
				return p, false
			}
			p.Prefix = form.prefix + rest[:formerIdentifying]
			return p, true
		}
		if len(rest) != identifying+secretPart+tagPart {
			return p, false
		}
		p.Prefix, p.Tagged = form.prefix+rest[:identifying], true
		untagged := key[:len(key)-tagPart]
		return p, subtle.ConstantTimeCompare([]byte(s.tag(untagged)), []byte(key[len(key)-tagPart:])) == 1
	}
	return p, false
}

func (s Keys) tag(untagged string) string {
	mac := hmac.New(sha256.New, s.db.secrets.keyTag)
	mac.Write([]byte(untagged))
	n := binary.BigEndian.Uint64(mac.Sum(nil))
	tag := make([]byte, tagPart)
	for i := range tag {
		tag[i] = base62[n%62]
		n /= 62
	}
	return string(tag)
}

// randomText returns n random characters of base62, all with the same probability.
func randomText(n int) string {
	text, buffer := make([]byte, 0, n), make([]byte, n)
	for len(text) < n {
		rand.Read(buffer) //nolint:errcheck // never fails; see its documentation
		for _, b := range buffer {
			if b < 4*62 && len(text) < n {
				text = append(text, base62[b%62])
			}
		}
	}
	return string(text)
}

func hashKey(key string, salt []byte) ([]byte, error) {
	return scrypt.Key([]byte(key), salt, scryptN, scryptR, scryptP, hashLength)
}

// Limits of the keys that are hashed at the same time and of the callers that wait. A hash
// takes 34 MB. A full queue takes about 3.5 seconds.
const (
	currentKeysAtOnce = 2
	formerKeysAtOnce  = 1
	waitingKeys       = 64
	waitingPerPrefix  = 32
)

// keyWait limits how long a caller waits for the hash of a key.
const keyWait = 30 * time.Second

// retryAfterBusy is how long a caller waits after the queue was full.
const retryAfterBusy = time.Second

// QueueError returns the error Busy for an error of a fair.Semaphore that limits hashes.
// The message names the hashed secrets.
func QueueError(err error, what string) error {
	switch {
	case errors.Is(err, fair.ErrCrowded):
		return &Error{Code: Busy, RetryAfter: retryAfterBusy, Message: "too many " + what + " are being checked right now; try again in a moment"}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: Busy, RetryAfter: retryAfterBusy, Message: "checking took too long because many " + what + " are being checked; try again in a moment"}
	}
	return err
}

// Match returns the id of the candidate whose hash the presented key has, or "" if no
// candidate matches. Callers wait in a queue that is fair to addresses. No hash starts
// after ctx has ended. Errors: Busy, or the error of ctx.
func (s Keys) Match(ctx context.Context, address string, parsed ParsedKey, candidates []*StoredKey, presented string) (string, error) {
	queue := s.former
	if parsed.Tagged {
		queue = s.current
	}
	if err := queue.Acquire(ctx, address, parsed.Prefix, keyWait); err != nil {
		return "", QueueError(err, "keys")
	}
	defer queue.Release()
	for _, candidate := range candidates {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		same, err := candidate.Matches(presented)
		runtime.GC() // frees the memory of this hash before the next one begins
		if err != nil {
			return "", err
		}
		if same {
			return candidate.ID, nil
		}
	}
	return "", nil
}

// hash hashes a new key.
func (s Keys) hash(ctx context.Context, address, plain string, salt []byte) ([]byte, error) {
	if err := s.current.Acquire(ctx, address, "", keyWait); err != nil {
		return nil, QueueError(err, "keys")
	}
	defer s.current.Release()
	return hashKey(plain, salt)
}
