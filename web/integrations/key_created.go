package integrations

import (
	"slices"
	"strings"

	"govsvc/db"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// apiPath is the path of the API.
const apiPath = "/api/v1"

// createdKey is a new key with its plain text.
type createdKey struct {
	db.Key
	Plain       string
	Predecessor string // name of the key that it succeeds, or ""
	Overlaps    bool   // the predecessor is valid …
	Until       string // … until then
}

// createdKeyData is the argument of the page that shows a new key.
type createdKeyData struct {
	Key  *createdKey // nil after the first request
	Curl string
	Ping bool // the command only checks the key
}

// redirectToCreatedKey redirects to the page that shows a new key, once.
func redirectToCreatedKey(r *page.Request, key createdKey) error {
	return r.RedirectOnce("/keys/made", key)
}

// ShowCreatedKey shows a new key, once.
func ShowCreatedKey(r *page.Request) error {
	data := createdKeyData{}
	if key, ok := r.TakeOnce().(createdKey); ok {
		data.Key = &key
		data.Curl, data.Ping = curlCommand(r, key)
	}
	return r.Render("key-created", "New API key", data)
}

// curlCommand returns a command that tries the key, on the first operation that it
// can read. Without one, the command pings the MCP server, which accepts every key.
func curlCommand(r *page.Request, key createdKey) (command string, ping bool) {
	start := "curl -H 'Authorization: Bearer " + key.Plain + "' "
	for _, op := range r.Document.Operations {
		permitted := slices.Contains(key.Scopes, op.Scope) ||
			slices.Contains(key.Scopes, readAll) && strings.HasPrefix(op.Scope, "read:") && op.Scope != readAudit
		if op.Method != "GET" || !permitted || op.Feature != "" && !slices.Contains(r.Caller.Entitlements.Features, op.Feature) {
			continue
		}
		return start + ui.ShellQuote(r.Service.BaseURL+apiPath+op.Path), false
	}
	return start + "--json '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}' " + ui.ShellQuote(r.Service.BaseURL+apiPath+"/mcp"), true
}
