package cmd

import (
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"strings"
)

// parseAddress parses an address to listen on.
func parseAddress(text string) (string, error) {
	_, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = net.LookupPort("tcp", port) //nolint:noctx // a look into a table
	}
	if err != nil {
		return "", fmt.Errorf("%q is not HOST:PORT, like 127.0.0.1:8080 or :8080", text)
	}
	return text, nil
}

// parseOrigin parses an http or https URL without a path.
func parseOrigin(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || strings.ContainsAny(text, "?#") {
		return "", fmt.Errorf("%q is not an address like https://gov.example.com, without a path", text)
	}
	return u.Scheme + "://" + u.Host, nil
}

// parseContact parses an e-mail address or an http or https URL.
func parseContact(text string) (string, error) {
	u, err := url.Parse(text)
	isURL := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
	email, err := mail.ParseAddress(text)
	if !isURL && (err != nil || email.Address != text) {
		return "", fmt.Errorf("%q is neither an e-mail address like api@example.com nor a URL like https://example.com/help", text)
	}
	return text, nil
}

// checkOrigin refuses a text that is not the origin of a web page.
func checkOrigin(text string) error {
	_, err := parseOrigin(text)
	return err
}

// networkList is a repeatable flag of networks. Commas separate them too.
type networkList []netip.Prefix

// Type returns the name of the value in the help.
func (v *networkList) Type() string { return "CIDR" }

func (v *networkList) String() string {
	texts := make([]string, len(*v))
	for i, prefix := range *v {
		texts[i] = prefix.String()
	}
	return strings.Join(texts, ",")
}

// Set adds networks.
func (v *networkList) Set(text string) error {
	for one := range strings.SplitSeq(text, ",") {
		prefix, err := parseNetwork(strings.TrimSpace(one))
		if err != nil {
			return fmt.Errorf("%q is not a network like 10.0.0.0/8 or an address like 192.0.2.7", one)
		}
		*v = append(*v, prefix)
	}
	return nil
}

// parseNetwork parses a network, or an address as a network of one address.
func parseNetwork(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		prefix, err := netip.ParsePrefix(text)
		return prefix.Masked(), err
	}
	alone, err := netip.ParseAddr(text)
	return netip.PrefixFrom(alone, alone.BitLen()), err
}
