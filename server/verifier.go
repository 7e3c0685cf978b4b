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

// verifier verifies API keys. A verified key is cached by its digest. For any
// other, its form and tag are checked before a lookup, and the lookup comes
// before the hash, which is slow.
type verifier struct {
	store *db.DB

	mutex    sync.Mutex
	known    map[[sha256.Size]byte]verified      // by digest of the plain text
	inFlight map[[sha256.Size]byte]*singleflight // hashes in progress, by digest
	uses     map[string]*keyUses                 // by id, of all keys that were used
}

// keyUses are the last use of a key and the scopes that its requests needed.
type keyUses struct {
	scopes []string // the key's, which never change
	needed api.ScopeUses
	at     time.Time // to the second

	// the part that is stored in the file
	stored   uint64
	storedAt time.Time
}

// verified is a valid key with its row, and what reading the row depended on.
type verified struct {
	id    string
	key   *db.StoredKey
	reads *db.Reads
}

func newVerifier(store *db.DB) *verifier {
	return &verifier{
		store: store,
		known: map[[sha256.Size]byte]verified{}, inFlight: map[[sha256.Size]byte]*singleflight{}, uses: map[string]*keyUses{},
	}
}

// verify returns the key that was presented, or nil if it is not valid. It calls charge
// before it hashes a key without a valid tag, which anyone can make up.
func (v *verifier) verify(ctx context.Context, presented string, dataVersion int64, address string, charge func() error) (*db.StoredKey, error) {
	digest := sha256.Sum256([]byte(presented))
	v.mutex.Lock()
	known := v.known[digest]
	v.mutex.Unlock()
	if known.key != nil && known.reads.Valid(dataVersion) {
		return known.key, nil
	}
	if known.id == "" {
		parsed, ok := v.store.Keys.Parse(presented)
		if !ok {
			return nil, nil //nolint:nilnil // an invalid key is a result, not an error
		}
		var err error
		if known.id, err = v.authenticate(ctx, presentedKey{plain: presented, digest: digest, parsed: parsed, address: address, charge: charge}); err != nil || known.id == "" {
			return nil, err
		}
	}
	recorded, reads := v.store.File.Record(ctx, dataVersion)
	key, err := v.store.Keys.ByID(recorded, known.id)
	if err == nil {
		v.mutex.Lock()
		v.known[digest] = verified{known.id, key, reads}
		v.mutex.Unlock()
	}
	return key, err
}

// remember caches a verified digest. The caller holds the mutex. A full cache
// drops any entry, whose key is hashed again if it returns.
func (v *verifier) remember(digest [sha256.Size]byte, id string) {
	if len(v.known) >= keysInMemory {
		for other := range v.known {
			delete(v.known, other)
			break
		}
	}
	v.known[digest] = verified{id: id}
}

// used records the use of a key, and returns where to record the scopes that the
// request needs.
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

// takeUses returns the uses of keys that are not stored yet, and counts them as
// stored.
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

// restoreUses takes back uses that could not be stored.
func (v *verifier) restoreUses(uses map[string]db.KeyUse) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	for id := range uses {
		v.uses[id].storedAt, v.uses[id].stored = time.Time{}, 0
	}
}

// singleflight is one verification that is shared by all callers that present
// the same key at the same time. Unlike golang.org/x/sync/singleflight it is
// cancelled when its last caller leaves.
type singleflight struct {
	done    chan struct{}
	callers int                // that wait for it
	cancel  context.CancelFunc // ends the wait for a hash
	id      string             // "" if the key is not valid
	err     error
}

// presentedKey is a key to be hashed, and the client that presents it.
type presentedKey struct {
	plain      string
	digest     [sha256.Size]byte
	parsed     db.ParsedKey
	candidates []*db.StoredKey
	address    string
	// charge counts the request for the address; its error refuses the request.
	charge func() error
}

// authenticate hashes a key that is not cached and returns its id; "" if it is
// not valid. The hash waits for its turn on behalf of the first caller's address.
// If that address is refused, each other caller tries again on its own behalf.
func (v *verifier) authenticate(ctx context.Context, key presentedKey) (string, error) {
	found, err := v.store.Keys.ByPrefix(ctx, key.parsed.Prefix)
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
		flight, first, err := v.join(ctx, key)
		if err != nil || flight == nil {
			return v.knownID(key.digest), err
		}
		select {
		case <-flight.done:
			if first || flight.err == nil || !db.Is(flight.err, db.Busy) && !errors.Is(flight.err, context.Canceled) {
				return flight.id, flight.err
			}
		case <-ctx.Done():
			v.leave(key.digest, flight)
			return "", ctx.Err()
		}
	}
}

// join joins the verification of a key, or starts it. It returns nil if the key
// is cached by now.
func (v *verifier) join(ctx context.Context, key presentedKey) (flight *singleflight, first bool, err error) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if v.known[key.digest].id != "" {
		return nil, false, nil
	}
	if flight = v.inFlight[key.digest]; flight != nil {
		flight.callers++
		return flight, false, nil
	}
	if !key.parsed.Tagged {
		if err := key.charge(); err != nil {
			return nil, false, err
		}
	}
	// others may wait for the result when the first caller has left
	shared, cancel := context.WithCancel(context.WithoutCancel(ctx))
	flight = &singleflight{done: make(chan struct{}), callers: 1, cancel: cancel}
	v.inFlight[key.digest] = flight
	go v.run(shared, flight, key)
	return flight, true, nil
}

// leave ends the wait of a caller. The last one to leave cancels the
// verification.
func (v *verifier) leave(digest [sha256.Size]byte, flight *singleflight) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if flight.callers--; flight.callers > 0 {
		return
	}
	flight.cancel()
	if v.inFlight[digest] == flight {
		delete(v.inFlight, digest)
	}
}

func (v *verifier) run(ctx context.Context, flight *singleflight, key presentedKey) {
	defer flight.cancel()
	flight.id, flight.err = v.store.Keys.Match(ctx, key.address, key.parsed, key.candidates, key.plain)
	v.mutex.Lock()
	if v.inFlight[key.digest] == flight {
		delete(v.inFlight, key.digest)
	}
	if flight.id != "" {
		v.remember(key.digest, flight.id)
	}
	v.mutex.Unlock()
	close(flight.done)
}

// knownID returns the id of a verified key, or "" if the digest is not cached.
func (v *verifier) knownID(digest [sha256.Size]byte) string {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return v.known[digest].id
}
