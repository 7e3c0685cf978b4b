package server

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"io"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"govsvc/db"
	"govsvc/db/fair"
	"govsvc/server/api"
	"govsvc/server/limit"
	"govsvc/server/metrics"
)

// request is one request and its answer.
type request struct {
	*Server
	w          http.ResponseWriter
	r          *http.Request
	requestID  string
	client     string // the address of the client
	address    string // what limits count as the client; see fair.ClientGroup
	charged    bool   // the address has paid for this request
	state      limit.Decision
	generation int64           // of the file, when the request came
	caller     *api.Caller     // once the credential has been checked
	read       *cachedResponse // of a read
	fetched    bool            // the body was asked for
	memory     limit.Reservation
	counted    string    // the key that the request is in progress for
	seen       *observed // nil where nobody wants to know
}

// serve answers one request of an operation.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, op *route) {
	x := s.begin(w, r)
	defer x.end()
	if x.seen != nil {
		x.seen.operation = op.ID
	}
	answer, err := x.run(op)
	if err != nil {
		x.fail(err)
		return
	}
	x.send(answer)
}

// run checks a request in the order of the contract (section 2), then does
// what it asks for.
func (x *request) run(op *route) (api.Answer, error) {
	if op.own != nil {
		return op.own(x, op)
	}
	if op.Public {
		if err := x.limitAddress(); err != nil {
			return api.Answer{}, err
		}
	} else if err := x.admit(); err != nil {
		return api.Answer{}, err
	}
	if err := x.checkVersion(); err != nil {
		return api.Answer{}, err
	}
	if !op.Public {
		if err := x.caller.Permit(op.Operation); err != nil {
			return api.Answer{}, err
		}
	}
	if op.Method == http.MethodGet {
		return x.answerRead(op)
	}
	body, err := x.readBody(op)
	if err != nil {
		return api.Answer{}, err
	}
	replay, done, err := x.idempotent(op, body)
	if err != nil {
		return api.Answer{}, err
	}
	if replay != nil {
		return *replay, nil
	}
	defer done()
	in, err := x.bind(op, body)
	if err != nil {
		return api.Answer{}, err
	}
	return op.run(x.r.Context(), x.caller, in)
}

// answerRead answers a read, from memory where nothing has changed since.
func (x *request) answerRead(op *route) (api.Answer, error) {
	q := cacheKey{op: op.Operation, query: x.r.URL.RawQuery}
	keep := keepable(op.Operation)
	if keep {
		q.org, q.test = x.caller.Organisation.Org, x.caller.Test
		if x.read = x.kept.Get(x.generation, q); x.read != nil {
			return x.read.Answer, x.reserve(int64(len(x.read.Body)))
		}
	}
	in, err := x.bind(op, nil)
	if err != nil {
		return api.Answer{}, err
	}
	if op.always != nil {
		x.read = op.always
		return x.read.Answer, nil
	}
	if err := x.reserve(limit.SmallResponse); err != nil {
		return api.Answer{}, err
	}
	in.Large = x.large
	answer, err := x.runRead(op.run, in)
	if err != nil {
		return answer, err
	}
	x.read = newKeptAnswer(answer)
	if keep {
		x.kept.Put(x.generation, q, x.read)
	}
	return answer, nil
}

// runRead does the work of a read, within the time that one may take.
func (x *request) runRead(run api.Operation, in api.Input) (api.Answer, error) {
	ctx, cancel := context.WithTimeout(x.r.Context(), x.Deadline)
	defer cancel()
	return run(ctx, x.caller, in)
}

// admit finds out who calls, whether its organisation may use the API at all,
// and whether its key has requests left.
func (x *request) admit() error {
	key, err := x.credential()
	if err != nil {
		if x.charged || api.Refusal(err).Code == api.RateLimitExceeded {
			return err
		}
		if limited := x.limitAddress(); limited != nil {
			return limited
		}
		return err
	}
	if x.seen != nil {
		x.seen.keyID = key.ID
	}
	terms := key.Organisation.Plan.Entitlements()
	rate := limit.Rate{PerMinute: terms.PerMinute, PerDay: terms.PerDay}
	if key.PerMinute != nil {
		rate.PerMinute = *key.PerMinute
	}
	if key.PerDay != nil {
		rate.PerDay = *key.PerDay
	}
	if x.caller, err = x.newCaller(key, terms); err == nil {
		err = mayCall(key.Organisation, terms)
	}
	if err != nil {
		x.state = x.keys.Peek(key.ID, rate)
		return err
	}
	if !x.inProgress.Begin(key.ID) {
		x.state = x.keys.Peek(key.ID, rate)
		x.state.RetryAfter = time.Second
		x.Metrics.Refused(metrics.Key)
		return x.limited("this key has too many requests in progress at once; wait for some of their responses")
	}
	x.counted = key.ID
	if x.state = x.keys.Allow(key.ID, rate); !x.state.Allowed {
		x.Metrics.Refused(metrics.Key)
		return x.limited("this key has no requests left for now; wait as Retry-After says")
	}
	x.caller.Uses = x.verifier.used(key)
	return nil
}

