package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzFrame holds the frame decoder against encoding/json: it takes nothing
// that is not strict JSON, and hands out what was sent.
func FuzzFrame(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":"\u0061\ud83d\ude00","method":"tools/call","params":{"name":"list_risks","arguments":{"limit":5,"cursor":"x"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}`,
		`{"jsonrpc":"2.0","id":-123456789012345678901234567890,"result":{"a":[1,{"b":null}]}}`,
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"id":2}`, `[{}]`, `"x"`, "", "{", "\xff", `{"params":"[{\"\\`,
		` {"jsonrpc":"2.0","id":1,"method":"x","params":{"a":{"a":1,"\u0061":2}}} `, `{} {}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		got, err := decodeFrame(body)
		if !bytes.Equal(before, body) {
			t.Fatal("the body was changed")
		}
		var refusal *rpcError
		if errors.As(err, &refusal) {
			checkFrameRefusal(t, body, refusal)
			return
		}
		if err != nil {
			t.Fatalf("an error of another kind: %v", err)
		}
		checkFrame(t, body, got)
	})
}

func checkFrameRefusal(t *testing.T, body []byte, refusal *rpcError) {
	t.Helper()
	strict := jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true))
	switch {
	case refusal.code == rpcParseError && strict:
		t.Fatal("-32700, yet it is JSON")
	case refusal.code == rpcInvalidRequest && !strict && depth(body) < maxReadDepth:
		t.Fatal("-32600, yet it is not JSON")
	case refusal.code != rpcParseError && refusal.code != rpcInvalidRequest:
		t.Fatalf("code %d", refusal.code)
	}
	if answer := refusal.appendTo(appendStart(nil, nil)); !json.Valid(answer) {
		t.Fatalf("the answer is no JSON: %s", answer)
	}
}

func checkFrame(t *testing.T, body []byte, got message) {
	t.Helper()
	var want struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params"`
	}
	exact := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &exact); err != nil || !utf8.Valid(body) {
		t.Fatalf("taken, yet no JSON in UTF-8: %v", err)
	}
	for name, to := range map[string]any{"jsonrpc": &want.Version, "id": &want.ID, "method": &want.Method, "params": &want.Params} {
		if raw, given := exact[name]; given && json.Unmarshal(raw, to) != nil {
			t.Fatalf("%s: %s", name, raw)
		}
	}
	if want.Version != "2.0" || got.method != want.Method || !bytes.Equal(got.params, want.Params) {
		t.Fatalf("got %q %s of %s", got.method, got.params, body)
	}
	if got.method != "" && !bytes.Equal(got.id, want.ID) {
		t.Fatalf("id %s of %s", got.id, body)
	}
	if answer := resultAnswer(got.id, []byte("{}")).Body; !json.Valid(answer) {
		t.Fatalf("the answer is no JSON: %s", answer)
	}
}
