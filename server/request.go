package server

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"maps"
	"net/http"

	"govsvc/db"
	"govsvc/db/fair"
	"govsvc/server/api"
	"govsvc/server/limit"
)

// request is the state of one HTTP request.
type request struct {
	server         *Server
	w              http.ResponseWriter
	r              *http.Request
	requestID      string
	client         string // the address of the client
	address        string // what limits count as the client; see fair.ClientGroup
	addressCharged bool   // the request counts for the address
	rateLimit      limit.Decision
	dataVersion    int64           // of the file, when the request or its message came; 0 if unknown
	caller         *api.Caller     // nil until the credential is checked
	read           *cachedResponse // the response to a read
	bodyRead       bool            // reading the body has begun
	memory         limit.Reservation
	keyInProgress  string            // the key that the request counts for while in progress
	recorder       *responseRecorder // nil without metrics and access log
}

// serve answers one request of an operation.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, op *route) {
	req := s.begin(w, r)
	defer req.end()
	if req.recorder != nil {
		req.recorder.operation = op.ID
	}
	answer, err := req.run(op)
	if err != nil {
		req.fail(err)
		return
	}
	req.send(answer)
}

// run checks a request in the order of the contract (section 2) and runs the
// operation.
func (req *request) run(op *route) (api.Response, error) {
	if op.custom != nil {
		return op.custom(req, op)
	}
	if op.Public {
		if err := req.limitAddress(); err != nil {
			return api.Response{}, err
		}
	} else if err := req.admit(); err != nil {
		return api.Response{}, err
	}
	if err := req.checkVersion(); err != nil {
		return api.Response{}, err
	}
	if !op.Public {
		if err := req.caller.Permit(op.Operation); err != nil {
			return api.Response{}, err
		}
	}
	if op.Method == http.MethodGet {
		return req.answerRead(op)
	}
	body, err := req.readBody(op)
	if err != nil {
		return api.Response{}, err
	}
	replay, done, err := req.replay(op, body)
	if err != nil {
		return api.Response{}, err
	}
	if replay != nil {
		return *replay, nil
	}
	defer done()
	in, err := req.bind(op, body)
	if err != nil {
		return api.Response{}, err
	}
	return encoded(op.run(req.r.Context(), req.caller, in))
}

// answerRead answers a read, from the cache if what it reads has not changed since.
func (req *request) answerRead(op *route) (api.Response, error) {
	key := cacheKey{op: op.Operation, query: req.r.URL.RawQuery}
	useCache := cacheable(op.Operation)
	if useCache {
		key.org, key.test = req.caller.Organisation.Org, req.caller.Test
		if req.read = req.server.cache.Get(req.dataVersion, key); req.read != nil {
			return req.read.Response, req.reserve(int64(len(req.read.Body)))
		}
	}
	in, err := req.bind(op, nil)
	if err != nil {
		return api.Response{}, err
	}
	if op.fixed != nil {
		req.read = op.fixed
		return req.read.Response, nil
	}
	if err := req.reserve(limit.SmallResponse); err != nil {
		return api.Response{}, err
	}
	in.Large = req.reserveLarge
	answer, reads, err := req.runRead(op.run, in)
	if err != nil {
		return answer, err
	}
	req.read = newCachedResponse(answer)
	if useCache {
		req.server.cache.Put(req.dataVersion, key, req.read, reads)
	}
	return answer, nil
}

// runRead runs a read within the deadline of reads, and returns what it depended on.
func (req *request) runRead(run api.Operation, in api.Input) (api.Response, *db.Reads, error) {
	ctx, cancel := context.WithTimeout(req.r.Context(), req.server.Deadline)
	defer cancel()
	ctx, reads := req.server.Store.File.Record(ctx, req.dataVersion)
	answer, err := encoded(run(ctx, req.caller, in))
	return answer, reads, err
}

// encoded returns the response to a request whose operation has returned.
func encoded(result api.Result, err error) (api.Response, error) {
	if err != nil {
		return api.Response{}, err
	}
	return result.Response(), nil
}

// checkVersion refuses a request for another version of the API.
func (req *request) checkVersion() error {
	wanted := req.r.Header.Values("Service-Version")
	if len(wanted) == 0 || len(wanted) == 1 && wanted[0] == db.APIVersion {
		return nil
	}
	return &api.Error{
		Code: api.UnsupportedVersion, Param: "Service-Version",
		Message: "Service-Version must be " + db.APIVersion + ", or left out for the current version",
	}
}

// begin gives a request its id and sets the headers of all responses.
func (s *Server) begin(w http.ResponseWriter, r *http.Request) *request {
	req := &request{server: s, w: w, r: r, requestID: newRequestID(), client: Proxies(s.TrustedProxies).ClientAddress(r)}
	req.address = fair.ClientGroup(req.client)
	h := w.Header()
	h["X-Request-Id"] = []string{req.requestID}
	if o, ok := w.(*responseRecorder); ok {
		o.requestID, o.address, req.recorder = req.requestID, req.client, o
	}
	maps.Copy(h, commonHeaders)
	return req
}

// commonHeaders are the headers that every response starts with. Requests share
// the values: replace a value, never change it in place.
var commonHeaders = http.Header{
	"Service-Version":        {db.APIVersion},
	"Service-Environment":    {"live"},
	"X-Content-Type-Options": {"nosniff"},
	"Cache-Control":          {"private, no-cache"},
	"Vary":                   {"Accept-Encoding, Authorization, X-Api-Key, Service-Version"},
}

// lowerBase32 is the alphabet of request ids.
var lowerBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567")

func newRequestID() string {
	var b [15]byte
	rand.Read(b[:]) //nolint:errcheck // never fails; see its documentation
	return "req_" + lowerBase32.EncodeToString(b[:])
}

// errResponseMemory refuses a request that waited too long for memory for its
// response.
var errResponseMemory = &api.Error{
	Code: api.ServiceUnavailable, Err: limit.ErrNoMemory,
	Message: "too many bytes of responses are being sent; read the responses that you wait for, then try again",
}

// budgetOwner returns the name that memory is reserved for: the key or, without
// one, the client's address.
func (req *request) budgetOwner() string {
	if req.keyInProgress != "" {
		return "key:" + req.keyInProgress
	}
	return "address:" + req.address
}

// reserve waits for memory for a response of that many bytes.
func (req *request) reserve(bytes int64) error {
	req.memory.Release() // the reservation of the request's body
	var err error
	req.memory, err = req.server.Responses.Reserve(req.r.Context(), req.budgetOwner(), bytes)
	return asResponseMemory(err)
}

// reserveLarge exchanges the reservation of a small response for that of a large
// one. The request holds no reservation while it waits.
func (req *request) reserveLarge(ctx context.Context) error {
	return asResponseMemory(req.memory.Exchange(ctx, limit.LargeResponse))
}

// asResponseMemory turns limit.ErrNoMemory into the refusal that the caller sees.
func asResponseMemory(err error) error {
	if errors.Is(err, limit.ErrNoMemory) {
		return errResponseMemory
	}
	return err
}

// end releases the memory and the place of the request. By then the operating
// system has the response, except for the last 4 KB at most.
func (req *request) end() {
	req.memory.Release()
	if req.keyInProgress != "" {
		req.server.inProgress.End(req.keyInProgress)
	}
}
