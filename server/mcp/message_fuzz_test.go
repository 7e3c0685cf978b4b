package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzMessage compares Decode with encoding/json. Decode accepts only strict JSON, and
// returns the values that were sent.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":"\u0061\ud83d\ude00","method":"tools/call","params":{"name":"list_risks","arguments":{"limit":5,"cursor":"x"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}`,
		`{"jsonrpc":"2.0","id":-123456789012345678901234567890,"result":{"a":[1,{"b":null}]}}`,
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"id":2}`, `[{}]`, `"x"`, "", "{", "\xff", `{"params":"[{\"\\`,
		` {"jsonrpc":"2.0","id":1,"method":"x","params":{"a":{"a":1,"\u0061":2}}} `, `{} {}`,
		`{"jsonrpc":"2.0","method":"","params":{}}`, `{"jsonrpc":"2.0","id":1,"method":"x","params": { "a" : [ 1 ] , "\u0062" : "c" } }`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		got, err := Decode(body)
		if !bytes.Equal(before, body) {
			t.Fatal("Decode changed the body")
		}
		var refusal *Error
		if errors.As(err, &refusal) {
			checkDecodeError(t, body, refusal)
			return
		}
		if err != nil {
			t.Fatalf("got error %v, want an *Error", err)
		}
		checkMessage(t, body, got)
	})
}

func checkDecodeError(t *testing.T, body []byte, refusal *Error) {
	t.Helper()
	strict := jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true))
	switch {
	case refusal.Code == CodeParseError && strict:
		t.Fatal("got -32700 for valid JSON")
	case refusal.Code == CodeInvalidRequest && !strict && depth(body) < maxReadDepth:
		t.Fatal("got -32600 for invalid JSON")
	case refusal.Code != CodeParseError && refusal.Code != CodeInvalidRequest:
		t.Fatalf("got code %d", refusal.Code)
	}
	if response := refusal.Response(nil); !json.Valid(response) {
		t.Fatalf("the response is not JSON: %s", response)
	}
}

func checkMessage(t *testing.T, body []byte, got Message) {
	t.Helper()
	var want struct {
		Version string                     `json:"jsonrpc"`
		ID      json.RawMessage            `json:"id"`
		Method  string                     `json:"method"`
		Params  map[string]json.RawMessage `json:"params"`
	}
	exact := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &exact); err != nil || !utf8.Valid(body) {
		t.Fatalf("Decode accepted a body that is not JSON in UTF-8: %v", err)
	}
	to := map[string]any{"jsonrpc": &want.Version, "id": &want.ID, "method": &want.Method}
	_, isCall := exact["method"]
	if isCall {
		to["params"] = &want.Params
	}
	for name, to := range to {
		if raw, given := exact[name]; given && json.Unmarshal(raw, to) != nil {
			t.Fatalf("%s: %s", name, raw)
		}
	}
	if want.Version != "2.0" || got.Method != want.Method || len(got.Params) != len(want.Params) || (got.Params == nil) != (want.Params == nil) {
		t.Fatalf("got %q %s of %s", got.Method, got.Params, body)
	}
	for name, value := range want.Params {
		if !bytes.Equal(got.Params[name], value) {
			t.Fatalf("got parameter %s %s, want %s", name, got.Params[name], value)
		}
	}
	if isCall && !bytes.Equal(got.ID, want.ID) {
		t.Fatalf("got id %s of %s", got.ID, body)
	}
	if response := response(got.ID, []byte("{}")); !json.Valid(response) {
		t.Fatalf("the response is not JSON: %s", response)
	}
}
