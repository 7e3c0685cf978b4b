package server_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/internal/testkit"
	"govsvc/sandbox"
	"govsvc/server"
)

// mcpService is a service with the fixtures as its live data, and the sandbox.
type mcpService struct{ *service }

func serveMCP(t testing.TB) *mcpService {
	t.Helper()
	s := serveEmptyMCP(t)
	load(t, s.store, db.DefaultOrganisation, fixtures(t))
	return s
}

// serveEmptyMCP returns a service without live data.
func serveEmptyMCP(t testing.TB, settings ...setting) *mcpService {
	t.Helper()
	common := []setting{
		withAnonymous(6000), withSandbox(openSandbox(t)),
		func(c *server.Config) { c.Version = "v1.2.3" },
	}
	return &mcpService{serve(t, append(common, settings...)...)}
}

func openSandbox(t testing.TB) func() (*db.DB, error) {
	return sync.OnceValues(func() (*db.DB, error) {
		set, err := sandbox.Open(context.WithoutCancel(t.Context()), testkit.Document(t))
		if err != nil {
			return nil, err
		}
		testkit.CloseAfter(t, set.Close)
		return set.DB, nil
	})
}

// mcpPath is below the base of the API.
const mcpPath = "/mcp"

// mcpResponse is a response with its complete body.
type mcpResponse struct {
	status int
	header http.Header
	body   string
}

// mcpClient has enough connections for a benchmark.
var mcpClient = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// request sends a request with any method. Each header has the form "Name: value". A
// header without a value is not sent.
func (s *mcpService) request(t testing.TB, method, path, key, body string, headers ...string) mcpResponse {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ":")
		r.Header.Del(name)
		if value = strings.TrimSpace(value); value != "" {
			r.Header.Set(name, value)
		}
	}
	response, err := mcpClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	plain := string(text)
	if response.Header.Get("Content-Type") == "application/json" && method != http.MethodHead && response.Header.Get("Content-Encoding") == "" {
		var ended bool
		if plain, ended = strings.CutSuffix(plain, "\n"); !ended && response.StatusCode != http.StatusNotModified {
			t.Errorf("%s %s: the body does not end with a line feed: %.100q", method, path, text)
		}
	}
	return mcpResponse{response.StatusCode, response.Header, plain}
}

// post sends a message to the MCP server.
func (s *mcpService) post(t testing.TB, key, message string, headers ...string) mcpResponse {
	t.Helper()
	return s.request(t, http.MethodPost, mcpPath, key, message, headers...)
}

// rpcResponse is a response of JSON-RPC.
type rpcResponse struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    struct {
			Code  string `json:"code"`
			Param string `json:"param"`
		} `json:"data"`
	} `json:"error"`
}

// rpc decodes a JSON-RPC response. The response must match the schema of the document and
// have no other member.
func (r mcpResponse) rpc(t testing.TB) rpcResponse {
	t.Helper()
	var response rpcResponse
	in := json.NewDecoder(strings.NewReader(r.body))
	in.DisallowUnknownFields()
	if err := in.Decode(&response); err != nil || response.Version != "2.0" || (response.Error == nil) == (response.Result == nil) {
		t.Fatalf("not a response of JSON-RPC (%v): %d %s", err, r.status, r.body)
	}
	if _, faults := testkit.Document(t).Schema("McpResponse").Decode([]byte(r.body)); faults != nil {
		t.Errorf("the response does not match the document: %v: %s", faults, r.body)
	}
	return response
}

// toolResult is the result of tools/call.
type toolResult struct {
	Content    []struct{ Type, Text string } `json:"content"`
	Structured json.RawMessage               `json:"structuredContent"`
	IsError    bool                          `json:"isError"`
}

// call calls a tool and expects a result.
func (s *mcpService) call(t testing.TB, key, tool, arguments string) toolResult {
	t.Helper()
	response := s.post(t, key, toolCall(tool, arguments)).rpc(t)
	if response.Error != nil {
		t.Fatalf("%s %s: %+v", tool, arguments, *response.Error)
	}
	var result toolResult
	if err := json.Unmarshal(response.Result, &result); err != nil {
		t.Fatal(err)
	}
	return result
}

func toolCall(tool, arguments string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
}
