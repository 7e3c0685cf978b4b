package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/internal/testkit"
	"govsvc/server"
)

const (
	ping        = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	hello       = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	foreignPage = "Origin: https://evil.example"
	plainText   = "Content-Type: text/plain"
	newer       = "MCP-Protocol-Version: 2026-07-28"
)

// TestMCP_OrderOfChecks makes requests that break several rules at once. The answer
// reports the rule that is checked first.
func TestMCP_OrderOfChecks(t *testing.T) {
	t.Parallel()
	s := serveEmptyMCP(t)
	key := s.key(t, "read:all")
	_, spent := s.mint(t, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"read:all"}, PerMinute: new(1)})
	if first := s.post(t, spent, ping); first.status != 200 {
		t.Fatal(first)
	}
	large := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + strings.Repeat("x", 65_536) + `"}}`

	rows := []struct {
		name, method, key, body string
		headers                 []string
		status                  int
		code                    string // in the error envelope
		rpc                     int    // the code of a JSON-RPC error with id null instead
	}{
		{name: "method", method: "GET", headers: []string{foreignPage, newer}, status: 405, code: "method_not_allowed"},
		{name: "method", method: "DELETE", headers: []string{foreignPage}, status: 405, code: "method_not_allowed"},
		{name: "method", method: "PUT", body: "x", headers: []string{foreignPage}, status: 405, code: "method_not_allowed"},
		{name: "method, preflight", method: "OPTIONS", headers: []string{foreignPage}, status: 405, code: "method_not_allowed"},
		{name: "origin", body: large, headers: []string{foreignPage, plainText, newer}, status: 403, code: "origin_not_allowed"},
		{name: "origin", key: key, body: ping, headers: []string{foreignPage}, status: 403, code: "origin_not_allowed"},
		{name: "credential", body: large, headers: []string{plainText, newer}, status: 401, code: "missing_credential"},
		{name: "credential", key: "gds_live_x", body: "[", headers: []string{plainText, newer}, status: 401, code: "invalid_api_key"},
		{name: "rate limit", key: spent, body: large, headers: []string{plainText, newer, "Service-Version: 1"}, status: 429, code: "rate_limit_exceeded"},
		{name: "service version", key: key, body: large, headers: []string{plainText, newer, "Service-Version: 1"}, status: 400, rpc: -32600},
		{name: "media type", key: key, body: large, headers: []string{plainText, newer}, status: 415, code: "unsupported_media_type"},
		{name: "media type", key: key, body: "[", headers: []string{"Content-Type: "}, status: 415, code: "unsupported_media_type"},
		{name: "media type", key: key, body: ping, headers: []string{"Content-Type: application/json; charset=latin1"}, status: 415, code: "unsupported_media_type"},
		{name: "media type", key: key, body: ping, headers: []string{"Content-Encoding: gzip"}, status: 415, code: "unsupported_media_type"},
		{name: "protocol version, size", key: key, body: large, headers: []string{newer}, status: 400, rpc: -32600},
		{name: "protocol version, parse", key: key, body: "[", headers: []string{newer}, status: 400, rpc: -32600},
		{name: "protocol version", key: key, body: ping, headers: []string{newer}, status: 400, rpc: -32600},
		{name: "size", key: key, body: large, status: 413, code: "payload_too_large"},
		{name: "size before parse", key: key, body: strings.Repeat("[", 65_537), status: 413, code: "payload_too_large"},
		{name: "parse", key: key, body: strings.Repeat(" ", 65_536), status: 400, rpc: -32700},
		{name: "all right at the size allowed", key: key, body: ping + strings.Repeat(" ", 65_536-len(ping)), status: 200},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if row.method == "" {
				row.method = http.MethodPost
			}
			got := s.request(t, row.method, mcpPath, row.key, row.body, row.headers...)
			if got.status != row.status {
				t.Fatalf("got %d %s, want %d", got.status, got.body, row.status)
			}
			checkCommon(t, got)
			if row.code != "" {
				checkRefusal(t, got, row.code)
			}
			if row.rpc != 0 {
				checkRefusedMessage(t, got, row.rpc)
			}
			if strings.Contains(got.body, "evil") || strings.Contains(got.body, "2026-07-28") {
				t.Errorf("repeats what was sent: %s", got.body)
			}
		})
	}
}

// checkCommon checks what every answer must have.
func checkCommon(t *testing.T, got mcpResponse) {
	t.Helper()
	for _, name := range []string{
		"X-Request-Id", "Service-Version", "Service-Environment", "X-RateLimit-Limit",
		"X-RateLimit-Remaining", "X-RateLimit-Reset", "X-RateLimit-Limit-Day",
	} {
		if got.header.Get(name) == "" {
			t.Errorf("no header %s", name)
		}
	}
	if media := got.header.Get("Content-Type"); got.body != "" && media != "application/json" {
		t.Errorf("Content-Type is %s", media)
	}
}

