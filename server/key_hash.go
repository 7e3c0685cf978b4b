package server

import (
	"context"
	"crypto/sha256"
	"errors"

	"govsvc/db"
)

// flight is one verification that all callers share who present the same key
// at the same time.
type flight struct {
	done    chan struct{}
	callers int                // that wait for it; the last one to leave cancels it
	cancel  context.CancelFunc // ends the wait for a hash
	id      string             // "" if the key is false
	err     error
}

// presentedKey is a key that has to be hashed, and the client that presents it.
type presentedKey struct {
	plain      string
	digest     [sha256.Size]byte
	parsed     db.ParsedKey
	candidates []*db.StoredKey
	address    string
	// charge takes the request from the address's allowance before a hash of a
	// key that anybody can guess at; its error refuses the request.
	charge func() error
}

// authenticate hashes a key that is seen for the first time and returns its id, "" if
// the key is false. A caller whose flight was given up for the sake of its
// first caller's address tries again with a flight of its own.
func (v *verifier) authenticate(ctx context.Context, key presentedKey) (string, error) {
	found, err := v.store.KeysByPrefix(ctx, key.parsed.Prefix)
	if err != nil {
		return "", err
	}
	for _, candidate := range found {
		if !candidate.Ended(v.store.Now()) {
			key.candidates = append(key.candidates, candidate)
		}
	}
	if len(key.candidates) == 0 {
		return "", nil
	}
	for {
		f, first, err := v.join(ctx, key)
		if err != nil || f == nil {
			return v.knownID(key.digest), err
		}
		select {
		case <-f.done:
			if first || f.err == nil || !db.Is(f.err, db.Busy) && !errors.Is(f.err, context.Canceled) {
				return f.id, f.err
			}
		case <-ctx.Done():
			v.quit(key.digest, f)
			return "", ctx.Err()
		}
	}
}

// join enters the flight of a key, or begins one. It returns no flight where
// the key has become known.
func (v *verifier) join(ctx context.Context, key presentedKey) (f *flight, first bool, err error) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if v.known[key.digest].id != "" {
		return nil, false, nil
	}
	if f = v.flights[key.digest]; f != nil {
		f.callers++
		return f, false, nil
	}
	if !key.parsed.Tagged {
		if err := key.charge(); err != nil {
			return nil, false, err
		}
	}
	// the flight serves all who wait for it, so that no single caller ends it
	shared, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f = &flight{done: make(chan struct{}), callers: 1, cancel: cancel}
	v.flights[key.digest] = f
	go v.fly(shared, f, key)
	return f, true, nil
}

// quit leaves a flight. The last one to leave ends it.
func (v *verifier) quit(digest [sha256.Size]byte, f *flight) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if f.callers--; f.callers > 0 {
		return
	}
	f.cancel()
	if v.flights[digest] == f {
		delete(v.flights, digest)
	}
}

func (v *verifier) fly(ctx context.Context, f *flight, key presentedKey) {
	defer f.cancel()
	f.id, f.err = v.store.MatchKey(ctx, key.address, key.parsed, key.candidates, key.plain)
	v.mutex.Lock()
	if v.flights[key.digest] == f {
		delete(v.flights, key.digest)
	}
	if f.id != "" {
		v.remember(key.digest, f.id)
	}
	v.mutex.Unlock()
	close(f.done)
}

// knownID is the id of a verified key, "" if the digest is not known.
func (v *verifier) knownID(digest [sha256.Size]byte) string {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return v.known[digest].id
}
