package server_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
)

// rpcMessages are MCP messages other than calls of tools, each with the expected status
// and the code of the JSON-RPC error, or 0.
var rpcMessages = []struct {
	body         string
	status, code int
}{
	{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, 200, 0},
	{`{"jsonrpc":"2.0","id":"a","method":"tools/list"}`, 200, 0},
	{`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"1999-01-01","capabilities":{},"clientInfo":{"name":"n","version":"1"}}}`, 200, 0},
	{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202, 0},
	{`{"jsonrpc":"2.0","id":3,"result":{}}`, 202, 0},
	{`{"jsonrpc":"2.0","id":4,"method":"resources/list"}`, 200, -32601},
	{`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"drop_risks"}}`, 200, -32602},
	{`{"jsonrpc":"2.0","id":6,`, 400, -32700},
	{`[{"jsonrpc":"2.0","id":7,"method":"ping"}]`, 400, -32600},
	{`{"id":8,"method":"ping"}`, 400, -32600},
}

// argumentsOf returns a query as arguments of a tool. A limit is a number.
func argumentsOf(query url.Values) string {
	arguments := map[string]any{}
	for name, values := range query {
		arguments[name] = values[0]
		if n, err := strconv.Atoi(values[0]); err == nil && name == "limit" {
			arguments[name] = n
		}
	}
	return plainJSON(arguments)
}

// tool returns the result of a tool: that of the GET, in the format of MCP.
func (m *model) tool(q modelRequest, tool string) (*expectation, *rpcExpectation) {
	if refusal := m.admit(q); refusal != nil {
		return refusal, nil
	}
	if q.flaw == "version" {
		return nil, &rpcExpectation{status: 400, code: -32600}
	}
	read := toolReads[tool]
	if code := m.standing(q.key).permit(permissions[read]); code != "" {
		return nil, &rpcExpectation{status: 200, isError: code}
	}
	e := m.read(m.set(q.key), q.key, modelRequest{operation: read}.path(), q.query)
	if e.status == 400 {
		return nil, &rpcExpectation{status: 200, code: -32602}
	}
	return nil, &rpcExpectation{status: 200, read: e}
}

// rpcExpectation describes the expected response to an MCP message.
type rpcExpectation struct {
	status, code int
	isError      string       // the code in the result of a failed tool
	read         *expectation // the data of the result
}

// structured compares an MCP response, and returns the data that a tool has read.
func (e *rpcExpectation) structured(a answer) (json.RawMessage, error) {
	if a.status != e.status {
		return nil, fmt.Errorf("status %d, want %d: %.300s", a.status, e.status, a.body)
	}
	if a.status == 202 {
		return nil, nil
	}
	var got struct {
		Version string `json:"jsonrpc"`
		Result  *struct {
			Content    []struct{ Type, Text string }
			Structured json.RawMessage `json:"structuredContent"`
			IsError    bool
		}
		Error *struct{ Code int }
	}
	if err := json.Unmarshal(a.body, &got); err != nil || got.Version != "2.0" || (got.Error == nil) == (got.Result == nil) {
		return nil, fmt.Errorf("no answer of JSON-RPC: %w: %.300s", err, a.body)
	}
	if e.code != 0 || got.Error != nil {
		if got.Error == nil || got.Error.Code != e.code {
			return nil, fmt.Errorf("want the error %d: %.300s", e.code, a.body)
		}
		return nil, nil
	}
	if got.Result.IsError != (e.isError != "") || e.read != nil && (len(got.Result.Content) != 1 || got.Result.Content[0].Text != string(got.Result.Structured)) {
		return nil, fmt.Errorf("want the tool's error %q or a read, as text too: %.300s", e.isError, a.body)
	}
	return got.Result.Structured, nil
}
