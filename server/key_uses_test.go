package server_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
)

// TestKey_UnusedScopes checks that a key's use of a scope is recorded when a request is
// accepted, over HTTP or MCP. The record survives a restart.
func TestKey_UnusedScopes(t *testing.T) {
	t.Parallel()
	s := &mcpService{serveWaiting(t)}
	made, key := s.mint(t, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"read:risks", "read:all", "write:risks", "read:signals"}})
	idle, _ := s.mint(t, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"read:kpis"}})
	unused := func(want ...string) {
		t.Helper()
		s.flush(t)
		got, err := s.store.Usage.UnusedScopes(t.Context(), made.Org)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got[made.ID]); diff != "" {
			t.Errorf("never needed (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"read:kpis"}, got[idle.ID]); diff != "" {
			t.Errorf("of a key that is not used (-want +got):\n%s", diff)
		}
	}
	unused("read:risks", "read:all", "write:risks", "read:signals")
	s.ask(t, row{path: "/webhooks/subscriptions", key: key, status: 403, code: "insufficient_scope"})
	unused("read:risks", "read:all", "write:risks", "read:signals")
	s.get(t, "/risks", key)
	s.get(t, "/risks", key)
	unused("read:all", "write:risks", "read:signals")
	s.get(t, "/kpis", key) // allowed by read:all
	unused("write:risks", "read:signals")
	release := lock(t, s.store.File.Path())
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_signals","arguments":{}}}`
	if r := s.request(t, "POST", mcpPath, key, call, "Accept: application/json, text/event-stream"); r.status != 200 {
		t.Errorf("over MCP: %+v", r)
	}
	if err := s.tryFlush(t); !db.Is(err, db.Unavailable) {
		t.Errorf("flushed into a locked file: %v", err)
	}
	release()
	unused("write:risks")
	s.restart(t)
	s.get(t, "/risks", key)
	unused("write:risks")
}
