package server

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"govsvc/server/api"
)

// origins are those of the browser pages that may call MCP (contract, MCP
// tools). What Host says counts for nothing: a page that has its own name
// resolve to this address (DNS rebinding) sends that name as Host, too.
type origins map[string]bool

// newOrigins allows the origin of the service's address and further ones. On
// this machine the service has several names, so a loopback address stands for
// all of them.
func newOrigins(baseURL string, further []string) (origins, error) {
	allowed := origins{}
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

// isLocal tells whether a host is reached on this machine under the loopback
// names: one of them, or every address.
func isLocal(host string) bool {
	address, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && (address.IsLoopback() || address.IsUnspecified())
}

// admit tells whether a request may come from where its Origin says; one
// without comes from no browser page.
func (o origins) admit(headers []string) bool {
	for _, header := range headers {
		origin, ok := canonicalOrigin(header)
		if !ok || !o[origin] {
			return false
		}
	}
	return true
}

// canonicalOrigin is an origin as browsers serialise it (RFC 6454, section
// 6.2): lower case, without a default port.
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
