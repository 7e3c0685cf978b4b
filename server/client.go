package server

import (
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"govsvc/db"
	"govsvc/db/fair"
	"govsvc/server/api"
	"govsvc/server/limit"
	"govsvc/server/metrics"
)

// Proxies are the networks of the proxies whose X-Forwarded headers count.
type Proxies []netip.Prefix

// ClientGroup returns the group of addresses that limits count as the client of
// a request; see fair.ClientGroup.
func (p Proxies) ClientGroup(r *http.Request) string { return fair.ClientGroup(p.ClientAddress(r)) }

// ClientAddress returns the client's address: the peer's or, if the peer is a
// trusted proxy, the last in X-Forwarded-For that is not a trusted proxy.
func (p Proxies) ClientAddress(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	address := peer.Addr().Unmap()
	if p.trust(address) {
		hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
		for i := len(hops) - 1; i >= 0 && p.trust(address); i-- {
			hop, ok := parseHop(strings.TrimSpace(hops[i]))
			if !ok {
				break
			}
			address = hop
		}
	}
	return address.WithZone("").String()
}

// Secure reports whether the client used TLS: to this server, or to a trusted
// proxy that sets X-Forwarded-Proto. The first value there is from the proxy
// that the client connected to.
func (p Proxies) Secure(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !p.trust(peer.Addr().Unmap()) {
		return false
	}
	first, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Proto"), ",")
	return strings.EqualFold(strings.TrimSpace(first), "https")
}

// parseHop parses an element of X-Forwarded-For; some proxies add a port.
func parseHop(text string) (netip.Addr, bool) {
	if address, err := netip.ParseAddr(text); err == nil {
		return address.Unmap(), true
	}
	with, err := netip.ParseAddrPort(text)
	return with.Addr().Unmap(), err == nil
}

func (p Proxies) trust(address netip.Addr) bool {
	for _, prefix := range p {
		if prefix.Contains(address.WithZone("")) { // no prefix contains an address with a zone
			return true
		}
	}
	return false
}

// addressRate returns the limit of an address without a valid key.
func (s *Server) addressRate() limit.Rate { return limit.Rate{PerMinute: s.AnonymousPerMinute} }

// The limits in the headers for callers without a key if --anonymous-rpm is 0.
const (
	unlimitedPerMinute = 1_000_000
	unlimitedPerDay    = unlimitedPerMinute * minutesPerDay
	minutesPerDay      = 24 * 60
)

// anonymous completes the state of an address for the response headers. An
// address has no limit a day, so the header has the limit a minute times 1,440.
func (s *Server) anonymous(state limit.Decision) limit.Decision {
	if state.Limit == math.MaxInt32 { // no limit: see limit.Decision
		state.Limit, state.Remaining = unlimitedPerMinute, unlimitedPerMinute
	}
	state.Day = min(minutesPerDay*state.Limit, unlimitedPerDay)
	return state
}

// admit authenticates the caller and checks the organisation's subscription and
// the limits of the key.
func (req *request) admit() error {
	key, err := req.credential()
	if err != nil {
		if req.addressCharged || api.Refusal(err).Code == api.RateLimitExceeded {
			return err
		}
		if limited := req.limitAddress(); limited != nil {
			return limited
		}
		return err
	}
	if req.recorder != nil {
		req.recorder.keyID = key.ID
	}
	entitlements := key.Organisation.Plan.Entitlements()
	rate := limit.Rate{PerMinute: entitlements.PerMinute, PerDay: entitlements.PerDay}
	if key.PerMinute != nil {
		rate.PerMinute = *key.PerMinute
	}
	if key.PerDay != nil {
		rate.PerDay = *key.PerDay
	}
	if req.caller, err = req.newCaller(key, entitlements); err == nil {
		err = checkSubscription(key.Organisation, entitlements)
	}
	if err != nil {
		req.rateLimit = req.server.keys.Peek(key.ID, rate)
		return err
	}
	if !req.server.inProgress.Begin(key.ID) {
		req.rateLimit = req.server.keys.Peek(key.ID, rate)
		req.rateLimit.RetryAfter = time.Second
		req.server.Metrics.Refused(metrics.Key)
		return req.limited("this key has too many requests in progress; wait for some of their responses")
	}
	req.keyInProgress = key.ID
	if req.rateLimit = req.server.keys.Allow(key.ID, rate); !req.rateLimit.Allowed {
		req.server.Metrics.Refused(metrics.Key)
		return req.limited("this key has reached its request limit; wait for the seconds in Retry-After")
	}
	req.caller.Uses = req.server.verifier.used(key)
	return nil
}

