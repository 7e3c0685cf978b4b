package server

import (
	"context"
	"crypto/sha256"
	"strings"
	"sync"
	"time"

	"govsvc/db"
	"govsvc/server/api"
)

// credential finds the key that a request presents and verifies it. The key is
// read anew whenever anything was committed to the file, so that a revocation
// or a change of plan by any process counts at once.
func (x *request) credential() (*db.StoredKey, error) {
	presented := bearer(x.r.Header.Values("Authorization"))
	if presented == "" {
		if presented = x.r.Header.Get("X-Api-Key"); presented != "" {
			h := x.w.Header()
			h.Set("Deprecation", "@1789171200") // 12 Sep 2026, with this version
			h.Set("Sunset", "Sun, 12 Sep 2027 00:00:00 GMT")
		}
	}
	if presented == "" {
		return nil, &api.Error{Code: api.MissingCredential, Message: "send the API key as `Authorization: Bearer <API_KEY>`"}
	}
	// a file whose generation can't be told is read anew for every request
	if generation, err := x.Store.DataVersion(x.r.Context()); err == nil {
		x.generation = generation
	}
	key, err := x.verifier.verify(x.r.Context(), presented, x.generation, x.address, x.chargeGuess)
	if err != nil {
		return nil, err
	}
	if key == nil || key.Ended(x.Store.Now()) {
		return nil, &api.Error{Code: api.InvalidAPIKey, Message: "this API key is not valid: it is mistyped, revoked or expired"}
	}
	return key, nil
}

// chargeGuess takes one of the address's requests before a key is hashed, so
// that an address without any left can't have the service hash.
func (x *request) chargeGuess() error {
	if limited := x.limitAddress(); limited != nil {
		return limited
	}
	x.charged = true
	return nil
}

// bearer is the token of an Authorization header (RFC 6750); "" if there is
// none, or more than one.
func bearer(headers []string) string {
	if len(headers) != 1 {
		return ""
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// verifier tells true keys from false ones. A key that was verified once is known
// by its digest from then on. Of any other, form and tag are checked before a
// lookup, and the lookup comes before a hash.
type verifier struct {
	store *db.DB

	mutex   sync.Mutex
	known   map[[sha256.Size]byte]verified // by digest of the plain text
	flights map[[sha256.Size]byte]*flight  // verifications under way
	uses    map[string]*keyUses            // by id, of all keys that were used
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
	id         string
	generation int64
	key        *db.StoredKey
}

func newVerifier(store *db.DB) *verifier {
	return &verifier{
		store: store,
		known: map[[sha256.Size]byte]verified{}, flights: map[[sha256.Size]byte]*flight{}, uses: map[string]*keyUses{},
	}
}

// verify finds the key that was presented; nil if it is not one of ours. It
// calls charge before it hashes a key that anybody can guess at.
func (v *verifier) verify(ctx context.Context, presented string, generation int64, address string, charge func() error) (*db.StoredKey, error) {
	digest := sha256.Sum256([]byte(presented))
	v.mutex.Lock()
	known := v.known[digest]
	v.mutex.Unlock()
	if known.key != nil && known.generation == generation && generation > 0 {
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
