package integrations

import (
	"slices"
	"strings"

	"govsvc/db"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// apiPath is where the API is below the service's address.
const apiPath = "/api/v1"

// mintedKey is a new key with its plain text.
type mintedKey struct {
	db.Key
	Plain    string
	Former   string // the name of the key that it succeeds; "" if it is the first of its line
	Overlaps bool   // the former one still works …
	Until    string // … until then
}

// madeData is what the page that shows a new key shows.
type madeData struct {
	Key  *mintedKey // nil where it has been shown
	Curl string
	Ping bool // the line only asks whether the key is good
}

// redirectToCreatedKey leads to the page that shows a new key, once.
func redirectToCreatedKey(r *page.Request, made mintedKey) error {
	return r.RedirectOnce("/keys/made", made)
}

// ShowCreatedKey shows a new key, once.
func ShowCreatedKey(r *page.Request) error {
	data := madeData{}
	if made, ok := r.TakeOnce().(mintedKey); ok {
		data.Key = &made
		data.Curl, data.Ping = curlCommand(r, made)
	}
	return r.Render("key-made", "The new key", data)
}

// curlCommand is a command that tries the key: on the first read that it may do, or
// where it may do none by asking the MCP server, which takes every key.
func curlCommand(r *page.Request, made mintedKey) (line string, ping bool) {
	start := "curl -H 'Authorization: Bearer " + made.Plain + "' "
	for _, op := range r.Document.Operations {
		held := slices.Contains(made.Scopes, op.Scope) ||
			slices.Contains(made.Scopes, readAll) && strings.HasPrefix(op.Scope, "read:") && op.Scope != readAudit
		if op.Method != "GET" || !held || op.Feature != "" && !slices.Contains(r.Caller.Entitlements.Features, op.Feature) {
			continue
		}
		return start + ui.ShellQuote(r.Service.BaseURL+apiPath+op.Path), false
	}
	return start + "--json '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}' " + ui.ShellQuote(r.Service.BaseURL+apiPath+"/mcp"), true
}
