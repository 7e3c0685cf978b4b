package server_test

import (
	"encoding/json"
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/internal/testkit"
)

// TestMCP_Sandbox checks that a test key uses the sandbox, and that the responses say
// so.
func TestMCP_Sandbox(t *testing.T) {
	t.Parallel()
	s := serveEmptyMCP(t)
	_, key := s.mint(t, db.DefaultOrganisation, db.KeyDraft{Kind: db.TestKey, Scopes: []string{"read:all"}})
	got := s.post(t, key, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_risks"}}`)
	if got.header.Get("Service-Environment") != "test" || !strings.Contains(got.body, "[SANDBOX]") || !strings.Contains(got.body, `"00000000-0000-0000-0000-`) {
		t.Errorf("%v %s", got.header, got.body)
	}
	live := s.post(t, s.key(t, "read:all"), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_risks"}}`)
	if live.header.Get("Service-Environment") != "live" || strings.Contains(live.body, "[SANDBOX]") {
		t.Errorf("%v %s", live.header, live.body)
	}
}

// TestMCP_RefusesInvalidCalls checks that an invalid call is refused with -32602. The
// message states the valid form and repeats nothing of the request.
func TestMCP_RefusesInvalidCalls(t *testing.T) {
	t.Parallel()
	s := serveMCP(t)
	key := s.key(t, "read:all")
	other := s.call(t, key, "list_kpis", `{"limit":1}`)
	var first struct {
		Next string `json:"next_cursor"`
	}
	if err := json.Unmarshal(other.Structured, &first); err != nil || first.Next == "" {
		t.Fatal(err, string(other.Structured))
	}
	rows := []struct{ params, param, want string }{
		{"", "name", "params.name is required"},
		{`{}`, "name", "params.name is required"},
		{`{"name":null}`, "name", "params.name is required"},
		{`{"name":["list_risks"]}`, "name", "params.name is required"},
		{`{"Name":"list_risks"}`, "name", "params.name is required"},
		{`{"name":"evil","arguments":[]}`, "name", "no such tool"},
		{`{"name":"list_audit_events"}`, "name", "no such tool"},
		{`{"name":"LIST_RISKS"}`, "name", "no such tool"},
		{`{"name":"list_risks","arguments":[]}`, "", "the arguments must be an object"},
		{`{"name":"list_risks","arguments":null}`, "", "the arguments must be an object, not null"},
		{`{"name":"list_risks","arguments":"evil"}`, "", "the arguments must be an object"},
		{`{"name":"list_risks","arguments":{"limit":0}}`, "limit", "limit must be an integer from 1 to 100"},
		{`{"name":"list_risks","arguments":{"limit":101}}`, "limit", "limit must be an integer from 1 to 100"},
		{`{"name":"list_risks","arguments":{"limit":1.5}}`, "limit", "limit must be an integer from 1 to 100"},
		{`{"name":"list_risks","arguments":{"limit":1e99}}`, "limit", "limit must be an integer from 1 to 100"},
		{`{"name":"list_risks","arguments":{"limit":"5"}}`, "limit", "limit must be an integer from 1 to 100"},
		{`{"name":"list_risks","arguments":{"limit":null}}`, "limit", "limit must be an integer from 1 to 100, not null"},
		{`{"name":"list_risks","arguments":{"severity":"evil"}}`, "severity", "severity must be one of CRITICAL, HIGH, MEDIUM, LOW"},
		{`{"name":"list_risks","arguments":{"severity":"critical"}}`, "severity", "severity must be one of CRITICAL, HIGH, MEDIUM, LOW"},
		{`{"name":"list_risks","arguments":{"severity":["HIGH"]}}`, "severity", "severity must be one of CRITICAL"},
		{`{"name":"list_incidents","arguments":{"status":"Open"}}`, "status", "status must be one of open, "},
		{`{"name":"list_risks","arguments":{"updated_since":"evil"}}`, "updated_since", "updated_since must be a date (YYYY-MM-DD) or an RFC 3339 timestamp"},
		{`{"name":"list_risks","arguments":{"updated_since":20260101}}`, "updated_since", "updated_since must be a date"},
		{`{"name":"list_risks","arguments":{"cursor":"evil"}}`, "cursor", "cursor was not issued by this list"},
		{`{"name":"list_risks","arguments":{"cursor":" "}}`, "cursor", "cursor was not issued by this list"},
		{`{"name":"list_risks","arguments":{"cursor":"a\u0000b"}}`, "cursor", "cursor was not issued by this list"},
		{`{"name":"list_risks","arguments":{"cursor":""}}`, "cursor", "cursor must not be empty"},
		{`{"name":"list_risks","arguments":{"cursor":"` + first.Next + `"}}`, "cursor", "cursor was not issued by this list"},
		{`{"name":"list_kpis","arguments":{"code":""}}`, "code", "code must"},
		{`{"name":"list_kpis","arguments":{"code":"a\u0000b"}}`, "code", "code must not contain the NUL character"},
		{`{"name":"list_risks","arguments":{"evil":1}}`, "", "list_risks takes cursor, limit, severity, status, updated_since"},
		{`{"name":"list_risks","arguments":{"evil; do \"this\"":1}}`, "", "list_risks takes cursor, limit, severity, status, updated_since"},
		{`{"name":"list_risks","arguments":{"Limit":1}}`, "", "list_risks takes cursor, limit, severity, status, updated_since"},
		{`{"name":"get_scorecard","arguments":{"limit":1}}`, "", "get_scorecard takes none"},
	}
	for _, row := range rows {
		params := ""
		if row.params != "" {
			params = `,"params":` + row.params
		}
		got := s.post(t, key, `{"jsonrpc":"2.0","id":1,"method":"tools/call"`+params+`}`)
		response := got.rpc(t)
		if got.status != 200 || response.Error == nil || response.Error.Code != -32602 {
			t.Errorf("%s: %d %s", row.params, got.status, got.body)
			continue
		}
		if e := response.Error; !strings.Contains(e.Message, row.want) || e.Data.Param != row.param {
			t.Errorf("%s: got %q about %q, want %q about %q", row.params, e.Message, e.Data.Param, row.want, row.param)
		}
		if strings.Contains(got.body, "evil") || strings.Contains(got.body, first.Next) {
			t.Errorf("%s: repeats what was sent: %s", row.params, got.body)
		}
	}
}

// TestMCP_ToolErrors checks that data that is forbidden or can't be read is a tool
// result with an error for the model.
func TestMCP_ToolErrors(t *testing.T) {
	t.Parallel()
	s := serveEmptyMCP(t)
	risks, none, all := s.key(t, "read:risks"), s.key(t, "write:risks", "manage:webhooks", "read:audit"), s.key(t, "read:all")
	for name, op := range operationsByTool(t) {
		checkToolError(t, s.call(t, none, name, `{}`), "insufficient_scope", op.Scope, "final")
	}
	checkToolError(t, s.call(t, risks, "list_kpis", `{"evil":1}`), "insufficient_scope", "read:kpis", "final")
	if got := s.call(t, risks, "list_risks", `{}`); got.IsError || got.Structured == nil {
		t.Errorf("a key with the scope: %+v", got)
	}
	s.setPlan(t, db.Professional, db.Active)
	checkToolError(t, s.call(t, all, "list_incidents", `{}`), "tier_required", "professional", "final")
	if got := s.call(t, all, "list_risks", `{}`); got.IsError {
		t.Errorf("a plan without incidents: %+v", got)
	}
}

func checkToolError(t *testing.T, got toolResult, want ...string) {
	t.Helper()
	if !got.IsError || got.Structured != nil || len(got.Content) != 1 || got.Content[0].Type != "text" {
		t.Errorf("no tool error: %+v", got)
		return
	}
	for _, text := range want {
		if !strings.Contains(got.Content[0].Text, text) {
			t.Errorf("%q does not contain %q", got.Content[0].Text, text)
		}
	}
	if strings.Contains(got.Content[0].Text, "evil") {
		t.Errorf("the answer repeats the request: %q", got.Content[0].Text)
	}
}

// TestMCP_FailedRead damages the file while the server runs. The result says that the
// data could not be read, and the log has the reason.
func TestMCP_FailedRead(t *testing.T) {
	t.Parallel()
	s := serveEmptyMCP(t)
	key := s.key(t, "read:all")
	if _, err := testkit.OpenSQL(t, s.store.File.Path()).ExecContext(t.Context(), "ALTER TABLE risks RENAME TO gone"); err != nil {
		t.Fatal(err)
	}
	got := s.post(t, key, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_risks"}}`)
	var result toolResult
	if err := json.Unmarshal(got.rpc(t).Result, &result); err != nil || got.status != 200 {
		t.Fatal(err, got)
	}
	checkToolError(t, result, "internal_error", "could not be read", got.header.Get("X-Request-Id"))
	if strings.Contains(got.body, "table") || strings.Contains(got.body, "SQL") {
		t.Errorf("the answer reveals internal details: %s", got.body)
	}
	if logged := s.log.String(); !strings.Contains(logged, "no such table") || !strings.Contains(logged, got.header.Get("X-Request-Id")) {
		t.Errorf("the log has: %s", logged)
	}
	if other := s.call(t, key, "list_kpis", "{}"); other.IsError {
		t.Errorf("another tool: %+v", other)
	}
}
