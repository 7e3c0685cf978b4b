package server_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/internal/testkit"
	"govsvc/sandbox"
	"govsvc/server/openapi"
)

// recordOf is a record of the sandbox that an operation on a path can act on.
var recordOf = map[string]string{
	"/risks/{id}":                       "00000000-0000-0000-0000-000000000201",
	"/incidents/{id}":                   "00000000-0000-0000-0000-000000001501",
	"/vendor/inventory/{id}":            "00000000-0000-0000-0000-000000000901",
	"/webhooks/subscriptions/{id}":      "00000000-0000-0000-0000-000000001602",
	"/webhooks/subscriptions/{id}/test": "00000000-0000-0000-0000-000000001602",
}

// bodies for the operations whose example in the document names something that
// the sandbox does not have.
var sandboxBodies = map[string]string{
	"createKpiCheckins": `{"checkins":[{"key_result_code":"KR-1.1","value":1,"note":"hello"}]}`,
	"callMcp":           `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_risks","arguments":{}}}`,
}

// TestSandbox_NeverShowsLiveData runs every operation of the document with a test key.
// The live data is full of canary values: no answer contains one, and no live row
// changes. A new operation in the document is tested automatically.
func TestSandbox_NeverShowsLiveData(t *testing.T) {
	t.Parallel()
	box, err := sandbox.Open(t.Context(), testkit.Document(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close() })
	path := filepath.Join(t.TempDir(), "live.db")
	s := serveFile(t, path, testkit.NewClock(start), withSandbox(func() (*db.DB, error) { return box.DB, nil }))
	load(t, s.store, db.DefaultOrganisation, sampleOfEachType("CANARY", start))
	_, key := s.mint(t, db.DefaultOrganisation, db.KeyDraft{
		Name: "CANARY", Kind: db.TestKey, Scopes: append(readScopes, otherScopes...), PerMinute: new(10_000),
	})
	before := fingerprint(t, path)
	for _, op := range testkit.Document(t).Operations {
		first := s.try(t, op, key, "guard-"+op.ID)
		if bytes.Contains(first.body, []byte("CANARY")) || strings.Contains(first.head, "CANARY") {
			t.Errorf("%s shows live data: %.300s", op.ID, first.body)
		}
		if first.status/100 != 2 {
			t.Errorf("%s with a test key answered %d: %.300s", op.ID, first.status, first.body)
		}
		if op.Public || op.Idempotency == openapi.NoIdempotency {
			continue
		}
		if !strings.Contains(first.head, "Service-Environment: test") {
			t.Errorf("%s: the answer lacks the header Service-Environment: test", op.ID)
		}
		again := s.try(t, op, key, "guard-"+op.ID)
		if !strings.Contains(again.head, "Idempotency-Replayed: true") || again.status != first.status ||
			!bytes.Equal(withoutSecret(first.body), again.body) {
			t.Errorf("%s is not replayed:\n%.300s\n%.300s", op.ID, first.body, again.body)
		}
	}
	if after := fingerprint(t, path); after != before {
		t.Error("a live row changed")
	}
}

type attempt struct {
	status int
	head   string
	body   []byte
}

// try sends the example of the document to an operation.
func (s *service) try(t *testing.T, op *openapi.Operation, key, idempotency string) attempt {
	t.Helper()
	path := op.Path
	if strings.Contains(path, "{") {
		if recordOf[path] == "" {
			t.Fatalf("give recordOf a record for %s", path)
		}
		path = strings.Replace(path, "{id}", recordOf[path], 1)
	}
	body := sandboxBodies[op.ID]
	if body == "" && op.Body != nil {
		body = example(t, op)
	}
	request := s.request(t, op.Method, path, key, body)
	if op.Idempotency != openapi.NoIdempotency {
		request.Header.Set("Idempotency-Key", idempotency)
	}
	a := exchange(t, request)
	var head strings.Builder
	if err := a.header.Write(&head); err != nil {
		t.Fatal(err)
	}
	return attempt{a.status, head.String(), a.body}
}

// example returns the first example of an operation's body in the document.
func example(t *testing.T, op *openapi.Operation) string {
	t.Helper()
	var served struct {
		Paths map[string]map[string]struct {
			RequestBody struct {
				Content map[string]struct {
					Schema struct {
						Ref      string            `json:"$ref"`
						Examples []json.RawMessage `json:"examples"`
					}
				}
			}
		}
		Components struct {
			Schemas map[string]struct{ Examples []json.RawMessage }
		}
	}
	var raw struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(testkit.Document(t).JSON(), &raw); err != nil {
		t.Fatal(err)
	}
	own := raw.Paths[op.Path][strings.ToLower(op.Method)]
	if err := json.Unmarshal(fmt.Appendf(nil, `{"Paths":{"p":{"m":%s}}}`, own), &served); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(testkit.Document(t).JSON(), &struct {
		Components any `json:"components"`
	}{&served.Components}); err != nil {
		t.Fatal(err)
	}
	schema := served.Paths["p"]["m"].RequestBody.Content["application/json"].Schema
	examples := schema.Examples
	if schema.Ref != "" {
		examples = served.Components.Schemas[schema.Ref[strings.LastIndex(schema.Ref, "/")+1:]].Examples
	}
	if len(examples) == 0 {
		if op.BodyOptional {
			return ""
		}
		t.Fatalf("the document gives no example of the body of %s", op.ID)
	}
	return string(examples[0])
}

// withoutSecret returns a response as a replay returns it, without the secret.
func withoutSecret(body []byte) []byte {
	start := bytes.Index(body, []byte(`"secret":"`))
	if start < 0 {
		return body
	}
	start += len(`"secret":`)
	end := start + 1 + bytes.IndexByte(body[start+1:], '"') + 1
	return append(append(bytes.Clone(body[:start]), "null"...), body[end:]...)
}

// fingerprint hashes every row of a file except the counts of requests and the times
// when keys were used.
func fingerprint(t *testing.T, path string) [sha256.Size]byte {
	t.Helper()
	names := testkit.QuerySQL(t, path, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('limiter_counts', 'sqlite_sequence') ORDER BY name")
	sum := sha256.New()
	for _, name := range names {
		columns := testkit.QuerySQL(t, path, "SELECT name FROM pragma_table_info('"+name+"') WHERE name <> 'last_used_at' ORDER BY cid")
		for _, row := range testkit.QuerySQL(t, path, "SELECT json_array("+strings.Join(quoted(columns), ", ")+") FROM "+name+" ORDER BY 1") {
			fmt.Fprintln(sum, name, row)
		}
	}
	return [sha256.Size]byte(sum.Sum(nil))
}

func quoted(columns []string) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = "CASE typeof(" + c + ") WHEN 'blob' THEN hex(" + c + ") ELSE " + c + " END"
	}
	return out
}
