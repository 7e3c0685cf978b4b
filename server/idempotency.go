package server

import (
	"crypto/sha256"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"govsvc/db"
	"govsvc/server/api"
	"govsvc/server/openapi"
)

// maxIdempotencyKey is the maximum length of an Idempotency-Key in characters.
const maxIdempotencyKey = 255

// inFlightKeys are the idempotency keys of the requests in progress.
type inFlightKeys struct {
	mutex sync.Mutex
	keys  map[inFlightKey]bool
}

type inFlightKey struct {
	org  db.Org
	test bool
	key  string
}

// begin records that a request is in progress. It returns false if one with the
// same key already is.
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

// replay returns the stored response to a repeated request. For a new one it
// returns nil and sets the caller's idempotency key, under which the operation
// stores its response. The request is in progress until done is called.
func (req *request) replay(op *route, body []byte) (replay *api.Response, done func(), err error) {
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
			Message: "a request with this Idempotency-Key is still in progress; repeat it in a moment for its response",
		}
	}
	stored, err := req.caller.Store.Idempotency.Response(req.r.Context(), k)
	if err != nil || stored != nil {
		req.server.inFlight.end(flight)
	}
	if err != nil {
		return nil, done, err
	}
	if stored != nil {
		req.w.Header().Set("Idempotency-Replayed", "true")
		return &api.Response{Status: stored.Status, ContentType: api.JSON, Body: stored.Body}, done, nil
	}
	req.caller.Idempotency = &k
	return nil, func() { req.server.inFlight.end(flight) }, nil
}

// idempotencyKey returns the checked header, or "" if it is absent and not required.
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
		return "", refusal("the header Idempotency-Key is required; send a text of your own that is unique for each logical request")
	case len(values) > 1:
		return "", refusal("the header Idempotency-Key was sent more than once; send it once")
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

// requestDigest identifies a request by its method, path and body. The order of
// members and the white space of the body do not count.
func requestDigest(method, path string, body []byte, emptyIsObject bool) [sha256.Size]byte {
	canonical := jsontext.Value(body)
	if len(body) == 0 && emptyIsObject {
		canonical = jsontext.Value("{}")
	}
	canonical = canonical.Clone()
	// A body that is not JSON stays as it is. It is refused, and no response is stored.
	_ = canonical.Format(jsontext.ReorderRawObjects(true), jsontext.PreserveRawStrings(false), jsontext.CanonicalizeRawFloats(true))
	return sha256.Sum256([]byte(method + "\n" + path + "\n" + string(canonical)))
}
