package server_test

import (
	"strings"
	"testing"
)

// TestResponse_KeepsAngleBrackets checks that responses contain <, > and & unescaped. JSON
// within HTML would need escapes, but responses are not used there.
func TestResponse_KeepsAngleBrackets(t *testing.T) {
	t.Parallel()
	s, _ := serveKpis(t)
	key := s.service.key(t, "read:all", "read:audit")
	escaped := func(about string, body []byte) {
		t.Helper()
		for _, escape := range []string{`\u003c`, `\u003e`, `\u0026`} {
			if strings.Contains(strings.ToLower(string(body)), escape) {
				t.Errorf("%s: the answer holds %s: %.300s", about, escape, body)
			}
		}
	}
	escaped("a write", s.send(t, write{path: "/risks", body: strings.Replace(goodRisk, `"description":"`, `"description":"a <b> & c `, 1)}).body)
	escaped("check-ins", s.send(t, batch(`"key_result_code":"M","value":1,"note":"a <b> & c"`)).body)
	for _, r := range []row{
		{name: "an error", path: "/risks?%3Ca%3E%26=1", key: key, status: 400, code: "invalid_parameter", param: "<a>&", has: []string{"<a>&"}},
		{name: "a list", path: "/risks", key: key, has: []string{"a <b> & c"}},
		{name: "the audit log", path: "/audit", key: key, has: []string{"a <b> & c"}},
		{name: "the audit log as NDJSON", path: "/audit?format=ndjson", key: key, has: []string{"a <b> & c"}},
		{name: "the index", path: "/"},
		{name: "the document", path: "/openapi.json"},
	} {
		escaped(r.name, s.service.ask(t, r).body)
	}
}
