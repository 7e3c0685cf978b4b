package server_test

import (
	"strings"
	"testing"
)

// TestMCP_Messages checks what messages mean, all on one server.
func TestMCP_Messages(t *testing.T) {
	t.Parallel()
	s := serveEmptyMCP(t)
	key := s.key(t, "read:risks")
	for name, check := range map[string]func(*testing.T, *mcpService, string){
		"frames": mcpInvalidMessages, "received": mcpNotifications, "ids": mcpIDs, "lenient": mcpUnusualMessages,
		"protocol version": mcpProtocolVersion, "initialize": mcpInitializes, "unknown method": mcpUnknownMethod,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, s, key)
		})
	}
}

// mcpInvalidMessages sends invalid messages. The response is a 400 with id null.
func mcpInvalidMessages(t *testing.T, s *mcpService, key string) {
	t.Helper()
	rows := []struct {
		name, body string
		code       int
	}{
		{"nothing", "", -32700},
		{"white space", " \n", -32700},
		{"no JSON", `{"jsonrpc":"2.0",`, -32700},
		{"no JSON after a repeated member", `{"id":1,"id":2`, -32700},
		{"single quotes", `{'jsonrpc':'2.0'}`, -32700},
		{"a comment", `{"jsonrpc":"2.0","id":1,"method":"ping"}//`, -32700},
		{"a trailing comma", `{"jsonrpc":"2.0","id":1,"method":"ping",}`, -32700},
		{"trailing bytes", ping + "x", -32700},
		{"a NUL after it", ping + "\x00", -32700},
		{"two messages", ping + ping, -32700},
		{"two lines", ping + "\n" + ping, -32700},
		{"a byte order mark", "\ufeff" + ping, -32700},
		{"UTF-16", "{\x00\"\x00", -32700},
		{"invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", -32700},
		{"invalid UTF-8 deep inside", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":[\"\xc3\x28\"]}}", -32700},
		{"invalid UTF-8 in a name", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"\xff\":1}", -32700},
		{"a bad number", `{"jsonrpc":"2.0","id":01,"method":"ping"}`, -32700},
		{"NaN", `{"jsonrpc":"2.0","id":NaN,"method":"ping"}`, -32700},

		{"a batch", "[" + ping + "]", -32600},
		{"an empty batch", " []", -32600},
		{"a string", `"ping"`, -32600},
		{"null", "null", -32600},
		{"a number", "1", -32600},
		{"an empty object", "{}", -32600},
		{"a repeated member", `{"jsonrpc":"2.0","id":1,"method":"ping","id":1}`, -32600},
		{"a repeated member, escaped", `{"jsonrpc":"2.0","id":1,"method":"ping","\u0069d":1}`, -32600},
		{"a repeated member of params", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_risks","name":"list_kpis"}}`, -32600},
		{"a repeated argument", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_risks","arguments":{"limit":1,"limit":2}}}`, -32600},
		{"a repeated member deep inside", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":[{"a":{"b":1,"b":1}}]}}`, -32600},
		{"a repeated member beside", `{"jsonrpc":"2.0","id":1,"method":"ping","x":{"b":1,"b":1}}`, -32600},
		{"no jsonrpc", `{"id":1,"method":"ping"}`, -32600},
		{"jsonrpc 1.0", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, -32600},
		{"jsonrpc as a number", `{"jsonrpc":2.0,"id":1,"method":"ping"}`, -32600},
		{"member names in capitals", `{"JSONRPC":"2.0","ID":1,"METHOD":"ping"}`, -32600},
		{"id null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, -32600},
		{"id a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, -32600},
		{"id 1.0", `{"jsonrpc":"2.0","id":1.0,"method":"ping"}`, -32600},
		{"id with an exponent", `{"jsonrpc":"2.0","id":1e3,"method":"ping"}`, -32600},
		{"id an object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600},
		{"id an array", `{"jsonrpc":"2.0","id":[1],"method":"ping"}`, -32600},
		{"id true", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, -32600},
		{"no id: initialize", strings.Replace(hello, `"id":1,`, "", 1), -32600},
		{"no id: ping", `{"jsonrpc":"2.0","method":"ping"}`, -32600},
		{"no id: tools/list", `{"jsonrpc":"2.0","method":"tools/list"}`, -32600},
		{"no id: tools/call", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"list_risks"}}`, -32600},
		{"a notification with an id", `{"jsonrpc":"2.0","id":1,"method":"notifications/initialized"}`, -32600},
		{"an unknown notification with an id", `{"jsonrpc":"2.0","id":"a","method":"notifications/x"}`, -32600},
		{"a notification with id null", `{"jsonrpc":"2.0","id":null,"method":"notifications/initialized"}`, -32600},
		{"method a number", `{"jsonrpc":"2.0","id":1,"method":1}`, -32600},
		{"method null", `{"jsonrpc":"2.0","id":1,"method":null}`, -32600},
		{"no method", `{"jsonrpc":"2.0","id":1}`, -32600},
		{"params an array", `{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`, -32600},
		{"params null", `{"jsonrpc":"2.0","id":1,"method":"ping","params":null}`, -32600},
		{"params a string", `{"jsonrpc":"2.0","id":1,"method":"ping","params":"{}"}`, -32600},
		{"params of a notification an array", `{"jsonrpc":"2.0","method":"notifications/initialized","params":[]}`, -32600},
		{"method and result", `{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, -32600},
		{"result and error", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}`, -32600},
		{"a response without id", `{"jsonrpc":"2.0","result":{}}`, -32600},
		{"a result that is no object", `{"jsonrpc":"2.0","id":1,"result":1}`, -32600},
		{"65 levels", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":` + nested(63) + `}}`, -32600},
		{"10,001 levels", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":` + nested(9_999) + `}}`, -32600},
		{"32,000 levels of an array", nested(32_000), -32600},
		{"an array that does not end", strings.Repeat("[", 5_000), -32700},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := s.post(t, key, row.body)
			if got.status != 400 {
				t.Fatalf("got %d %s", got.status, got.body)
			}
			checkRefusedMessage(t, got, row.code)
			checkCommon(t, got)
		})
	}
}

func nested(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

// mcpNotifications sends messages without a response. The result is a 202 without a
// body.
func mcpNotifications(t *testing.T, s *mcpService, key string) {
	t.Helper()
	for _, body := range []string{
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized","params":{"x":[1,{"y":null}]}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}}`,
		`{"jsonrpc":"2.0","method":"notifications/never/heard/of"}`,
		`{"jsonrpc":"2.0","method":"never heard of"}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":"x","error":{"code":-1,"message":"no"}}`,
	} {
		got := s.post(t, key, body)
		if got.status != 202 || got.body != "" || got.header.Get("Content-Type") != "" || got.header.Get("Content-Length") != "0" {
			t.Errorf("%s: %+v", body, got)
		}
		checkCommon(t, got)
	}
}

// mcpIDs checks that the response has the bytes of the id of the request.
func mcpIDs(t *testing.T, s *mcpService, key string) {
	t.Helper()
	for _, id := range []string{
		"0", "-0", "-1", "1", "9007199254740993", "123456789012345678901234567890", "-18446744073709551616",
		`""`, `"a"`, `"1"`, `"\u0061\/\n"`, `"\ud83d\ude00 😀 <&>"`, "\"\u2028\x7f\"", `"` + strings.Repeat("x", 5_000) + `"`,
	} {
		for _, call := range []string{
			`"method":"ping"`, `"method":"initialize","params":{"protocolVersion":"x"}`, `"method":"tools/list"`, `"method":"unknown"`,
			`"method":"tools/call","params":{"name":"list_risks"}`, `"method":"tools/call","params":{"name":"list_kpis"}`,
			`"method":"tools/call","params":{"name":"list_risks","arguments":{"limit":0}}`,
		} {
			got := s.post(t, key, `{"jsonrpc":"2.0",`+call+`,"id": `+id+" }")
			if want := `{"jsonrpc":"2.0","id":` + id + `,`; got.status != 200 || !strings.HasPrefix(got.body, want) {
				t.Errorf("%s with id %s: %d %.300s", call, id, got.status, got.body)
			}
		}
	}
}

// mcpUnusualMessages sends unusual messages that are valid.
func mcpUnusualMessages(t *testing.T, s *mcpService, key string) {
	t.Helper()
	rows := []struct {
		body    string
		headers []string
	}{
		{body: " \r\n\t" + ping + "\n"},
		{body: `{"extra":{"a":[{}]},"params":{},"method":"\u0070ing","id":1,"jsonrpc":"\u0032.0"}`},
		{body: `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":1},"a":` + nested(62) + `}}`},
		{body: ping, headers: []string{"Accept: application/json"}},
		{body: ping, headers: []string{"Accept: text/event-stream"}},
		{body: ping, headers: []string{"Accept: text/html"}},
		{body: ping, headers: []string{"Content-Type: application/json; charset=UTF-8"}},
		{body: ping, headers: []string{"Mcp-Session-Id: made-up", "Last-Event-Id: 1"}},
		{body: ping, headers: []string{"Authorization: ", "X-Api-Key: " + key}},
		{body: ping, headers: []string{"Service-Version: 2026-09-12"}},
	}
	for _, row := range rows {
		got := s.post(t, key, row.body, row.headers...)
		if got.status != 200 || got.body != `{"jsonrpc":"2.0","id":1,"result":{}}` {
			t.Errorf("%.200s %v: %d %s", row.body, row.headers, got.status, got.body)
		}
		if got.header.Get("Mcp-Session-Id") != "" {
			t.Error("there is no session, yet an id of one")
		}
	}
}
