package webhook

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"govsvc/db"
)

// target is a parsed URL of a receiver.
type target struct {
	url     *url.URL
	host    string     // in lower case, without a trailing dot
	address netip.Addr // invalid if the host is a name
	local   bool       // the host is a name of a machine or network, not of the Internet
}

// longestURL is the maximum length of a URL. Servers refuse longer request lines.
const longestURL = 8000

// parseURL parses a receiver's URL strictly. It refuses what two parsers may read
// differently.
func parseURL(text string) (target, error) {
	var t target
	if len(text) > longestURL {
		return t, invalidURL("url is too long; it may have %d characters", longestURL)
	}
	for _, c := range text {
		if c <= ' ' || c == 0x7f || c == '\\' {
			return t, invalidURL("url must not contain spaces, control characters or backslashes")
		}
	}
	u, err := url.Parse(text)
	if err != nil {
		return t, invalidURL("url is not a well-formed URL")
	}
	u.Host = strings.TrimSuffix(u.Host, ":") // an empty port
	t.url = u
	switch {
	case u.Scheme != "https" || u.Opaque != "":
		return t, invalidURL("url must be an https URL, such as https://example.com/hooks")
	case u.User != nil:
		return t, invalidURL("url must not contain a user name or password; the signature authenticates deliveries")
	}
	if err := checkPort(u); err != nil {
		return t, err
	}
	return t, t.readHost()
}

// checkPort accepts the ports of the URL standard except 0.
func checkPort(u *url.URL) error {
	port := u.Port()
	if port == "" {
		return nil
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return invalidURL("url must have a port from 1 to 65535, or none for 443")
	}
	return nil
}

// readHost parses the host, an address or a name. A host that is a number in the
// URL standard (2130706433, 0x7f.1, 0177.0.0.1) must be a plain address.
func (t *target) readHost() error {
	written := t.url.Host
	t.host = strings.TrimSuffix(strings.ToLower(t.url.Hostname()), ".")
	if strings.HasPrefix(written, "[") {
		address, err := netip.ParseAddr(t.host)
		if err != nil || !address.Is6() || address.Zone() != "" || strings.ContainsRune(t.url.Hostname(), '%') {
			return invalidURL("url must have an IPv6 address in its plain form, without a zone")
		}
		t.address = address
		return nil
	}
	if address, err := netip.ParseAddr(t.host); err == nil && address.Is4() {
		t.address = address
		return nil
	}
	if endsInNumber(t.host) {
		return invalidURL("url must have an IPv4 address as four decimal numbers, or a host name")
	}
	if !isName(t.host) {
		return invalidURL("url must have a host name of ASCII letters, digits and hyphens; write an international one in its xn-- form")
	}
	t.local = isLocal(t.host)
	return nil
}

// endsInNumber returns the URL standard's test for a host that is an IPv4 address.
func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if digits, hex := strings.CutPrefix(last, "0x"); hex {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

func isName(host string) bool {
	if len(host) > 253 {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// localZones are the top-level names of machines and local networks, and names of
// the metadata services of clouds that resolve to public addresses.
var localZones = []string{
	"localhost", "local", "localdomain", "internal", "intranet", "private", "corp", "home", "lan", "home.arpa", "invalid", "onion",
	"metadata.packet.net", "metadata.platformequinix.com", "metadata.tencentyun.com", "metadata.azure.com",
}

func isLocal(host string) bool {
	if !strings.Contains(host, ".") {
		return true
	}
	for _, zone := range localZones {
		if host == zone || strings.HasSuffix(host, "."+zone) {
			return true
		}
	}
	return false
}

// invalidURL returns the error for a URL that is not allowed as a receiver.
func invalidURL(format string, args ...any) error { return urlError(db.Invalid, format, args...) }