// checkSubscription refuses an organisation that may not use the API at all.
func checkSubscription(org db.Organisation, entitlements db.Entitlements) error {
	switch {
	case org.Subscription != db.Active:
		return &api.Error{Code: api.SubscriptionInactive, Message: "the organisation's subscription is not active; the operator of the service can renew it"}
	case !entitlements.API:
		return &api.Error{Code: api.TierRequired, Message: "the organisation's plan (" + string(org.Plan) + ") does not include the API"}
	}
	return nil
}

// newCaller returns the holder of the key as a caller on the live data or, for a
// test key, on the sandbox's.
func (req *request) newCaller(key *db.StoredKey, entitlements db.Entitlements) (*api.Caller, error) {
	caller := &api.Caller{
		Store: req.server.Store, Organisation: key.Organisation, Entitlements: entitlements,
		Holder: key.Organisation.Org, ActorID: "key:" + key.ID, Scopes: key.Scopes, RequestID: req.requestID, Address: req.client,
		Receivers: req.server.Receivers,
	}
	if key.Kind == db.TestKey {
		caller.Test = true
		req.w.Header().Set("Service-Environment", "test")
		sandbox, err := req.server.sandbox.get()
		if err != nil {
			return nil, &api.Error{Code: api.ServiceUnavailable, Message: "the sandbox could not be opened; try again later", Err: err}
		}
		caller.Store, caller.Receivers = sandbox, req.server.SandboxReceivers
		plan := key.Organisation.Plan
		if caller.Organisation, err = sandbox.Orgs.ByName(req.r.Context(), db.DefaultOrganisation); err != nil {
			return nil, err
		}
		caller.Organisation.Plan = plan
	}
	return caller, nil
}

// credential returns the key that the request presents, verified. The key is read
// again after every commit that may have changed its row or its organisation, so
// that a revocation or a change of plan by any process has effect immediately.
func (req *request) credential() (*db.StoredKey, error) {
	presented := bearer(req.r.Header.Values("Authorization"))
	if presented == "" {
		if presented = req.r.Header.Get("X-Api-Key"); presented != "" {
			h := req.w.Header()
			h.Set("Deprecation", "@1789171200") // 12 Sep 2026, with this version
			h.Set("Sunset", "Sun, 12 Sep 2027 00:00:00 GMT")
		}
	}
	if presented == "" {
		return nil, &api.Error{Code: api.MissingCredential, Message: "send the API key as `Authorization: Bearer <API_KEY>`"}
	}
	req.readDataVersion()
	key, err := req.server.verifier.verify(req.r.Context(), presented, req.dataVersion, req.address, req.chargeGuess)
	if err != nil {
		return nil, err
	}
	if key == nil || key.Ended(req.server.Store.Now()) {
		return nil, &api.Error{Code: api.InvalidAPIKey, Message: "this API key is not valid: it is mistyped, revoked or expired"}
	}
	return key, nil
}

// readDataVersion asks for the data version. It is 0 after an error, and then nothing is
// taken from memory.
func (req *request) readDataVersion() {
	req.dataVersion, _ = req.server.Store.File.DataVersion()
}

// chargeGuess counts the request for the client's address before a key is
// hashed, so that an address at its limit can't make the service hash.
func (req *request) chargeGuess() error {
	if limited := req.limitAddress(); limited != nil {
		return limited
	}
	req.addressCharged = true
	return nil
}

// limitAddress counts the request for the client's address, and refuses it if
// the address has reached its limit.
func (req *request) limitAddress() *api.Error {
	req.rateLimit = req.server.anonymous(req.server.addresses.Allow(req.address, req.server.addressRate()))
	if req.rateLimit.Allowed {
		return nil
	}
	req.server.Metrics.Refused(metrics.Address)
	return req.limited("this address has sent too many requests without a valid key; wait for the seconds in Retry-After")
}

// limited returns the refusal of a request that exceeds a limit, and sets
// Retry-After.
func (req *request) limited(message string) *api.Error {
	wait := (req.rateLimit.RetryAfter + time.Second - 1) / time.Second
	req.w.Header().Set("Retry-After", strconv.Itoa(max(1, int(wait))))
	return &api.Error{Code: api.RateLimitExceeded, Message: message}
}

// limitNames have the spelling of the specification, which Header.Set would
// change.
var limitNames = [4]string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Limit-Day"}

// limitHeaders sets the headers with the state of the limit, on success and
// failure alike.
func (req *request) limitHeaders() {
	values := [4]string{
		strconv.Itoa(req.rateLimit.Limit), strconv.Itoa(req.rateLimit.Remaining),
		strconv.FormatInt(unixCeil(req.rateLimit.Reset), 10), strconv.Itoa(req.rateLimit.Day),
	}
	h := req.w.Header()
	for i, name := range limitNames {
		h[name] = values[i : i+1 : i+1]
	}
}

func unixCeil(t time.Time) int64 { return t.Add(time.Second - 1).Unix() }

// bearer returns the token of an Authorization header (RFC 6750); "" unless
// exactly one is sent.
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
