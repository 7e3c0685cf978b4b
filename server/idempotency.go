package server

import (
	"crypto/sha256"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"govsvc/db"
	"govsvc/server/api"
	"govsvc/server/openapi"
)

// longestKey bounds an Idempotency-Key, in characters.
const longestKey = 255

// inFlight are the keys whose request is being done now.
type inFlight struct {
	mutex sync.Mutex
	keys  map[flightKey]bool
}

type flightKey struct {
	org  db.Org
	test bool
	key  string
}

// enter notes that a request is being done; not twice at once.
func (f *inFlight) enter(k flightKey) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.keys[k] {
		return false
	}
	if f.keys == nil {
		f.keys = map[flightKey]bool{}
	}
	f.keys[k] = true
	return true
}

func (f *inFlight) leave(k flightKey) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	delete(f.keys, k)
}

// idempotent finds the answer that this request got before, if it did; if not,
// it is being done until done is called. The caller then keeps the answer.
func (x *request) idempotent(op *route, body []byte) (replay *api.Answer, done func(), err error) {
	done = func() {}
	key, err := x.idempotencyKey(op)
	if err != nil || key == "" {
		return nil, done, err
	}
	k := db.IdempotencyKey{
		Org: x.caller.Holder, Key: key, Now: x.Store.Now(),
		Request: identity(x.r.Method, x.r.URL.Path, body, op.BodyOptional),
	}
	flight := flightKey{k.Org, x.caller.Test, key}
	if !x.flying.enter(flight) {
		return nil, done, &api.Error{
			Code: api.IdempotencyInFlight, Param: "Idempotency-Key",
			Message: "a request with this Idempotency-Key is still being done; repeat it in a moment for its answer",
		}
	}
	kept, err := x.caller.Store.KeptAnswer(x.r.Context(), k)
	if err != nil || kept != nil {
		x.flying.leave(flight)
	}
	if err != nil {
		return nil, done, err
	}
	if kept != nil {
		x.w.Header().Set("Idempotency-Replayed", "true")
		return &api.Answer{Status: kept.Status, ContentType: api.JSON, Body: kept.Body}, done, nil
	}
	x.caller.Idempotency = &k
	return nil, func() { x.flying.leave(flight) }, nil
}

// idempotencyKey reads and checks the header; "" where it may be absent and is.
func (x *request) idempotencyKey(op *route) (string, error) {
	values := x.r.Header.Values("Idempotency-Key")
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
	if len(key) < 1 || len(key) > longestKey {
		return "", refusal("Idempotency-Key must have 1 to 255 characters")
	}
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return "", refusal("Idempotency-Key must be printable ASCII")
		}
	}
	return key, nil
}

// identity is what makes two requests the same: method, path and body, members
// in another order or other white space aside.
func identity(method, path string, body []byte, emptyIsObject bool) [sha256.Size]byte {
	canonical := jsontext.Value(body)
	if len(body) == 0 && emptyIsObject {
		canonical = jsontext.Value("{}")
	}
	canonical = canonical.Clone()
	// What is not JSON counts as it is: it will be refused, and keeps nothing.
	_ = canonical.Format(jsontext.ReorderRawObjects(true), jsontext.PreserveRawStrings(false), jsontext.CanonicalizeRawFloats(true))
	return sha256.Sum256([]byte(method + "\n" + path + "\n" + string(canonical)))
}
