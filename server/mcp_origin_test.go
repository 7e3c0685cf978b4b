package server_test

import (
	"strings"
	"testing"

	"govsvc/server"
)

func TestMCP_Origin(t *testing.T) {
	t.Parallel()
	const port = "8123"
	const local = "http://127.0.0.1:" + port
	byListener := serveEmptyMCP(t, func(c *server.Config) {
		c.BaseURL, c.AllowOrigins = local, []string{"https://App.example:443/", "vscode-webview://abc"}
	})
	byName := serveEmptyMCP(t, func(c *server.Config) { c.BaseURL = "https://gov.example" })
	host := strings.TrimSuffix(byName.url, server.Base)
	rows := []struct {
		s       *mcpService
		origin  string
		allowed bool
	}{
		{byListener, local, true},
		{byListener, "http://localhost:" + port, true},
		{byListener, "http://LOCALHOST:" + port, true},
		{byListener, "http://[::1]:" + port, true},
		{byListener, "https://app.example", true},
		{byListener, "https://app.example:443", true},
		{byListener, "vscode-webview://abc", true},
		{byListener, "https://localhost:" + port, false},
		{byListener, "http://localhost", false},
		{byListener, "http://localhost:" + port + ".evil.example", false},
		{byListener, "http://localhost:" + port + "/", false},
		{byListener, "http://user@localhost:" + port, false},
		{byListener, "http://127.0.0.2:" + port, false},
		{byListener, "http://app.example", false},
		{byListener, "https://sub.app.example", false},
		{byListener, "https://app.example, https://evil.example", false},
		{byListener, "null", false},
		{byListener, "*", false},
		{byName, "https://gov.example", true},
		{byName, "https://gov.example:8443", false},
		{byName, "http://localhost:" + port, false},
		{byName, host, false}, // Host has the same name
	}
	keys := map[*mcpService]string{byListener: byListener.key(t, "read:all"), byName: byName.key(t, "read:all")}
	for _, row := range rows {
		got := row.s.post(t, keys[row.s], ping, "Origin: "+row.origin)
		if allowed := got.status == 200; allowed != row.allowed {
			t.Errorf("%s: %d %s", row.origin, got.status, got.body)
		}
		if !row.allowed {
			checkRefusal(t, got, "origin_not_allowed")
		}
	}
}

// TestMCP_RefusesInvalidOriginSetting checks that the service does not start with an
// invalid origin.
func TestMCP_RefusesInvalidOriginSetting(t *testing.T) {
	t.Parallel()
	s := serveEmptyMCP(t)
	for _, text := range []string{"*", "app.example", "https://app.example/path", "https://", "null", ""} {
		config := s.config
		config.AllowOrigins = []string{text}
		_, err := server.New(t.Context(), config)
		if err == nil || !strings.Contains(err.Error(), "not an origin like") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
