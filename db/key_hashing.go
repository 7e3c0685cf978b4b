package db

import (
	"context"
	"errors"
	"runtime"
	"time"

	"govsvc/db/fair"
)

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

// Keys is the service for API keys. It limits the hashes that run at the same time.
// Keys of the current form can't be guessed. They have a separate queue, so that they
// do not wait behind guesses at keys of a former form.
type Keys struct {
	db              *DB
	current, former *fair.Semaphore
}

func newKeys(d *DB) Keys {
	return Keys{
		db:      d,
		current: fair.NewSemaphore(currentKeysAtOnce, waitingPerPrefix, waitingKeys),
		former:  fair.NewSemaphore(formerKeysAtOnce, waitingPerPrefix, waitingKeys),
	}
}

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

// Match returns the id of the candidate that the presented key belongs to, "" if there
// is none. Callers wait in a queue that is fair to addresses. No hash starts after ctx has
// ended. Errors: Busy, or that of ctx.
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
