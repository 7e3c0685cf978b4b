package server_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/server"
)

// TestMethods_Unknown checks that a request with an unknown method receives the JSON
// error object.
func TestMethods_Unknown(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for _, method := range []string{"BREW", "PROPFIND", "get"} {
		s.ask(t, row{method: method, path: "/scores", status: 405, code: "method_not_allowed", has: []string{"Allow: GET, HEAD\r"}})
		s.ask(t, row{method: method, path: "/nothing", status: 404, code: "not_found"})
	}
}

// TestMethods_RefusedOnProbes checks that the probe and metrics pages refuse other
// methods in the same way as the API.
func TestMethods_RefusedOnProbes(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.url = strings.TrimSuffix(s.url, server.Base)
	for _, path := range []string{"/healthz", "/readyz"} {
		for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "BREW"} {
			s.ask(t, row{method: method, path: path, status: 405, code: "method_not_allowed", has: []string{"Allow: GET, HEAD\r"}})
		}
	}
}

// TestUpdatedSince_RoundsUp checks that instants with more than three decimals are
// rounded up, which "at or after" and "strictly before" require.
func TestUpdatedSince_RoundsUp(t *testing.T) {
	t.Parallel()
	s := serve(t)
	load(t, s.store, "default", []db.Record{sample("risk", "x", 1, start)})
	key := s.key(t, "read:all", "read:audit")
	fine := url.QueryEscape(start.Add(500 * time.Microsecond).Format(time.RFC3339Nano))
	if n := len(s.get(t, "/risks?updated_since="+fine, key).page(t).Data); n != 0 {
		t.Errorf("%d rows changed before the instant", n)
	}
	if n := len(s.get(t, "/audit?until="+fine, key).page(t).Data); n == 0 {
		t.Error("events strictly before until are left out")
	}
}

// TestPagination_ReplacedSignal checks that a signal that is replaced between two pages
// is returned once.
func TestPagination_ReplacedSignal(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for n := range 3 {
		load(t, s.store, "default", []db.Record{sample("signal", "x", n, start.Add(time.Duration(n)*time.Minute))})
	}
	key := s.key(t, "read:all")
	first := s.get(t, "/signals?limit=1", key).page(t)
	load(t, s.store, "default", []db.Record{sample("signal", "x", 0, start.Add(time.Hour))})
	rest := s.get(t, "/signals?cursor="+first.next(), key).page(t)
	if n := len(first.Data) + len(rest.Data); n != 3 {
		t.Errorf("%d of 3 types were shown", n)
	}
}

// TestQuery_NamesParameterUnchanged checks that error.param is the name of the
// parameter, unchanged.
func TestQuery_NamesParameterUnchanged(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.ask(t, row{path: "/risks?limit[]=1", key: s.key(t, "read:all"), status: 400, code: "invalid_parameter", param: "limit[]"})
}

// TestPaths_UnknownWithKey checks that a valid key is also accepted at an unknown path.
func TestPaths_UnknownWithKey(t *testing.T) {
	t.Parallel()
	sandbox := serve(t).store
	s := serve(t, withSandbox(func() (*db.DB, error) { return sandbox, nil }))
	_, key := s.mint(t, "default", db.KeyDraft{Kind: db.TestKey, Scopes: []string{"read:all"}})
	s.ask(t, row{path: "/nothing", key: key, status: 404, code: "not_found", has: []string{"Service-Environment: test\r"}})
	s.ask(t, row{method: "PUT", path: "/scores", key: key, status: 405, code: "method_not_allowed", has: []string{"Service-Environment: test\r"}})
}
