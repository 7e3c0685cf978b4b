package db

import (
	"context"
	"errors"
	"runtime"
	"time"

	"golang.org/x/crypto/argon2"

	"govsvc/db/fair"
)

// Bounds of the hashes under way and of the callers that wait for one. A hash
// of a key takes 34 MB, one of a password 19 MB. A full queue is worked off in
// about 3.5 seconds for keys and one second for passwords.
const (
	passwordsAtOnce   = 2
	currentKeysAtOnce = 2
	formerKeysAtOnce  = 1
	waitingPasswords  = 64
	waitingKeys       = 64
	waitingPerPrefix  = 32
)

// keyWait bounds how long a key waits to be hashed.
const keyWait = 30 * time.Second

// crowdedFor is how long a caller should wait that found the queue full.
const crowdedFor = time.Second

// hashing holds the semaphores of all hashes that a caller can ask for. Keys
// of the current form have one of their own: nobody can guess them, so that
// they never wait behind guesses at keys of a former form.
type hashing struct {
	passwords, currentKeys, formerKeys *fair.Semaphore
}

func newHashing() hashing {
	return hashing{
		passwords:   fair.NewSemaphore(passwordsAtOnce, waitingPasswords, waitingPasswords),
		currentKeys: fair.NewSemaphore(currentKeysAtOnce, waitingPerPrefix, waitingKeys),
		formerKeys:  fair.NewSemaphore(formerKeysAtOnce, waitingPerPrefix, waitingKeys),
	}
}

// hashError gives an error of a semaphore its meaning.
func hashError(err error, what string) error {
	switch {
	case errors.Is(err, fair.ErrCrowded):
		return &Error{Code: Busy, RetryAfter: crowdedFor, Message: "too many " + what + " are being checked right now; try again in a moment"}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: Busy, RetryAfter: crowdedFor, Message: "checking took too long because many " + what + " are being checked; try again in a moment"}
	}
	return err
}

// hashPassword waits until it may hash, at most as long as a write waits.
// Addresses take turns. A caller that has left is not hashed for.
func (d *DB) hashPassword(ctx context.Context, address, form string, salt []byte) ([]byte, error) {
	if err := d.hashing.passwords.Acquire(ctx, address, "", d.options.Wait); err != nil {
		return nil, hashError(err, "passwords")
	}
	defer d.hashing.passwords.Release()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return argon2.IDKey([]byte(form), salt, argonPasses, argonKiB, argonThreads, hashLength), nil
}

// MatchKey finds which of the candidates is the presented key and returns its
// id, "" if none is. Callers wait until they may hash, and addresses take
// turns. No hash is begun after ctx has ended. Errors: Busy, or that of ctx.
func (d *DB) MatchKey(ctx context.Context, address string, parsed ParsedKey, candidates []*StoredKey, presented string) (string, error) {
	queue := d.hashing.formerKeys
	if parsed.Tagged {
		queue = d.hashing.currentKeys
	}
	if err := queue.Acquire(ctx, address, parsed.Prefix, keyWait); err != nil {
		return "", hashError(err, "keys")
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

// hashNewKey hashes a key that is about to be stored.
func (d *DB) hashNewKey(ctx context.Context, address, plain string, salt []byte) ([]byte, error) {
	if err := d.hashing.currentKeys.Acquire(ctx, address, "", keyWait); err != nil {
		return nil, hashError(err, "keys")
	}
	defer d.hashing.currentKeys.Release()
	return hashKey(plain, salt)
}