// mayCall refuses an organisation that may not use the API at all.
func mayCall(org db.Organisation, terms db.Entitlements) error {
	switch {
	case org.Subscription != db.Active:
		return &api.Error{Code: api.SubscriptionInactive, Message: "the organisation's subscription is not live; its operator can renew it"}
	case !terms.API:
		return &api.Error{Code: api.TierRequired, Message: "the organisation's plan (" + string(org.Plan) + ") does not include the API"}
	}
	return nil
}

// newCaller is the key's holder, on the live data or on the sandbox's.
func (x *request) newCaller(key *db.StoredKey, terms db.Entitlements) (*api.Caller, error) {
	caller := &api.Caller{
		Store: x.Store, Organisation: key.Organisation, Entitlements: terms,
		Holder: key.Organisation.Org, ActorID: "key:" + key.ID, Scopes: key.Scopes, RequestID: x.requestID, Address: x.client,
		Receivers: x.Receivers,
	}
	if key.Kind == db.TestKey {
		caller.Test = true
		x.w.Header().Set("Service-Environment", "test")
		sandbox, err := x.sandbox.get()
		if err != nil {
			return nil, &api.Error{Code: api.ServiceUnavailable, Message: "the sandbox could not be opened; try again later", Err: err}
		}
		caller.Store, caller.Receivers = sandbox, x.SandboxReceivers
		plan := key.Organisation.Plan
		if caller.Organisation, err = sandbox.Organisation(x.r.Context(), db.DefaultOrganisation); err != nil {
			return nil, err
		}
		caller.Organisation.Plan = plan
	}
	return caller, nil
}

// limitAddress takes one of the requests that the client's address has without
// a valid key.
func (x *request) limitAddress() *api.Error {
	x.state = x.anonymous(x.addresses.Allow(x.address, x.addressRate()))
	if x.state.Allowed {
		return nil
	}
	x.Metrics.Refused(metrics.Address)
	return x.limited("this address has made too many requests without a valid key; wait as Retry-After says")
}

// addressRate is what an address may request without a valid key.
func (s *Server) addressRate() limit.Rate { return limit.Rate{PerMinute: s.AnonymousPerMinute} }

// Limits shown to callers without a key where --anonymous-rpm sets none.
const (
	unlimitedPerMinute = 1_000_000
	unlimitedPerDay    = unlimitedPerMinute * minutesPerDay
	minutesPerDay      = 24 * 60
)

// anonymous completes the state of an address for the response headers. No count
// is kept of its day: the limit shown is what the limit per minute allows in one.
func (s *Server) anonymous(state limit.Decision) limit.Decision {
	if state.Limit == math.MaxInt32 { // no limit: see limit.Decision
		state.Limit, state.Remaining = unlimitedPerMinute, unlimitedPerMinute
	}
	state.Day = min(minutesPerDay*state.Limit, unlimitedPerDay)
	return state
}

func (x *request) limited(message string) *api.Error {
	wait := (x.state.RetryAfter + time.Second - 1) / time.Second
	x.w.Header().Set("Retry-After", strconv.Itoa(max(1, int(wait))))
	return &api.Error{Code: api.RateLimitExceeded, Message: message}
}

func (x *request) checkVersion() error {
	wanted := x.r.Header.Values("Service-Version")
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
	x := &request{Server: s, w: w, r: r, requestID: newRequestID(), client: Proxies(s.TrustedProxies).ClientAddress(r)}
	x.address = fair.ClientGroup(x.client)
	h := w.Header()
	h["X-Request-Id"] = []string{x.requestID}
	if o, ok := w.(*observed); ok {
		o.requestID, o.address, x.seen = x.requestID, x.client, o
	}
	maps.Copy(h, common)
	return x
}

