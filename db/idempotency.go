package db

import (
	"bytes"
	"context"
	"crypto/sha256"
	"slices"
	"sync"
	"time"
)

// IdempotencyRetention is how long an idempotent answer is replayed (specification,
// Limits).
const IdempotencyRetention = 24 * time.Hour

// IdempotencyKey names a logical request of an organisation.
type IdempotencyKey struct {
	Org     Org // the key holder's, in the live file
	Key     string
	Request [sha256.Size]byte // identity of method, path and body
	// Now is when the request came. A frozen file's own clock may stand still.
	Now time.Time
}

// IdempotentResponse is the answer that a request got when it was done.
type IdempotentResponse struct {
	Status int
	Body   []byte
}

// Idempotency is the service for the responses that are replayed to a request that
// is repeated.
type Idempotency struct {
	db    *DB
	cache *responseCache // of a frozen file
}

// Response finds the answer that was given under a key; nil if there is none.
// A key that was used for another request is KeyReused.
func (i Idempotency) Response(ctx context.Context, k IdempotencyKey) (*IdempotentResponse, error) {
	if i.db.engine.Frozen() {
		return i.cache.get(k)
	}
	var request []byte
	var answer IdempotentResponse
	err := i.db.Row(ctx, "SELECT request, status, answer FROM idempotency_records WHERE org_id = ? AND key = ? AND created_at > ?",
		k.Org, k.Key, Timestamp(i.db.Now().Add(-IdempotencyRetention))).Scan(&request, &answer.Status, &answer.Body)
	if none, err := Absent(err); none || err != nil {
		return nil, StoreError(err)
	}
	if !bytes.Equal(request, k.Request[:]) {
		return nil, errKeyReused
	}
	return &answer, nil
}

var errKeyReused = &Error{
	Code: KeyReused, Param: "Idempotency-Key",
	Message: "this Idempotency-Key was used for another request; use a new one for a new request",
}

// StoreResponse stores a change's answer with the change.
func (tx *Tx) StoreResponse(k IdempotencyKey, answer IdempotentResponse) error {
	if tx.db.engine.Frozen() {
		tx.db.Idempotency.cache.put(k, answer)
		return nil
	}
	before := tx.Changed()
	defer func() { tx.exempt += tx.Changed() - before }() // an answer alone is not a change to be audited
	kept, err := tx.Exec(`INSERT INTO idempotency_records (org_id, key, request, status, answer, created_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (org_id, key) DO UPDATE
		SET request = ?3, status = ?4, answer = ?5, created_at = ?6 WHERE created_at <= ?7`,
		k.Org, k.Key, k.Request[:], answer.Status, answer.Body, tx.At(), Timestamp(tx.now.Add(-IdempotencyRetention)))
	if err == nil && kept == 0 { // another process was given the same request
		return &Error{Code: InFlight, Param: "Idempotency-Key", Message: "this request was made twice at once; repeat it for the answer of the other"}
	}
	return err
}

// sweepAtOnce bounds how many answers one transaction of a sweep removes, so
// that it holds up no writer for long.
const sweepAtOnce = 1000

// Sweep removes the answers that are no longer replayed.
func (i Idempotency) Sweep(ctx context.Context) error {
	for {
		var removed int64
		err := i.db.Maintain(ctx, func(tx *Tx) error {
			var err error
			removed, err = tx.Exec(`DELETE FROM idempotency_records WHERE (org_id, key) IN
				(SELECT org_id, key FROM idempotency_records WHERE created_at <= ? LIMIT ? + 0)`,
				Timestamp(tx.now.Add(-IdempotencyRetention)), sweepAtOnce)
			return err
		})
		if err != nil || removed < sweepAtOnce {
			return err
		}
	}
}

// responseCache are the kept answers of a frozen file, which takes no rows.
type responseCache struct {
	mutex     sync.Mutex
	responses map[cacheKey]cachedResponse
	order     []cacheKey // as they were kept, oldest first
	bytes     int
}

type cacheKey struct {
	org Org
	key string
}

type cachedResponse struct {
	IdempotentResponse
	request [sha256.Size]byte
	at      time.Time
}

// What bounds the answers of a frozen file; the oldest give way.
const (
	maxCachedResponses = 10_000
	maxCachedBytes     = 32 << 20
)

func (a *responseCache) get(k IdempotencyKey) (*IdempotentResponse, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	known, ok := a.responses[cacheKey{k.Org, k.Key}]
	switch {
	case !ok || k.Now.Sub(known.at) >= IdempotencyRetention:
		return nil, nil //nolint:nilnil // no answer is no error
	case known.request != k.Request:
		return nil, errKeyReused
	}
	return &known.IdempotentResponse, nil
}

func (a *responseCache) put(k IdempotencyKey, kept IdempotentResponse) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.responses == nil {
		a.responses = map[cacheKey]cachedResponse{}
	}
	key := cacheKey{k.Org, k.Key}
	a.remove(key)
	a.responses[key] = cachedResponse{kept, k.Request, k.Now}
	a.order = append(a.order, key)
	a.bytes += len(kept.Body)
	for len(a.order) > maxCachedResponses || a.bytes > maxCachedBytes {
		a.remove(a.order[0])
	}
}

// remove removes an answer, if there is one.
func (a *responseCache) remove(key cacheKey) {
	known, ok := a.responses[key]
	if !ok {
		return
	}
	delete(a.responses, key)
	a.bytes -= len(known.Body)
	at := slices.Index(a.order, key) // the oldest, nearly always
	a.order = slices.Delete(a.order, at, at+1)
}
