package server_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// toolNames are the names of the tools that the contract lists, in the order of the document.
var toolNames = strings.Fields(`list_scores get_scorecard list_risks list_signals get_roadmap list_milestones get_compliance
	list_obligations get_vendor_portfolio list_vendors get_talent_readiness list_talent_gaps list_incidents list_kpis`)

func mcpInitializes(t *testing.T, s *mcpService, key string) {
	t.Helper()
	for asked, want := range map[string]string{
		"2025-06-18": "2025-06-18", "2025-03-26": "2025-03-26", "2024-11-05": "2024-11-05",
		"2025-11-25": "2025-06-18", "2026-07-28": "2025-06-18", "": "2025-06-18", "x": "2025-06-18",
	} {
		got := s.post(t, key, strings.Replace(hello, `"2025-06-18"`, `"`+asked+`"`, 1))
		var result map[string]any
		if err := json.Unmarshal(got.rpc(t).Result, &result); err != nil {
			t.Fatal(err)
		}
		if text, _ := result["instructions"].(string); len(text) < 500 || !strings.Contains(text, "lists come newest first") || !strings.Contains(text, "Sort milestones") {
			t.Errorf("instructions: %q", text)
		}
		delete(result, "instructions")
		diff := cmp.Diff(map[string]any{
			"protocolVersion": want,
			"capabilities":    map[string]any{"tools": map[string]any{}},
			"serverInfo":      map[string]any{"name": "govsvc", "version": "v1.2.3"},
		}, result)
		if diff != "" {
			t.Errorf("%q (-want +got):\n%s", asked, diff)
		}
	}
	for _, params := range []string{"", `,"params":{}`, `,"params":{"protocolVersion":null}`, `,"params":{"protocolVersion":20250618}`} {
		response := s.post(t, key, `{"jsonrpc":"2.0","id":1,"method":"initialize"`+params+`}`).rpc(t)
		if response.Error == nil || response.Error.Code != -32602 || response.Error.Data.Param != "protocolVersion" {
			t.Errorf("%s: %+v", params, response)
		}
	}
}

func mcpUnknownMethod(t *testing.T, s *mcpService, key string) {
	t.Helper()
	for _, method := range []string{"", "Ping", "tools", "tools/Call", "resources/list", "server/discover", "logging/setLevel", "rpc.x"} {
		got := s.post(t, key, `{"jsonrpc":"2.0","id":7,"method":"`+method+`"}`)
		response := got.rpc(t)
		if got.status != 200 || response.Error == nil || response.Error.Code != -32601 || string(response.ID) != "7" {
			t.Errorf("%q: %+v", method, got)
		}
	}
}

// shownTool is a tool in the form that tools/list returns.
type shownTool struct {
	Name, Title, Description string
	InputSchema              map[string]any
	OutputSchema             map[string]any
	Annotations              map[string]any
}

func (s *mcpService) tools(t testing.TB, key string) []shownTool {
	t.Helper()
	var list struct{ Tools []shownTool }
	in := json.NewDecoder(strings.NewReader(string(s.post(t, key, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`).rpc(t).Result)))
	in.DisallowUnknownFields()
	if err := in.Decode(&list); err != nil {
		t.Fatal(err)
	}
	return list.Tools
}

func TestMCP_ToolList(t *testing.T) {
	t.Parallel()
	s := serveEmptyMCP(t)
	key := s.key(t, "write:risks") // gives access to no tool
	var names []string
	for _, tool := range s.tools(t, key) {
		names = append(names, tool.Name)
		if tool.Title == "" || len(tool.Description) < 80 {
			t.Errorf("%s: title %q, description %q", tool.Name, tool.Title, tool.Description)
		}
		if diff := cmp.Diff(map[string]any{"readOnlyHint": true, "openWorldHint": false}, tool.Annotations); diff != "" {
			t.Errorf("%s: annotations (-want +got):\n%s", tool.Name, diff)
		}
		if tool.InputSchema["type"] != "object" || tool.InputSchema["additionalProperties"] != false || tool.OutputSchema["type"] != "object" {
			t.Errorf("%s: schemas %v %v", tool.Name, tool.InputSchema, tool.OutputSchema)
		}
		compiled(t, tool.InputSchema)
	}
	if diff := cmp.Diff(toolNames, names); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	for _, cursor := range []string{`"abc"`, `""`, "null", "1"} {
		response := s.post(t, key, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":`+cursor+`}}`).rpc(t)
		if response.Error == nil || response.Error.Code != -32602 || response.Error.Data.Param != "cursor" {
			t.Errorf("cursor %s: %+v", cursor, response)
		}
	}
}

func compiled(t testing.TB, schema any) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:tool", schema); err != nil {
		t.Fatal(err)
	}
	out, err := c.Compile("mem:tool")
	if err != nil {
		t.Fatal(err)
	}
	return out
}
