package server_test

import (
	"testing"

	"govsvc/db"
)

// TestRead_OrderOfChecks sends requests with two errors each. The response reports the one
// that is checked first (contract, section 2).
func TestRead_OrderOfChecks(t *testing.T) {
	t.Parallel()
	s := serve(t, withAnonymous(1000))
	risks := db.KeyDraft{Scopes: []string{"read:risks"}, PerMinute: new(100)}
	_, key := s.mint(t, db.DefaultOrganisation, risks)
	_, spent := s.mint(t, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"read:risks"}, PerMinute: new(1)})
	s.get(t, "/risks", spent)
	old := map[string]string{"Service-Version": "2020-01-01"}
	good := planTerms{db.Enterprise, db.Active}
	for _, check := range []struct {
		planTerms
		row
	}{
		{good, row{name: "path, then credential", path: "/nothing", status: 404, code: "not_found"}},
		{good, row{name: "method, then credential", method: "PUT", path: "/risks", status: 405, code: "method_not_allowed"}},
		{planTerms{db.Starter, db.Canceled}, row{name: "credential, then subscription", path: "/risks?limit=0", key: key + "x", header: old, status: 401, code: "invalid_api_key"}},
		{good, row{name: "credential, then version", path: "/risks", header: old, status: 401, code: "missing_credential"}},
		{planTerms{db.Starter, db.PastDue}, row{name: "subscription, then plan", path: "/risks", key: key, status: 403, code: "subscription_inactive"}},
		{planTerms{db.Enterprise, db.PastDue}, row{name: "subscription, then rate", path: "/risks", key: spent, status: 403, code: "subscription_inactive"}},
		{planTerms{db.Starter, db.Active}, row{name: "plan, then rate", path: "/risks", key: spent, status: 403, code: "tier_required"}},
		{planTerms{db.Starter, db.Active}, row{name: "plan, then version", path: "/risks", key: key, header: old, status: 403, code: "tier_required"}},
		{good, row{name: "rate, then version", path: "/risks", key: spent, header: old, status: 429, code: "rate_limit_exceeded"}},
		{planTerms{db.Business, db.Active}, row{name: "rate, then feature", path: "/audit", key: spent, status: 429, code: "rate_limit_exceeded"}},
		{planTerms{db.Business, db.Active}, row{name: "version, then feature", path: "/audit", key: key, header: old, status: 400, code: "unsupported_version", param: "Service-Version"}},
		{good, row{name: "version, then scope", path: "/kpis", key: key, header: old, status: 400, code: "unsupported_version", param: "Service-Version"}},
		{good, row{name: "version, then query", path: "/risks?limit=0", key: key, header: old, status: 400, code: "unsupported_version", param: "Service-Version"}},
		{planTerms{db.Business, db.Active}, row{name: "feature, then scope", path: "/audit", key: key, status: 403, code: "tier_required"}},
		{planTerms{db.Business, db.Active}, row{name: "feature, then query", path: "/audit?limit=0", key: key, status: 403, code: "tier_required"}},
		{good, row{name: "scope, then query", path: "/kpis?limit=0", key: key, status: 403, code: "insufficient_scope"}},
		{good, row{name: "scope, then a broken query", path: "/kpis?%zz", key: key, status: 403, code: "insufficient_scope"}},
		{good, row{name: "query, then cursor", path: "/risks?limit=0&cursor=x", key: key, status: 400, code: "invalid_parameter", param: "limit"}},
		{good, row{name: "query alone", path: "/risks?cursor=x", key: key, status: 400, code: "invalid_cursor", param: "cursor"}},
		{good, row{name: "nothing wrong", path: "/risks", key: key, header: map[string]string{"Service-Version": "2026-09-12"}}},
	} {
		s.setPlan(t, check.plan, check.subscription)
		s.ask(t, check.row)
	}
}

// TestServiceVersion_Forms sends each form of Service-Version to an operation of each kind.
func TestServiceVersion_Forms(t *testing.T) {
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