// common are the headers that start the same on every answer. Their values are
// shared: set another, never change one.
var common = http.Header{
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

// limitNames are spelt as specified, which Header.Set would change.
var limitNames = [4]string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Limit-Day"}

// limitHeaders tells what is left, on success and failure alike.
func (x *request) limitHeaders() {
	values := [4]string{
		strconv.Itoa(x.state.Limit), strconv.Itoa(x.state.Remaining),
		strconv.FormatInt(unixCeil(x.state.Reset), 10), strconv.Itoa(x.state.Day),
	}
	h := x.w.Header()
	for i, name := range limitNames {
		h[name] = values[i : i+1 : i+1]
	}
}

func unixCeil(t time.Time) int64 { return t.Add(time.Second - 1).Unix() }

// failure is how a code is sent.
type failure struct {
	status int
	kind   string
}

// failures is the one table of codes, statuses and types (contract, section 2).
var failures = map[api.Code]failure{
	api.InvalidParameter:     {400, "invalid_request_error"},
	api.InvalidCursor:        {400, "invalid_request_error"},
	api.UnsupportedVersion:   {400, "invalid_request_error"},
	api.MissingCredential:    {401, "authentication_error"},
	api.InvalidAPIKey:        {401, "authentication_error"},
	api.TierRequired:         {403, "permission_error"},
	api.SubscriptionInactive: {403, "permission_error"},
	api.InsufficientScope:    {403, "permission_error"},
	api.OriginNotAllowed:     {403, "permission_error"},
	api.NotFound:             {404, "not_found_error"},
	api.MethodNotAllowed:     {405, "invalid_request_error"},
	api.IdempotencyKeyReused: {409, "idempotency_error"},
	api.IdempotencyInFlight:  {409, "idempotency_error"},
	api.ResourceConflict:     {409, "conflict_error"},
	api.PayloadTooLarge:      {413, "invalid_request_error"},
	api.UnsupportedMediaType: {415, "invalid_request_error"},
	api.RateLimitExceeded:    {429, "rate_limit_error"},
	api.InternalError:        {500, "api_error"},
	api.ServiceUnavailable:   {503, "api_error"},
}

type errorEnvelope struct {
	Error errorBody `json:"error"`
}

type errorBody struct {
	Type      string   `json:"type"`
	Code      api.Code `json:"code"`
	Message   string   `json:"message"`
	Param     string   `json:"param,omitempty"`
	RequestID string   `json:"request_id"`
}

// fail answers with the error envelope.
func (x *request) fail(err error) {
	refusal := api.Refusal(err)
	how := failures[refusal.Code]
	h := x.w.Header()
	switch how.status {
	case http.StatusUnauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	case http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	}
	if how.status >= 500 {
		x.logFailure(refusal)
	}
	x.limitHeaders()
	x.leaveBody()
	h.Set("Content-Type", api.JSON)
	body, err := api.EncodeJSON(errorEnvelope{errorBody{how.kind, refusal.Code, refusal.Message, refusal.Param, x.requestID}})
	if err != nil {
		x.Logger.Error("error envelope", "error", err)
	}
	x.w.WriteHeader(how.status)
	x.write(append(body, '\n'))
}

// logFailure logs a failure as an error, unless its cause is that the client
// has left or that it has to wait: anybody can bring that about.
func (x *request) logFailure(refusal *api.Error) {
	level := slog.LevelError
	if db.Is(refusal, db.Busy) || errors.Is(refusal, limit.ErrNoMemory) || errors.Is(refusal, context.Canceled) && x.r.Context().Err() != nil {
		level = slog.LevelDebug
	}
	key := ""
	if x.caller != nil {
		key = strings.TrimPrefix(x.caller.ActorID, "key:")
	}
	x.Logger.Log(x.r.Context(), level, "request failed", "request_id", x.requestID, "key_id", key, "method", x.r.Method, "path", shown(x.r.URL.Path),
		"code", string(refusal.Code), "error", errors.Unwrap(refusal))
}

// errPanic is all that an answer knows of a panic; the log has the rest.
var errPanic = errors.New("panic")

// recoverPanics answers a request whose handler panicked with a 500, and logs
// where.
func (s *Server) recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { //nolint:contextcheck // the context is that of the request
			problem := recover()
			if problem == nil {
				return
			}
			if problem == http.ErrAbortHandler { //nolint:errorlint // a sentinel of net/http, compared as it documents
				panic(problem)
			}
			x := s.begin(w, r)
			s.Logger.Error("panic", "request_id", x.requestID, "panic", problem, "method", r.Method, "path", shown(r.URL.Path), "stack", string(debug.Stack()))
			x.state = s.anonymous(s.addresses.Peek(x.address, s.addressRate()))
			x.fail(errPanic)
		}()
		next.ServeHTTP(w, r)
	})
}

func (x *request) write(body []byte) {
	//nolint:gosec // JSON, sent as such and not to be sniffed
	if _, err := x.w.Write(body); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		x.Logger.Debug("answer not sent", "request_id", x.requestID, "error", err)
	}
}
