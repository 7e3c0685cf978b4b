package db

import (
	"bytes"
	"context"
	"crypto/sha256"
	"slices"
	"sync"
	"time"
)

// IdempotencyRetention is how long a response is replayed (specification, Limits).
const IdempotencyRetention = 24 * time.Hour

// IdempotencyKey names a logical request of an organisation.
type IdempotencyKey struct {
	Org     Org // the key holder's, in the live file
	Key     string
	Request [sha256.Size]byte // identity of method, path and body
	// Now is the time of the request. It can differ from the clock of the file, because
	// the clock of the sandbox does not advance.
	Now time.Time
}

// IdempotentResponse is the response to a completed request.
type IdempotentResponse struct {
	Status int
	Body   []byte
}

// Idempotency is the service for the responses that are replayed to repeated requests.
type Idempotency struct {
	db    *DB
	cache *responseCache // of a frozen file
}

// Response finds the response to a request with this key; nil if there is none. The error
// is KeyReused if the key was used for another request.
func (i Idempotency) Response(ctx context.Context, k IdempotencyKey) (*IdempotentResponse, error) {
	if i.db.engine.Frozen() {
		return i.cache.get(k)
	}
	var request []byte
	var response IdempotentResponse
	err := i.db.Row(ctx, "SELECT request, status, answer FROM idempotency_records WHERE org_id = ? AND key = ? AND created_at > ?",
		k.Org, k.Key, Timestamp(i.db.Now().Add(-IdempotencyRetention))).Scan(&request, &response.Status, &response.Body)
	if none, err := Absent(err); none || err != nil {
		return nil, StoreError(err)
	}
	if !bytes.Equal(request, k.Request[:]) {
		return nil, errKeyReused
	}
	return &response, nil
}

var errKeyReused = &Error{
	Code: KeyReused, Param: "Idempotency-Key",
	Message: "this Idempotency-Key was used for another request; use a new one for a new request",
}

// StoreResponse stores the response to a request with its change.
func (tx *Tx) StoreResponse(k IdempotencyKey, response IdempotentResponse) error {
	if tx.db.engine.Frozen() {
		tx.db.Idempotency.cache.put(k, response)
		return nil
	}
	before := tx.Changed()
	defer func() { tx.exempt += tx.Changed() - before }() // a response needs no audit event
	stored, err := tx.Exec(`INSERT INTO idempotency_records (org_id, key, request, status, answer, created_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (org_id, key) DO UPDATE
		SET request = ?3, status = ?4, answer = ?5, created_at = ?6 WHERE created_at <= ?7`,
		k.Org, k.Key, k.Request[:], response.Status, response.Body, tx.At(), Timestamp(tx.now.Add(-IdempotencyRetention)))
	if err == nil && stored == 0 { // another process got the same request
		return &Error{Code: InFlight, Param: "Idempotency-Key", Message: "this request was made twice at the same time; repeat it to get the response of the other one"}
	}
	return err
}

// sweptResponses bounds how many responses one transaction of a sweep removes, so that it
// delays no other writer for long.
const sweptResponses = 1000

// Sweep removes the responses that are no longer replayed.
func (i Idempotency) Sweep(ctx context.Context) error {
	for {
		var removed int64
		err := i.db.Maintain(ctx, func(tx *Tx) error {
			var err error
			removed, err = tx.Exec(`DELETE FROM idempotency_records WHERE (org_id, key) IN
				(SELECT org_id, key FROM idempotency_records WHERE created_at <= ? LIMIT ? + 0)`,
				Timestamp(tx.now.Add(-IdempotencyRetention)), sweptResponses)
			return err
		})
		if err != nil || removed < sweptResponses {
			return err
		}
	}
}

// responseCache holds the responses of a frozen file, which stores no rows.
type responseCache struct {
	mutex     sync.Mutex
	responses map[cacheKey]cachedResponse
	order     []cacheKey // oldest first
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

// Bounds of the responses of a frozen file. The oldest are removed first.
const (
	maxCachedResponses = 10_000
	maxCachedBytes     = 32 << 20
)

func (c *responseCache) get(k IdempotencyKey) (*IdempotentResponse, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	known, ok := c.responses[cacheKey{k.Org, k.Key}]
	switch {
	case !ok || k.Now.Sub(known.at) >= IdempotencyRetention:
		return nil, nil //nolint:nilnil // a missing response is not an error
	case known.request != k.Request:
		return nil, errKeyReused
	}
	return &known.IdempotentResponse, nil
}

func (c *responseCache) put(k IdempotencyKey, response IdempotentResponse) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.responses == nil {
		c.responses = map[cacheKey]cachedResponse{}
	}
	key := cacheKey{k.Org, k.Key}
	c.remove(key)
	c.responses[key] = cachedResponse{response, k.Request, k.Now}
	c.order = append(c.order, key)
	c.bytes += len(response.Body)
	for len(c.order) > maxCachedResponses || c.bytes > maxCachedBytes {
		c.remove(c.order[0])
	}
}

// remove removes a response, if there is one.
func (c *responseCache) remove(key cacheKey) {
	known, ok := c.responses[key]
	if !ok {
		return
	}
	delete(c.responses, key)
	c.bytes -= len(known.Body)
	at := slices.Index(c.order, key) // the oldest, nearly always
	c.order = slices.Delete(c.order, at, at+1)
}
