package server

import (
	"crypto/sha256"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"govsvc/db"
	"govsvc/server/api"
	"govsvc/server/openapi"
)

// maxIdempotencyKey bounds an Idempotency-Key, in characters.
const maxIdempotencyKey = 255

// inFlightKeys are the keys whose request is being done now.
type inFlightKeys struct {
	mutex sync.Mutex
	keys  map[inFlightKey]bool
}

type inFlightKey struct {
	org  db.Org
	test bool
	key  string
}

// begin notes that a request is being done; not twice at once.
func (f *inFlightKeys) begin(k inFlightKey) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.keys[k] {
		return false
	}
	if f.keys == nil {
		f.keys = map[inFlightKey]bool{}
	}
	f.keys[k] = true
	return true
}

func (f *inFlightKeys) end(k inFlightKey) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	delete(f.keys, k)
}

// replay finds the answer that this request got before, if it did; if not,
// it is being done until done is called. The caller then keeps the answer.
func (req *request) replay(op *route, body []byte) (replay *api.Answer, done func(), err error) {
	done = func() {}
	key, err := req.idempotencyKey(op)
	if err != nil || key == "" {
		return nil, done, err
	}
	k := db.IdempotencyKey{
		Org: req.caller.Holder, Key: key, Now: req.server.Store.Now(),
		Request: requestDigest(req.r.Method, req.r.URL.Path, body, op.BodyOptional),
	}
	flight := inFlightKey{k.Org, req.caller.Test, key}
	if !req.server.inFlight.begin(flight) {
		return nil, done, &api.Error{
			Code: api.IdempotencyInFlight, Param: "Idempotency-Key",
			Message: "a request with this Idempotency-Key is still being done; repeat it in a moment for its answer",
		}
	}
	kept, err := req.caller.Store.KeptAnswer(req.r.Context(), k)
	if err != nil || kept != nil {
		req.server.inFlight.end(flight)
	}
	if err != nil {
		return nil, done, err
	}
	if kept != nil {
		req.w.Header().Set("Idempotency-Replayed", "true")
		return &api.Answer{Status: kept.Status, ContentType: api.JSON, Body: kept.Body}, done, nil
	}
	req.caller.Idempotency = &k
	return nil, func() { req.server.inFlight.end(flight) }, nil
}

// idempotencyKey reads and checks the header; "" where it may be absent and is.
func (req *request) idempotencyKey(op *route) (string, error) {
	values := req.r.Header.Values("Idempotency-Key")
	if op.Idempotency == openapi.NoIdempotency || len(values) == 0 && op.Idempotency == openapi.OptionalIdempotency {
		return "", nil
	}
	refusal := func(message string) error {
		return &api.Error{Code: api.InvalidParameter, Param: "Idempotency-Key", Message: message}
	}
	switch {
	case len(values) == 0:
		return "", refusal("the header Idempotency-Key is required here: a text of your own, unique for each logical request")
	case len(values) > 1:
		return "", refusal("the header Idempotency-Key was sent more than once")
	}
	key := values[0]
	if len(key) < 1 || len(key) > maxIdempotencyKey {
		return "", refusal("Idempotency-Key must have 1 to 255 characters")
	}
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return "", refusal("Idempotency-Key must be printable ASCII")
		}
	}
	return key, nil
}

// requestDigest is what makes two requests the same: method, path and body, members
// in another order or other white space aside.
func requestDigest(method, path string, body []byte, emptyIsObject bool) [sha256.Size]byte {
	canonical := jsontext.Value(body)
	if len(body) == 0 && emptyIsObject {
		canonical = jsontext.Value("{}")
	}
	canonical = canonical.Clone()
	// What is not JSON counts as it is: it will be refused, and keeps nothing.
	_ = canonical.Format(jsontext.ReorderRawObjects(true), jsontext.PreserveRawStrings(false), jsontext.CanonicalizeRawFloats(true))
	return sha256.Sum256([]byte(method + "\n" + path + "\n" + string(canonical)))
}
