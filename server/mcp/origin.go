package mcp

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"govsvc/server/api"
)

// Origins are the origins of the browser pages that may call MCP (contract, MCP
// tools). The Host header is not trusted: after DNS rebinding a page's own name
// resolves to this address, and the browser sends that name as Host.
type Origins map[string]bool

// NewOrigins allows the origin of the service's address and further ones. A
// loopback address allows all loopback names, because they all reach the service.
func NewOrigins(baseURL string, further []string) (Origins, error) {
	allowed := Origins{}
	for _, text := range append(ownOrigins(baseURL), further...) {
		origin, ok := canonicalOrigin(strings.TrimSuffix(text, "/"))
		if !ok {
			return nil, fmt.Errorf("%q is not an origin like https://app.example.com", text)
		}
		allowed[origin] = true
	}
	return allowed, nil
}

func ownOrigins(baseURL string) []string {
	base, err := url.Parse(baseURL)
	if baseURL == "" || err != nil || !isLocal(base.Hostname()) {
		return strings.Fields(baseURL)
	}
	own := []string{base.Scheme + "://" + base.Host}
	for _, name := range []string{"localhost", "127.0.0.1", "::1"} {
		host := strings.TrimSuffix(net.JoinHostPort(name, base.Port()), ":")
		own = append(own, base.Scheme+"://"+host)
	}
	return own
}

// isLocal reports whether a service at that host can be reached under the
// loopback names: the host is one of them, or every address.
func isLocal(host string) bool {
	address, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && (address.IsLoopback() || address.IsUnspecified())
}

// Check refuses a request from a page whose Origin is not allowed. A request
// without the header does not come from a browser page.
func (o Origins) Check(headers []string) error {
	for _, header := range headers {
		origin, ok := canonicalOrigin(header)
		if !ok || !o[origin] {
			return errOrigin
		}
	}
	return nil
}

// canonicalOrigin returns an origin as browsers serialise it (RFC 6454, section
// 6.2): in lower case, without a default port.
func canonicalOrigin(text string) (string, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Path != "" || strings.ContainsAny(text, "?#") {
		return "", false
	}
	host := strings.ToLower(u.Host)
	switch u.Scheme {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	return u.Scheme + "://" + host, true
}

var errOrigin = &api.Error{
	Code:    api.OriginNotAllowed,
	Message: "pages of this origin may not call this service; its operator can allow the origin with --allow-origin",
}
