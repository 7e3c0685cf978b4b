package server_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/internal/testkit"
)

// TestMethods_RefusedOnReads sends every method to paths that can only be read.
func TestMethods_RefusedOnReads(t *testing.T) {
	t.Parallel()
	s := serve(t)
	key := s.key(t, "read:all")
	for _, path := range []string{"/scores", "/scorecard", "/signals", "/roadmap/milestones", "/audit", "/", "", "/openapi.json"} {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} {
			for _, key := range []string{"", key} {
				s.ask(t, row{method: method, path: path, key: key, status: 405, code: "method_not_allowed", has: []string{"Allow: GET, HEAD\r"}})
			}
		}
	}
	for _, op := range reads(t) {
		if op.Path == "/audit" {
			continue
		}
		get, head := s.get(t, op.Path, key), s.ask(t, row{method: "HEAD", path: op.Path, key: key})
		if got, want := head.header.Get("Content-Length"), get.header.Get("Content-Length"); got != want || head.header.Get("Etag") != get.header.Get("Etag") {
			t.Errorf("HEAD %s: length %s, want %s", op.Path, got, want)
		}
	}
	s.ask(t, row{method: "HEAD", path: "/scores", status: 401})
}

// TestPaths_Unknown checks that paths that do not exist answer 404.
func TestPaths_Unknown(t *testing.T) {
	t.Parallel()
	s := serve(t)
	key := s.key(t, "read:all")
	for _, path := range []string{
		"/nothing", "/scores/", "/scores/1", "//scores", "/Scores", "/risk", "/roadmap/milestones/x", "/../v1/scores", "/scores%2f", "/%00",
		"/scores;x=1", "/v1/scores", "/index", "/openapi.yaml", "/.well-known/security.txt", "/audit/verify", "/scores%20",
	} {
		s.ask(t, row{path: path, key: key, status: 404, code: "not_found", not: []string{"milestones/x", "security.txt"}})
		s.ask(t, row{path: path, status: 404, code: "not_found"})
	}
}

// TestIndex_Golden compares the index with its golden file, at both of its paths.
func TestIndex_Golden(t *testing.T) {
	t.Parallel()
	s := serve(t)
	var pages [][]byte
	for _, r := range []row{{path: "/"}, {path: ""}, {path: "/", key: "nonsense"}, {path: "/", header: header("Service-Version", "2026-09-12")}} {
		pages = append(pages, s.ask(t, r).body)
	}
	for _, page := range pages[1:] {
		if !bytes.Equal(page, pages[0]) {
			t.Errorf("another index: %s", page)
		}
	}
	s.ask(t, row{path: "/?limit=5", status: 400, code: "invalid_parameter", param: "limit"})
	golden(t, "index.json", pages[0])
	var index struct {
		Resources  []struct{ Path, Scope string }
		Operations []struct{ Method, Path, Scope string }
	}
	if err := json.Unmarshal(pages[0], &index); err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for _, r := range index.Resources {
		listed["GET "+r.Path] = r.Scope
	}
	for _, o := range index.Operations {
		listed[o.Method+" "+o.Path] = o.Scope
	}
	for _, op := range testkit.Document(t).Operations {
		if op.Scope != "" && listed[op.Method+" "+op.Path] != op.Scope {
			t.Errorf("%s %s is not in the index with its scope", op.Method, op.Path)
		}
	}
}

// TestDocument_Golden compares the served document with the golden file of package openapi.
func TestDocument_Golden(t *testing.T) {
	t.Parallel()
	s := serve(t)
	a := s.get(t, "/openapi.json", "")
	want, err := os.ReadFile(filepath.Join("openapi", "testdata", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	// The golden file is of a service with the default address.
	want = bytes.ReplaceAll(want, []byte("http://127.0.0.1:8080/"), []byte("https://gov.example/"))
	if diff := cmp.Diff(indented(t, want), indented(t, a.body)); diff != "" {
		t.Errorf("openapi.json (-golden +served):\n%.3000s", diff)
	}
	s.ask(t, row{path: "/openapi.json?x=1", status: 400, code: "invalid_parameter", param: "x"})
}

func indented(t testing.TB, body []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(body), "", "  "); err != nil {
		t.Fatal(err)
	}
	return b.String() + "\n"
}

func golden(t testing.TB, name string, body []byte) {
	t.Helper()
	testkit.Golden(t, name, indented(t, body))
}

// TestHealth_States requests both health pages with the file working, locked and closed.
func TestHealth_States(t *testing.T) {
	t.Parallel()
	s := serveWaiting(t)
	path := s.store.File.Path()
	health := func(ready int) {
		t.Helper()
		s.clock.Advance(time.Second) // the result of the check is cached for a second
		for page, want := range map[string]int{"/healthz": 200, "/readyz": ready} {
			request, err := http.NewRequestWithContext(t.Context(), "GET", strings.TrimSuffix(s.url, "/api/v1")+page, nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := transport.RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if response.StatusCode != want || strings.Contains(string(body), "sql") || strings.Contains(string(body), path) {
				t.Errorf("%s: %d, want %d: %s", page, response.StatusCode, want, body)
			}
		}
	}
	health(200)
	release := lock(t, path)
	health(503)
	release()
	health(200)
	if err := s.config.Store.Close(); err != nil {
		t.Fatal(err)
	}
	health(503)
}

// TestFailures_HideReason makes the service fail. The answer says only that it failed,
// and the log has the reason.
func TestFailures_HideReason(t *testing.T) {
	t.Parallel()
	s := serve(t, withSandbox(func() (*db.DB, error) { panic("INTERNAL detail") }))
	key := s.key(t, "read:all", "read:audit")
	_, test := s.mint(t, db.DefaultOrganisation, db.KeyDraft{Kind: db.TestKey, Scopes: []string{"read:risks"}})
	internals := []string{"INTERNAL", "goroutine", ".go:", "panic", "sql:", "SQL", "closed", key[21:], test[21:]}
	s.ask(t, row{name: "panic", path: "/risks", key: test, status: 500, code: "internal_error", not: internals})
	s.get(t, "/risks", key) // the service continues
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, op := range reads(t) {
		s.ask(t, row{name: "closed: " + op.Path, path: op.Path, key: key, status: 500, code: "internal_error", not: internals})
	}
	s.get(t, "/", "")
	log := s.log.String()
	if !strings.Contains(log, "INTERNAL detail") || !strings.Contains(log, "database is closed") || !strings.Contains(log, "req_") {
		t.Errorf("the log does not have the reason:\n%s", log)
	}
	if strings.Contains(log, key[21:]) || strings.Contains(log, test[21:]) {
		t.Error("the log holds a key")
	}
}
