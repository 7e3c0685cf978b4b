package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"govsvc/db"
	"govsvc/internal/testkit"
	"govsvc/server/openapi"
)

// TestMCP_EqualsGet calls every tool with several arguments, page by page. The result
// equals that of the GET and matches the output schema.
func TestMCP_EqualsGet(t *testing.T) {
	t.Parallel()
	live := serveMCP(t)
	empty := serveEmptyMCP(t)
	_, test := live.mint(t, db.DefaultOrganisation, db.KeyDraft{Kind: db.TestKey, Scopes: []string{"read:all"}, PerMinute: new(100_000)})
	for name, from := range map[string]struct {
		s   *mcpService
		key string
	}{
		"live": {live, live.key(t, "read:all")}, "test": {live, test}, "no data": {empty, empty.key(t, "read:all")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			operations := operationsByTool(t)
			for _, tool := range from.s.tools(t, from.key) {
				schema := compiled(t, tool.OutputSchema)
				for _, arguments := range argumentsFor(operations[tool.Name]) {
					checkPages(t, from.s, from.key, operations[tool.Name], schema, arguments)
				}
			}
		})
	}
}

func operationsByTool(t testing.TB) map[string]*openapi.Operation {
	t.Helper()
	operations := map[string]*openapi.Operation{}
	for _, op := range testkit.Document(t).Operations {
		if op.Tool != nil {
			operations[op.Tool.Name] = op
		}
	}
	return operations
}

// argumentsFor returns arguments with each value of each enumeration and several page
// sizes.
func argumentsFor(op *openapi.Operation) []map[string]any {
	all := []map[string]any{{}}
	for _, p := range op.Parameters {
		switch {
		case p.Name == "limit":
			all = append(all, map[string]any{"limit": 2}, map[string]any{"limit": 100})
		case p.Name == "updated_since":
			all = append(all, map[string]any{"updated_since": "2026-06-01", "limit": 3}, map[string]any{"updated_since": "2099-01-01T00:00:00Z"})
		case p.Enum != nil:
			for _, value := range p.Enum {
				all = append(all, map[string]any{p.Name: value})
			}
		case p.Name != "cursor":
			all = append(all, map[string]any{p.Name: "no such value"})
		}
	}
	return all
}

func checkPages(t *testing.T, s *mcpService, key string, op *openapi.Operation, schema *jsonschema.Schema, arguments map[string]any) {
	t.Helper()
	for range 100 {
		encoded, err := json.Marshal(arguments)
		if err != nil {
			t.Fatal(err)
		}
		result := s.call(t, key, op.Tool.Name, string(encoded))
		get := s.request(t, http.MethodGet, op.Path+queryOf(arguments), key, "")
		what := op.Tool.Name + " " + string(encoded)
		if result.IsError || get.status != 200 || string(result.Structured) != get.body {
			t.Fatalf("%s: structured content\n%s\nGET\n%d %s", what, result.Structured, get.status, get.body)
		}
		if len(result.Content) != 1 || result.Content[0].Type != "text" || result.Content[0].Text != get.body {
			t.Fatalf("%s: content %v", what, result.Content)
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(get.body))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		next, _ := value.(map[string]any)["next_cursor"].(string)
		if next == "" {
			return
		}
		arguments["cursor"] = next
	}
	t.Errorf("%s: pages without end", op.Tool.Name)
}

func queryOf(arguments map[string]any) string {
	query := url.Values{}
	for name, value := range arguments {
		switch value := value.(type) {
		case string:
			query.Set(name, value)
		case int:
			query.Set(name, strconv.Itoa(value))
		}
	}
	return "?" + query.Encode()
}

// TestMCP_ChangeBeforeBody changes the data after the service has accepted a request's
// headers and before its body is sent. The result has the change.
func TestMCP_ChangeBeforeBody(t *testing.T) {
	t.Parallel()
	s := serveEmptyMCP(t)
	key := s.key(t, "read:risks")
	call := toolCall("list_risks", "{}")
	for range 3 { // from the second one on, the result is cached
		s.post(t, key, call)
	}
	body := &changeReader{Reader: strings.NewReader(call), change: func() {
		load(t, s.store, db.DefaultOrganisation, []db.Record{sample("risk", "K", 1, start)})
	}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+mcpPath, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}, "Expect": {"100-continue"}}
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}
	defer client.CloseIdleConnections()
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(text), "K risk 1") || response.StatusCode != http.StatusOK {
		t.Errorf("%d %s (%v)", response.StatusCode, text, err)
	}
}

// changeReader makes a change before its first byte is read.
type changeReader struct {
	io.Reader
	change func()
}

// Read makes the change once.
func (r *changeReader) Read(p []byte) (int, error) {
	if r.change != nil {
		r.change()
		r.change = nil
	}
	return r.Reader.Read(p)
}
