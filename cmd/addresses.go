package cmd

import (
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"strings"
)

// address is HOST:PORT, to listen on.
type address struct{ value *string }

func (v address) Type() string   { return "HOST:PORT" }
func (v address) String() string { return *v.value }

func (v address) Set(text string) error {
	_, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = net.LookupPort("tcp", port) //nolint:noctx // a look into a table
	}
	if err != nil {
		return fmt.Errorf("%q is not HOST:PORT, like 127.0.0.1:8080 or :8080", text)
	}
	*v.value = text
	return nil
}

// webAddress is an http or https URL of a host alone.
type webAddress struct{ value *string }

func (v webAddress) Type() string   { return "URL" }
func (v webAddress) String() string { return *v.value }

func (v webAddress) Set(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || strings.ContainsAny(text, "?#") {
		return fmt.Errorf("%q is not an address like https://gov.example.com, without a path", text)
	}
	*v.value = u.Scheme + "://" + u.Host
	return nil
}

// contact is an e-mail address or an http or https URL.
type contact struct{ value *string }

func (v contact) Type() string   { return "EMAIL|URL" }
func (v contact) String() string { return *v.value }

func (v contact) Set(text string) error {
	u, err := url.Parse(text)
	isURL := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
	email, err := mail.ParseAddress(text)
	if !isURL && (err != nil || email.Address != text) {
		return fmt.Errorf("%q is neither an e-mail address like api@example.com nor an URL like https://example.com/help", text)
	}
	*v.value = text
	return nil
}

// knownOrigin refuses what is not the origin of a web page.
func knownOrigin(text string) error {
	var origin string
	return webAddress{&origin}.Set(text)
}

// prefixes is a repeatable flag of networks; commas separate them, too.
type prefixes []netip.Prefix

// Type is the name of the value in the help.
func (v *prefixes) Type() string { return "CIDR" }

func (v *prefixes) String() string {
	texts := make([]string, len(*v))
	for i, prefix := range *v {
		texts[i] = prefix.String()
	}
	return strings.Join(texts, ",")
}

// Set adds networks, or says what is wrong with one.
func (v *prefixes) Set(text string) error {
	for one := range strings.SplitSeq(text, ",") {
		prefix, err := network(strings.TrimSpace(one))
		if err != nil {
			return fmt.Errorf("%q is not a network like 10.0.0.0/8 or an address like 192.0.2.7", one)
		}
		*v = append(*v, prefix)
	}
	return nil
}

// network reads a network, or an address as the network of it alone.
func network(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		prefix, err := netip.ParsePrefix(text)
		return prefix.Masked(), err
	}
	alone, err := netip.ParseAddr(text)
	return netip.PrefixFrom(alone, alone.BitLen()), err
}
