package server_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/server/openapi"
)

// wide returns a query for the largest page of an operation.
func wide(op *openapi.Operation) string {
	if p := op.Parameter("limit"); p != nil {
		return op.Path + "?limit=100"
	}
	return op.Path
}

// TestSandbox_ReadsFixtures reads every endpoint with a test key, while the live data
// contains marked records. Only fixtures are returned.
func TestSandbox_ReadsFixtures(t *testing.T) {
	t.Parallel()
	sandbox := serveFixtures(t).store
	s := serve(t, withSandbox(func() (*db.DB, error) { return sandbox, nil }))
	load(t, s.store, db.DefaultOrganisation, sampleOfEachType("CANARY", start))
	_, test := s.mint(t, db.DefaultOrganisation, db.KeyDraft{Name: "CANARY", Kind: db.TestKey, Scopes: append(readScopes, "read:all")})
	live := s.key(t, append(readScopes, "read:all")...)
	for _, op := range reads(t) {
		a := s.ask(t, row{path: wide(op), key: test, has: []string{"Service-Environment: test\r"}, not: []string{"CANARY"}})
		if op.Path != "/audit" && !strings.Contains(string(a.body), "00000000-0000-0000-0000-0000000") {
			t.Errorf("%s has no id of the reserved range: %.300s", op.Path, a.body)
		}
		if !slices.Contains([]string{"/audit", "/signals", "/scores"}, op.Path) && !strings.Contains(string(a.body), "[SANDBOX]") {
			t.Errorf("%s has no marker: %.300s", op.Path, a.body)
		}
		for _, code := range []string{"source", "dimension", "unit", "priority"} {
			if strings.Contains(string(a.body), `"`+code+`":"[SANDBOX]`) {
				t.Errorf("%s marks the code %s: %.300s", op.Path, code, a.body)
			}
		}
		s.ask(t, row{path: wide(op), key: live, has: []string{"Service-Environment: live\r"}, not: []string{"[SANDBOX]", "00000000-0000"}})
	}
	for _, r := range []row{
		{name: "refusals tell the environment", path: "/risks?limit=0", status: 400, code: "invalid_parameter", param: "limit"},
		{name: "versions too", path: "/risks", header: header("Service-Version", "x"), status: 400, code: "unsupported_version", param: "Service-Version"},
	} {
		r.key, r.has = test, []string{"Service-Environment: test\r"}
		s.ask(t, r)
	}
	s.setPlan(t, db.Professional, db.Active)
	s.ask(t, row{path: "/incidents", key: test, status: 403, code: "tier_required", has: []string{"Service-Environment: test\r"}})
	s.setPlan(t, db.Professional, db.Canceled)
	s.ask(t, row{path: "/risks", key: test, status: 403, code: "subscription_inactive", has: []string{"Service-Environment: test\r"}})
}

// TestSandbox_Fails checks the responses if the sandbox can't be opened. Live keys are
// not affected.
func TestSandbox_Fails(t *testing.T) {
	t.Parallel()
	s := serve(t, withSandbox(func() (*db.DB, error) { return nil, errors.New("INTERNAL detail") }))
	_, test := s.mint(t, db.DefaultOrganisation, db.KeyDraft{Kind: db.TestKey, Scopes: []string{"read:risks"}})
	s.ask(t, row{path: "/risks", key: test, status: 503, code: "service_unavailable", has: []string{"Service-Environment: test\r"}, not: []string{"INTERNAL"}})
	s.get(t, "/risks", s.key(t, "read:risks"))
	if !strings.Contains(s.log.String(), "INTERNAL detail") {
		t.Error("the cause is not logged")
	}
}

// TestOrganisations_AreSeparate stores records of two organisations. Neither can read
// the other's records, with any filter.
func TestOrganisations_AreSeparate(t *testing.T) {
	t.Parallel()
	s := serve(t)
	names := []string{db.DefaultOrganisation, "OF-acme", "OF-empty"}
	mark := func(name string) string { return "OF-" + strings.TrimPrefix(name, "OF-") }
	keys := map[string]string{}
	for _, name := range names {
		if name != "OF-empty" {
			load(t, s.store, name, sampleOfEachType(mark(name), start))
		}
		_, keys[name] = s.mint(t, name, db.KeyDraft{Scopes: append(readScopes, "read:all")})
	}
	for _, op := range reads(t) {
		ids := map[string]string{}
		for _, name := range names {
			r := row{name: op.Path + " of " + name, path: wide(op), key: keys[name]}
			for _, other := range names {
				if other != name {
					r.not = append(r.not, mark(other))
				} else if shown := name != "OF-empty"; shown != (op.Path == "/audit") || name == "OF-acme" {
					r.has = append(r.has, mark(name)) // the audit log has the names of new organisations
				}
			}
			a := s.ask(t, r)
			if op.Parameter("limit") == nil {
				continue
			}
			for _, id := range a.page(t).values("id") {
				if owner, taken := ids[id]; taken {
					t.Errorf("%s: %s is shown to %s and %s", op.Path, id, owner, name)
				}
				ids[id] = name
			}
		}
	}
	for _, l := range lists {
		theirs := sample(l.object, "OF-acme", 1, start)[l.key]
		for parameter, filter := range l.filter {
			if filter[0] == l.key { // the natural key of the other organisation's record
				s.ask(t, row{
					path: l.path + "?" + parameter + "=" + strings.ReplaceAll(theirs.(string), " ", "%20"),
					key:  keys[db.DefaultOrganisation], has: []string{`"data":[]`}, not: []string{"OF-acme"},
				})
			}
		}
	}
}
