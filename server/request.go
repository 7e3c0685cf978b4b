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

// request is one request and its answer.
type request struct {
	server         *Server
	w              http.ResponseWriter
	r              *http.Request
	requestID      string
	client         string // the address of the client
	address        string // what limits count as the client; see fair.ClientGroup
	addressCharged bool   // the address has paid for this request
	rateLimit      limit.Decision
	dataVersion    int64           // of the file, when the request came
	caller         *api.Caller     // once the credential has been checked
	read           *cachedResponse // of a read
	bodyRead       bool            // the body was asked for
	memory         limit.Reservation
	keyInProgress  string            // the key that the request is in progress for
	recorder       *responseRecorder // nil where nobody wants to know
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

// run checks a request in the order of the contract (section 2), then does
// what it asks for.
func (req *request) run(op *route) (api.Answer, error) {
	if op.custom != nil {
		return op.custom(req, op)
	}
	if op.Public {
		if err := req.limitAddress(); err != nil {
			return api.Answer{}, err
		}
	} else if err := req.admit(); err != nil {
		return api.Answer{}, err
	}
	if err := req.checkVersion(); err != nil {
		return api.Answer{}, err
	}
	if !op.Public {
		if err := req.caller.Permit(op.Operation); err != nil {
			return api.Answer{}, err
		}
	}
	if op.Method == http.MethodGet {
		return req.answerRead(op)
	}
	body, err := req.readBody(op)
	if err != nil {
		return api.Answer{}, err
	}
	replay, done, err := req.replay(op, body)
	if err != nil {
		return api.Answer{}, err
	}
	if replay != nil {
		return *replay, nil
	}
	defer done()
	in, err := req.bind(op, body)
	if err != nil {
		return api.Answer{}, err
	}
	return op.run(req.r.Context(), req.caller, in)
}

// answerRead answers a read, from memory where nothing has changed since.
func (req *request) answerRead(op *route) (api.Answer, error) {
	q := cacheKey{op: op.Operation, query: req.r.URL.RawQuery}
	keep := cacheable(op.Operation)
	if keep {
		q.org, q.test = req.caller.Organisation.Org, req.caller.Test
		if req.read = req.server.cache.Get(req.dataVersion, q); req.read != nil {
			return req.read.Answer, req.reserve(int64(len(req.read.Body)))
		}
	}
	in, err := req.bind(op, nil)
	if err != nil {
		return api.Answer{}, err
	}
	if op.fixed != nil {
		req.read = op.fixed
		return req.read.Answer, nil
	}
	if err := req.reserve(limit.SmallResponse); err != nil {
		return api.Answer{}, err
	}
	in.Large = req.reserveLarge
	answer, err := req.runRead(op.run, in)
	if err != nil {
		return answer, err
	}
	req.read = newCachedResponse(answer)
	if keep {
		req.server.cache.Put(req.dataVersion, q, req.read)
	}
	return answer, nil
}

// runRead does the work of a read, within the time that one may take.
func (req *request) runRead(run api.Operation, in api.Input) (api.Answer, error) {
	ctx, cancel := context.WithTimeout(req.r.Context(), req.server.Deadline)
	defer cancel()
	return run(ctx, req.caller, in)
}

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

// begin gives a request its id and its answer the headers that all have.
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

// commonHeaders are the headers that start the same on every answer. Their values are
// shared: set another, never change one.
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

// errResponseMemory refuses a request whose response found no room for too long.
var errResponseMemory = &api.Error{
	Code: api.ServiceUnavailable, Err: limit.ErrNoMemory,
	Message: "too many bytes of responses are in flight; read those that wait, then try again",
}

// budgetOwner is the name that a response is reserved for: the key, or else the
// client's address.
func (req *request) budgetOwner() string {
	if req.keyInProgress != "" {
		return "key:" + req.keyInProgress
	}
	return "address:" + req.address
}

// reserve waits until the process has room for a response of so many bytes.
func (req *request) reserve(bytes int64) error {
	req.memory.Release() // what the body of the request held
	var err error
	req.memory, err = req.server.Responses.Reserve(req.r.Context(), req.budgetOwner(), bytes)
	return asResponseMemory(err)
}

// reserveLarge exchanges what is reserved for a small response for the room that a
// large one takes. Nothing is held while it waits.
func (req *request) reserveLarge(ctx context.Context) error {
	return asResponseMemory(req.memory.Exchange(ctx, limit.LargeResponse))
}

func asResponseMemory(err error) error {
	if errors.Is(err, limit.ErrNoMemory) {
		return errResponseMemory
	}
	return err
}

// end gives back what the request held. Its response has been handed to the
// system by then, all but the last 4 KB at most.
func (req *request) end() {
	req.memory.Release()
	if req.keyInProgress != "" {
		req.server.inProgress.End(req.keyInProgress)
	}
}
