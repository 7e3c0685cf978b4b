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

// ClientGroup is what limits count as the client of a request; see
// fair.ClientGroup.
func (p Proxies) ClientGroup(r *http.Request) string { return fair.ClientGroup(p.ClientAddress(r)) }

// ClientAddress is the client's address: the peer's or, where the peer is a
// trusted proxy, the last in X-Forwarded-For that is not one.
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

// Secure tells whether the client came over TLS: to this server, or to a
// trusted proxy that says so in X-Forwarded-Proto. Of several proxies in a row
// the first, which the client spoke to, stands first there.
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

// parseHop reads an element of X-Forwarded-For; some proxies add a port.
func parseHop(text string) (netip.Addr, bool) {
	if address, err := netip.ParseAddr(text); err == nil {
		return address.Unmap(), true
	}
	with, err := netip.ParseAddrPort(text)
	return with.Addr().Unmap(), err == nil
}

func (p Proxies) trust(address netip.Addr) bool {
	for _, prefix := range p {
		if prefix.Contains(address.WithZone("")) { // a zone fits no prefix
			return true
		}
	}
	return false
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

// admit finds out who calls, whether its organisation may use the API at all,
// and whether its key has requests left.
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
	terms := key.Organisation.Plan.Entitlements()
	rate := limit.Rate{PerMinute: terms.PerMinute, PerDay: terms.PerDay}
	if key.PerMinute != nil {
		rate.PerMinute = *key.PerMinute
	}
	if key.PerDay != nil {
		rate.PerDay = *key.PerDay
	}
	if req.caller, err = req.newCaller(key, terms); err == nil {
		err = checkSubscription(key.Organisation, terms)
	}
	if err != nil {
		req.rateLimit = req.server.keys.Peek(key.ID, rate)
		return err
	}
	if !req.server.inProgress.Begin(key.ID) {
		req.rateLimit = req.server.keys.Peek(key.ID, rate)
		req.rateLimit.RetryAfter = time.Second
		req.server.Metrics.Refused(metrics.Key)
		return req.limited("this key has too many requests in progress at once; wait for some of their responses")
	}
	req.keyInProgress = key.ID
	if req.rateLimit = req.server.keys.Allow(key.ID, rate); !req.rateLimit.Allowed {
		req.server.Metrics.Refused(metrics.Key)
		return req.limited("this key has no requests left for now; wait as Retry-After says")
	}
	req.caller.Uses = req.server.verifier.used(key)
	return nil
}

// checkSubscription refuses an organisation that may not use the API at all.
func checkSubscription(org db.Organisation, terms db.Entitlements) error {
	switch {
	case org.Subscription != db.Active:
		return &api.Error{Code: api.SubscriptionInactive, Message: "the organisation's subscription is not live; its operator can renew it"}
	case !terms.API:
		return &api.Error{Code: api.TierRequired, Message: "the organisation's plan (" + string(org.Plan) + ") does not include the API"}
	}
	return nil
}

// newCaller is the key's holder, on the live data or on the sandbox's.
func (req *request) newCaller(key *db.StoredKey, terms db.Entitlements) (*api.Caller, error) {
	caller := &api.Caller{
		Store: req.server.Store, Organisation: key.Organisation, Entitlements: terms,
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
		if caller.Organisation, err = sandbox.Organisation(req.r.Context(), db.DefaultOrganisation); err != nil {
			return nil, err
		}
		caller.Organisation.Plan = plan
	}
	return caller, nil
}

// credential finds the key that a request presents and verifies it. The key is
// read anew whenever anything was committed to the file, so that a revocation
// or a change of plan by any process counts at once.
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
	// a file whose generation can't be told is read anew for every request
	if generation, err := req.server.Store.DataVersion(req.r.Context()); err == nil {
		req.dataVersion = generation
	}
	key, err := req.server.verifier.verify(req.r.Context(), presented, req.dataVersion, req.address, req.chargeGuess)
	if err != nil {
		return nil, err
	}
	if key == nil || key.Ended(req.server.Store.Now()) {
		return nil, &api.Error{Code: api.InvalidAPIKey, Message: "this API key is not valid: it is mistyped, revoked or expired"}
	}
	return key, nil
}

// chargeGuess takes one of the address's requests before a key is hashed, so
// that an address without any left can't have the service hash.
func (req *request) chargeGuess() error {
	if limited := req.limitAddress(); limited != nil {
		return limited
	}
	req.addressCharged = true
	return nil
}

// limitAddress takes one of the requests that the client's address has without
// a valid key.
func (req *request) limitAddress() *api.Error {
	req.rateLimit = req.server.anonymous(req.server.addresses.Allow(req.address, req.server.addressRate()))
	if req.rateLimit.Allowed {
		return nil
	}
	req.server.Metrics.Refused(metrics.Address)
	return req.limited("this address has made too many requests without a valid key; wait as Retry-After says")
}

func (req *request) limited(message string) *api.Error {
	wait := (req.rateLimit.RetryAfter + time.Second - 1) / time.Second
	req.w.Header().Set("Retry-After", strconv.Itoa(max(1, int(wait))))
	return &api.Error{Code: api.RateLimitExceeded, Message: message}
}

// limitNames are spelt as specified, which Header.Set would change.
var limitNames = [4]string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Limit-Day"}

// limitHeaders tells what is left, on success and failure alike.
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