// checkRefusal checks a refusal of the HTTP request.
func checkRefusal(t *testing.T, got mcpResponse, want string) {
	t.Helper()
	var body refusal
	if err := json.Unmarshal([]byte(got.body), &body); err != nil || body.Error.Code != want {
		t.Errorf("want %s: %v %s", want, err, got.body)
	}
	if _, faults := testkit.Document(t).Schema("Error").Decode([]byte(got.body)); faults != nil || body.Error.RequestID != got.header.Get("X-Request-Id") {
		t.Errorf("the envelope is not right: %v %s", faults, got.body)
	}
	for status, header := range map[int]string{401: "WWW-Authenticate: Bearer", 405: "Allow: POST"} {
		name, value, _ := strings.Cut(header, ": ")
		if got.status == status && got.header.Get(name) != value {
			t.Errorf("%s is %q", name, got.header.Get(name))
		}
	}
	if got.status == 429 && got.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

// checkRefusedMessage checks a 400.
func checkRefusedMessage(t *testing.T, got mcpResponse, code int) {
	t.Helper()
	response := got.rpc(t)
	if response.Error == nil || response.Error.Code != code || string(response.ID) != "null" {
		t.Errorf("want a JSON-RPC error %d with id null: %s", code, got.body)
	}
}

func TestMCP_Plan(t *testing.T) {
	t.Parallel()
	s := serveEmptyMCP(t)
	key := s.key(t, "read:all")
	s.setPlan(t, db.Starter, db.Active)
	checkRefusal(t, s.post(t, key, ping, plainText), "tier_required")
	s.setPlan(t, db.Enterprise, db.PastDue)
	checkRefusal(t, s.post(t, key, ping, plainText), "subscription_inactive")
	s.setPlan(t, db.Enterprise, db.Active)
	if got := s.post(t, key, ping); got.status != 200 {
		t.Error(got)
	}
}

// TestMCP_CountsTowardsLimit checks that every request counts towards the limit of the
// key, whatever its content.
func TestMCP_CountsTowardsLimit(t *testing.T) {
	t.Parallel()
	s := serveEmptyMCP(t)
	_, key := s.mint(t, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"read:all"}, PerDay: new(5)})
	for _, body := range []string{
		ping, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "[",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_risks"}}`, `{"jsonrpc":"2.0","id":1,"method":"x"}`,
	} {
		if got := s.post(t, key, body); got.status == 429 {
			t.Fatalf("%s: %v", body, got)
		}
	}
	checkRefusal(t, s.post(t, key, ping), "rate_limit_exceeded")
}

// TestMCP_RefusesQuery checks that the operation refuses every query parameter.
func TestMCP_RefusesQuery(t *testing.T) {
	t.Parallel()
	s := serveEmptyMCP(t)
	key := s.key(t, "read:all")
	for query, status := range map[string]int{"": 200, "?": 200, "?limit=1": 400, "?limit=1&limit=1": 400, "?x": 400, "?%zz": 400} {
		got := s.request(t, http.MethodPost, mcpPath+query, key, ping)
		if got.status != status {
			t.Errorf("%q: %v", query, got)
		}
		if status == 400 {
			checkRefusedMessage(t, got, -32600)
		}
	}
}

func mcpProtocolVersion(t *testing.T, s *mcpService, key string) {
	t.Helper()
	for _, version := range []string{"2025-06-18", "2025-03-26", "2024-11-05"} {
		if got := s.post(t, key, ping, "MCP-Protocol-Version: "+version); got.status != 200 {
			t.Errorf("%s: %v", version, got)
		}
	}
	for _, version := range []string{"2025-11-25", "1", "2025-06-18, 2025-06-18", "2025-6-18"} {
		got := s.post(t, key, ping, "MCP-Protocol-Version: "+version)
		if got.status != 400 {
			t.Errorf("%s: %v", version, got)
			continue
		}
		checkRefusedMessage(t, got, -32600)
		if got := s.post(t, key, hello, "MCP-Protocol-Version: "+version); got.status != 200 {
			t.Errorf("initialize with %s: %v", version, got)
		}
	}
}

// TestMCP_WellKnownPaths checks that the paths of OAuth metadata answer 404, with or
// without a key. Clients look for the metadata there.
func TestMCP_WellKnownPaths(t *testing.T) {
	t.Parallel()
	s := serveEmptyMCP(t)
	s.url = strings.TrimSuffix(s.url, server.Base)
	for _, path := range []string{
		"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource" + server.Base + mcpPath,
		"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration", server.Base + "/.well-known/x", server.Base + mcpPath + "/",
	} {
		for _, method := range []string{"GET", "POST"} {
			got := s.request(t, method, path, "", "")
			if got.status != 404 {
				t.Errorf("%s: %v", path, got)
			}
			checkRefusal(t, got, "not_found")
		}
	}
}
