package server_test

import (
	"slices"
	"strings"
	"testing"

	"govsvc/db"
)

// scopeOf is the table of scopes of the specification: path → scope.
func scopeOf() map[string]string {
	scopes := map[string]string{"/audit": "read:audit"}
	for _, l := range lists {
		scopes[l.path] = l.scope
	}
	for _, c := range currents {
		scopes[c.path] = c.scope
	}
	return scopes
}

// TestScopes asks every read with a key of every scope.
func TestScopes(t *testing.T) {
	t.Parallel()
	s := serve(t)
	paths := scopeOf()
	if want := len(reads(t)); len(paths) != want {
		t.Fatalf("%d paths in the table, %d in the document", len(paths), want)
	}
	key := s.key(t, "read:all")
	rescope := func(scopes ...string) {
		s.redraft(t, key, organisation(t, s.store, db.DefaultOrganisation), db.KeyDraft{Name: "rescoped", Scopes: scopes, PerMinute: new(100_000)})
	}
	for _, scope := range slices.Concat(readScopes, otherScopes) {
		rescope(scope)
		for path, needed := range paths {
			r := row{name: path + " with " + scope, path: path, key: key}
			if scope != needed && (scope != "read:all" || needed == "read:audit") {
				r.status, r.code = 403, "insufficient_scope"
				r.has = []string{needed}
				r.not = []string{`"data"`}
			}
			s.ask(t, r)
		}
	}
	rescope(append(readScopes, "read:all")...)
	for path := range paths {
		s.get(t, path, key)
	}
	rescope("write:risks", "read:kpis", "read:scores")
	for path, needed := range paths {
		if needed != "read:kpis" && needed != "read:scores" {
			s.ask(t, row{name: path + " with others", path: path, key: key, status: 403, code: "insufficient_scope", has: []string{needed}})
		}
	}
}

// TestPlans asks every read under every plan, with a key that holds every
// scope: the very same key, as plans change.
func TestPlans(t *testing.T) {
	t.Parallel()
	s := serve(t)
	_, key := s.mint(t, db.DefaultOrganisation, db.KeyDraft{Scopes: append(readScopes, "read:all")})
	for _, plan := range []struct {
		plan        db.Plan
		refused     []string // paths; nil is none
		minute, day string
	}{
		{db.Starter, []string{"/"}, "60", "1000"},
		{db.Professional, []string{"/incidents", "/audit"}, "120", "20000"},
		{db.Business, []string{"/audit"}, "600", "200000"},
		{db.Enterprise, nil, "1200", "1000000"},
	} {
		s.terms(t, plan.plan, db.Active)
		for path := range scopeOf() {
			r := row{name: path + " under " + string(plan.plan), path: path, key: key}
			if slices.ContainsFunc(plan.refused, func(start string) bool { return strings.HasPrefix(path, start) }) {
				r.status, r.code, r.has = 403, "tier_required", []string{string(plan.plan)}
			}
			r.has = append(r.has, "X-Ratelimit-Limit: "+plan.minute+"\r", "X-Ratelimit-Limit-Day: "+plan.day+"\r")
			s.ask(t, r)
		}
	}
}

// TestSubscriptions asks every read in every state of the subscription.
func TestSubscriptions(t *testing.T) {
	t.Parallel()
	s := serve(t)
	key := s.key(t, append(readScopes, "read:all")...)
	for _, subscription := range []db.Subscription{db.PastDue, db.Canceled, db.Active} {
		for _, plan := range []db.Plan{db.Enterprise, db.Starter} {
			s.terms(t, plan, subscription)
			for path := range scopeOf() {
				r := row{name: path + " " + string(subscription) + " " + string(plan), path: path, key: key}
				switch {
				case subscription != db.Active:
					r.status, r.code = 403, "subscription_inactive"
				case plan == db.Starter:
					r.status, r.code = 403, "tier_required"
				}
				s.ask(t, r)
			}
		}
	}
}

