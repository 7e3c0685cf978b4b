package db

import (
	"context"
	"errors"
	"runtime"
	"time"

	"govsvc/db/fair"
)

// Bounds of the hashes under way and of the callers that wait for one. A hash
// of a key takes 34 MB. A full queue is worked off in about 3.5 seconds.
const (
	currentKeysAtOnce = 2
	formerKeysAtOnce  = 1
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
	currentKeys, formerKeys *fair.Semaphore
}

func newHashing() hashing {
	return hashing{
		currentKeys: fair.NewSemaphore(currentKeysAtOnce, waitingPerPrefix, waitingKeys),
		formerKeys:  fair.NewSemaphore(formerKeysAtOnce, waitingPerPrefix, waitingKeys),
	}
}

// QueueError turns an error of a fair.Semaphore that hashes secrets into Busy. It
// names the secrets that are checked.
func QueueError(err error, what string) error {
	switch {
	case errors.Is(err, fair.ErrCrowded):
		return &Error{Code: Busy, RetryAfter: crowdedFor, Message: "too many " + what + " are being checked right now; try again in a moment"}
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: Busy, RetryAfter: crowdedFor, Message: "checking took too long because many " + what + " are being checked; try again in a moment"}
	}
	return err
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

// hashNewKey hashes a key that is about to be stored.
func (d *DB) hashNewKey(ctx context.Context, address, plain string, salt []byte) ([]byte, error) {
	if err := d.hashing.currentKeys.Acquire(ctx, address, "", keyWait); err != nil {
		return nil, QueueError(err, "keys")
	}
	defer d.hashing.currentKeys.Release()
	return hashKey(plain, salt)
}
