package server_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"govsvc/db"
	"govsvc/internal/testkit"
)

// bearer adds a key to the requests of a client.
type bearer struct{ key string }

func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return http.DefaultTransport.RoundTrip(r)
}

// connect connects the official Go client with its default settings. The client first
// requests a newer protocol version and opens a stream. The server refuses both.
func (s *mcpService) connect(t *testing.T, key string) *mcp.ClientSession {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: s.url + mcpPath, HTTPClient: &http.Client{Transport: &bearer{key}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	testkit.CloseAfter(t, session.Close)
	return session
}

func TestMCPGoClient_Works(t *testing.T) {
	t.Parallel()
	s := serveMCP(t)
	key := s.key(t, "read:all")
	session := s.connect(t, key)
	hello := session.InitializeResult()
	if hello.ProtocolVersion != "2025-06-18" || hello.ServerInfo.Name != "govsvc" || hello.ServerInfo.Version != "v1.2.3" ||
		hello.Instructions == "" || hello.Capabilities.Tools == nil || hello.Capabilities.Tools.ListChanged ||
		hello.Capabilities.Resources != nil || hello.Capabilities.Prompts != nil {
		t.Errorf("initialize: %+v %+v", hello, hello.Capabilities)
	}
	if err := session.Ping(t.Context(), nil); err != nil {
		t.Error("ping:", err)
	}
	operations := operationsByTool(t)
	var names []string
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool.Name})
		if err != nil || result.IsError {
			t.Errorf("%s: %v %+v", tool.Name, err, result)
			continue
		}
		var want any
		if err := json.Unmarshal([]byte(s.request(t, "GET", operations[tool.Name].Path, key, "").body), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, result.StructuredContent); diff != "" {
			t.Errorf("%s (-GET +tool):\n%s", tool.Name, diff)
		}
	}
	if diff := cmp.Diff(toolNames, names); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}

// TestMCPGoClient_Pages reads all pages of a list as the instructions describe.
func TestMCPGoClient_Pages(t *testing.T) {
	t.Parallel()
	s := serveMCP(t)
	session := s.connect(t, s.key(t, "read:risks"))
	var ids []string
	arguments := map[string]any{"limit": 7, "status": "Open"}
	for {
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_risks", Arguments: arguments})
		if err != nil || result.IsError || len(ids) > 1000 {
			t.Fatal(err, result)
		}
		page := result.StructuredContent.(map[string]any)
		for _, row := range page["data"].([]any) {
			ids = append(ids, row.(map[string]any)["id"].(string))
		}
		if page["has_more"] != true {
			break
		}
		arguments["cursor"] = page["next_cursor"]
	}
	sorted := slices.Sorted(slices.Values(ids))
	if len(ids) < 8 || len(slices.Compact(sorted)) != len(ids) {
		t.Errorf("%d rows, %d of them different", len(ids), len(slices.Compact(sorted)))
	}
}

func TestMCPGoClient_Errors(t *testing.T) {
	t.Parallel()
	s := serveEmptyMCP(t)
	session := s.connect(t, s.key(t, "read:risks"))
	for _, params := range []*mcp.CallToolParams{
		{Name: "no_such_tool"},
		{Name: "list_risks", Arguments: map[string]any{"limit": 1000}},
		{Name: "list_risks", Arguments: map[string]any{"cursor": "made up"}},
		{Name: "list_risks", Arguments: map[string]any{"unknown": true}},
	} {
		_, err := session.CallTool(t.Context(), params)
		if refusal := new(jsonrpc.Error); !errors.As(err, &refusal) || refusal.Code != -32602 {
			t.Errorf("%+v: %v", params, err)
		}
	}
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_vendors"})
	if err != nil || !result.IsError || result.StructuredContent != nil ||
		!strings.Contains(result.Content[0].(*mcp.TextContent).Text, "read:vendor") {
		t.Errorf("a missing scope: %v %+v", err, result)
	}
	if _, err := session.ListPrompts(t.Context(), nil); err == nil {
		t.Error("prompts are listed")
	}
}

// TestMCPGoClient_RefusedWithoutKey checks that a client without a valid key can't connect.
func TestMCPGoClient_RefusedWithoutKey(t *testing.T) {
	t.Parallel()
	s := serveEmptyMCP(t)
	starter := s.key(t, "read:all")
	s.setPlan(t, db.Starter, db.Active)
	for _, key := range []string{"gds_live_wrong", starter} {
		_, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
			&mcp.StreamableClientTransport{Endpoint: s.url + mcpPath, HTTPClient: &http.Client{Transport: &bearer{key}}}, nil)
		if err == nil {
			t.Errorf("connected with %s", key)
		}
	}
}
