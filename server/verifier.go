package server

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"govsvc/db"
	"govsvc/server/api"
)

// verifier tells true keys from false ones. A key that was verified once is known
// by its digest from then on. Of any other, form and tag are checked before a
// lookup, and the lookup comes before a hash.
type verifier struct {
	store *db.DB

	mutex    sync.Mutex
	known    map[[sha256.Size]byte]verified      // by digest of the plain text
	inFlight map[[sha256.Size]byte]*verification // verifications under way
	uses     map[string]*keyUses                 // by id, of all keys that were used
}

// keyUses is what a key was used for.
type keyUses struct {
	scopes []string // the key's, which never change
	needed api.ScopeUses
	at     time.Time // when it was last used, to the second

	// what of it the file has
	stored   uint64
	storedAt time.Time
}

// verified is a key that was proven true, and its row as it was at a
// generation of the file.
type verified struct {
	id          string
	dataVersion int64
	key         *db.StoredKey
}

func newVerifier(store *db.DB) *verifier {
	return &verifier{
		store: store,
		known: map[[sha256.Size]byte]verified{}, inFlight: map[[sha256.Size]byte]*verification{}, uses: map[string]*keyUses{},
	}
}

// verify finds the key that was presented; nil if it is not one of ours. It
// calls charge before it hashes a key that anybody can guess at.
func (v *verifier) verify(ctx context.Context, presented string, generation int64, address string, charge func() error) (*db.StoredKey, error) {
	digest := sha256.Sum256([]byte(presented))
	v.mutex.Lock()
	known := v.known[digest]
	v.mutex.Unlock()
	if known.key != nil && known.dataVersion == generation && generation > 0 {
		return known.key, nil
	}
	if known.id == "" {
		parsed, ok := v.store.ParseKey(presented)
		if !ok {
			return nil, nil //nolint:nilnil // a false key is an answer, not an error
		}
		var err error
		if known.id, err = v.authenticate(ctx, presentedKey{plain: presented, digest: digest, parsed: parsed, address: address, charge: charge}); err != nil || known.id == "" {
			return nil, err
		}
	}
	key, err := v.store.KeyByID(ctx, known.id)
	if err == nil {
		v.mutex.Lock()
		v.known[digest] = verified{known.id, generation, key}
		v.mutex.Unlock()
	}
	return key, err
}

// remember keeps a verified digest; the caller holds the mutex. A full memory
// forgets any other: at worst that one is hashed again.
func (v *verifier) remember(digest [sha256.Size]byte, id string) {
	if len(v.known) >= keysInMemory {
		for other := range v.known {
			delete(v.known, other)
			break
		}
	}
	v.known[digest] = verified{id: id}
}

// used notes that a key was used now, and returns where the scopes that it
// needs are noted.
func (v *verifier) used(key *db.StoredKey) *api.ScopeUses {
	at := v.store.Now().Truncate(time.Second)
	v.mutex.Lock()
	defer v.mutex.Unlock()
	uses := v.uses[key.ID]
	if uses == nil {
		uses = &keyUses{scopes: key.Scopes}
		v.uses[key.ID] = uses
	}
	uses.at = at
	return &uses.needed
}

// takeUses gives what of the keys' use is to be stored.
func (v *verifier) takeUses() map[string]db.KeyUse {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	taken := map[string]db.KeyUse{}
	for id, uses := range v.uses {
		needed := uses.needed.Bits()
		if uses.at.Equal(uses.storedAt) && needed == uses.stored {
			continue
		}
		use := db.KeyUse{At: db.Timestamp(uses.at)}
		for i, scope := range uses.scopes {
			if (needed&^uses.stored)>>i&1 == 1 {
				use.Scopes = append(use.Scopes, scope)
			}
		}
		uses.storedAt, uses.stored = uses.at, needed
		taken[id] = use
	}
	return taken
}

// restoreUses takes back what could not be stored.
func (v *verifier) restoreUses(uses map[string]db.KeyUse) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	for id := range uses {
		v.uses[id].storedAt, v.uses[id].stored = time.Time{}, 0
	}
}

// verification is one verification that all callers share who present the same key
// at the same time.
type verification struct {
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
func (v *verifier) join(ctx context.Context, key presentedKey) (f *verification, first bool, err error) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if v.known[key.digest].id != "" {
		return nil, false, nil
	}
	if f = v.inFlight[key.digest]; f != nil {
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
	f = &verification{done: make(chan struct{}), callers: 1, cancel: cancel}
	v.inFlight[key.digest] = f
	go v.run(shared, f, key)
	return f, true, nil
}

// quit leaves a flight. The last one to leave ends it.
func (v *verifier) quit(digest [sha256.Size]byte, f *verification) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if f.callers--; f.callers > 0 {
		return
	}
	f.cancel()
	if v.inFlight[digest] == f {
		delete(v.inFlight, digest)
	}
}

func (v *verifier) run(ctx context.Context, f *verification, key presentedKey) {
	defer f.cancel()
	f.id, f.err = v.store.MatchKey(ctx, key.address, key.parsed, key.candidates, key.plain)
	v.mutex.Lock()
	if v.inFlight[key.digest] == f {
		delete(v.inFlight, key.digest)
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