// TestOrderOfChecks sends requests with two faults: of each neighbouring pair
// of checks the earlier one answers (contract, section 2).
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	s := serve(t, withAnonymous(1000))
	risks := db.KeyDraft{Scopes: []string{"read:risks"}, PerMinute: new(100)}
	_, key := s.mint(t, db.DefaultOrganisation, risks)
	_, spent := s.mint(t, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"read:risks"}, PerMinute: new(1)})
	s.get(t, "/risks", spent)
	old := map[string]string{"Service-Version": "2020-01-01"}
	type terms struct {
		plan         db.Plan
		subscription db.Subscription
	}
	good := terms{db.Enterprise, db.Active}
	for _, check := range []struct {
		terms
		row
	}{
		{good, row{name: "path, then credential", path: "/nothing", status: 404, code: "not_found"}},
		{good, row{name: "method, then credential", method: "PUT", path: "/risks", status: 405, code: "method_not_allowed"}},
		{terms{db.Starter, db.Canceled}, row{name: "credential, then subscription", path: "/risks?limit=0", key: key + "x", header: old, status: 401, code: "invalid_api_key"}},
		{good, row{name: "credential, then version", path: "/risks", header: old, status: 401, code: "missing_credential"}},
		{terms{db.Starter, db.PastDue}, row{name: "subscription, then plan", path: "/risks", key: key, status: 403, code: "subscription_inactive"}},
		{terms{db.Enterprise, db.PastDue}, row{name: "subscription, then rate", path: "/risks", key: spent, status: 403, code: "subscription_inactive"}},
		{terms{db.Starter, db.Active}, row{name: "plan, then rate", path: "/risks", key: spent, status: 403, code: "tier_required"}},
		{terms{db.Starter, db.Active}, row{name: "plan, then version", path: "/risks", key: key, header: old, status: 403, code: "tier_required"}},
		{good, row{name: "rate, then version", path: "/risks", key: spent, header: old, status: 429, code: "rate_limit_exceeded"}},
		{terms{db.Business, db.Active}, row{name: "rate, then feature", path: "/audit", key: spent, status: 429, code: "rate_limit_exceeded"}},
		{terms{db.Business, db.Active}, row{name: "version, then feature", path: "/audit", key: key, header: old, status: 400, code: "unsupported_version", param: "Service-Version"}},
		{good, row{name: "version, then scope", path: "/kpis", key: key, header: old, status: 400, code: "unsupported_version", param: "Service-Version"}},
		{good, row{name: "version, then query", path: "/risks?limit=0", key: key, header: old, status: 400, code: "unsupported_version", param: "Service-Version"}},
		{terms{db.Business, db.Active}, row{name: "feature, then scope", path: "/audit", key: key, status: 403, code: "tier_required"}},
		{terms{db.Business, db.Active}, row{name: "feature, then query", path: "/audit?limit=0", key: key, status: 403, code: "tier_required"}},
		{good, row{name: "scope, then query", path: "/kpis?limit=0", key: key, status: 403, code: "insufficient_scope"}},
		{good, row{name: "scope, then a broken query", path: "/kpis?%zz", key: key, status: 403, code: "insufficient_scope"}},
		{good, row{name: "query, then cursor", path: "/risks?limit=0&cursor=x", key: key, status: 400, code: "invalid_parameter", param: "limit"}},
		{good, row{name: "query alone", path: "/risks?cursor=x", key: key, status: 400, code: "invalid_cursor", param: "cursor"}},
		{good, row{name: "nothing wrong", path: "/risks", key: key, header: map[string]string{"Service-Version": "2026-09-12"}}},
	} {
		s.terms(t, check.plan, check.subscription)
		s.ask(t, check.row)
	}
}

// TestVersions sends each form of Service-Version to an operation of each kind.
func TestVersions(t *testing.T) {
	t.Parallel()
	s := serve(t)
	key := s.key(t, "read:all", "read:audit")
	for _, path := range []string{"/risks", "/scorecard", "/audit", "/", "/openapi.json"} {
		s.ask(t, row{path: path, key: key, header: map[string]string{"Service-Version": "2026-09-12"}})
		for _, version := range []string{"2026-09-11", "2026-9-12", "v1", "1", "2026-09-12 ,", "latest", "2026-09-12T00:00:00Z"} {
			s.ask(t, row{
				name: path + " at " + version, path: path, key: key, header: map[string]string{"Service-Version": version},
				status: 400, code: "unsupported_version", param: "Service-Version", has: []string{"2026-09-12"},
			})
		}
	}
}
