package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"govsvc/server"
	"govsvc/server/api"
	"govsvc/server/certificates"
	"govsvc/server/listener"
)

// tlsFlags are the flags about TLS.
type tlsFlags struct {
	certFile, keyFile string
	domains           []string
	directory         string
	roots             []string // files
	redirectAddr      string   // "" is port 80 of the host of --addr
	insecure          bool
}

// tlsHelp is the part of the help of serve about TLS.
const tlsHelp = `It serves https with --tls-cert and --tls-key, which are read again when the
files change, or with --domain. With --domain an ACME authority issues the
certificates. It verifies on port 443 that the names lead here (TLS-ALPN-01, or
HTTP-01 on port 80). The certificates are kept in a folder beside the data file
and renewed. A second address, port 80 by default (--redirect-addr), redirects
GET and HEAD to https. If that address is not available, a warning says so.
Plain HTTP is served on loopback only, unless a proxy in front speaks https
(--trusted-proxy) or --insecure allows it.`

// add defines the flags on a command.
func (f *tlsFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.certFile, "tls-cert", "", "serve https with the certificate chain in this PEM `FILE`, read again when it changes")
	c.Flags().StringVar(&f.keyFile, "tls-key", "", "PEM `FILE` of the private key that belongs to --tls-cert")
	c.Flags().Var(listValue{&f.domains, checkDomain, "NAME"}, "domain", "serve https under this name, with a certificate from the ACME directory; you thereby accept its terms; repeatable, or separated by commas")
	c.Flags().Var(textValue{&f.directory, "URL", parseSecureURL}, "acme-directory", "URL of the ACME directory for --domain; default: Let's Encrypt")
	c.Flags().Var(listValue{&f.roots, nil, "FILE"}, "acme-ca", "PEM file of a certificate authority to trust for the ACME directory, in addition to the system's; repeatable, or separated by commas")
	c.Flags().Var(textValue{&f.redirectAddr, "HOST:PORT", parseRedirectAddress}, "redirect-addr", "with --domain, the address that redirects plain HTTP to https, or off; default: port 80 of the host that it serves")
	c.Flags().BoolVar(&f.insecure, "insecure", false, "allow plain HTTP on addresses that others can reach")
}

// enabled reports whether connections are encrypted.
func (f *tlsFlags) enabled() bool { return f.certFile != "" || len(f.domains) > 0 }

// check refuses flags that exclude or need each other.
func (f *tlsFlags) check(c *cobra.Command) error {
	switch {
	case (f.certFile == "") != (f.keyFile == ""):
		return usageErrorf("--tls-cert and --tls-key belong together: give both%s", helpHint(c))
	case f.certFile != "" && len(f.domains) > 0:
		return usageErrorf("give --tls-cert and --tls-key, or --domain, not both%s", helpHint(c))
	case len(f.domains) == 0 && (f.directory != "" || len(f.roots) > 0):
		return usageErrorf("--acme-directory and --acme-ca need --domain%s", helpHint(c))
	case len(f.domains) == 0 && f.redirectAddr != "":
		return usageErrorf("--redirect-addr needs --domain%s", helpHint(c))
	}
	return nil
}

// checkPlain refuses to serve plain HTTP where others can read it.
func (f *tlsFlags) checkPlain(ctx context.Context, addr string, behindProxy bool) error {
	if f.enabled() || f.insecure || behindProxy {
		return nil
	}
	loopback, err := isLoopback(ctx, "--addr", addr)
	if err != nil || loopback {
		return err
	}
	return usageErrorf("--addr %s can be reached from other machines, and plain HTTP shows API keys to the network between: "+
		"give --tls-cert and --tls-key, or --domain; behind a proxy that speaks https, --trusted-proxy with its network; or --insecure to serve it anyway", addr)
}

// isLoopback reports whether the address to listen on that a flag names leads to
// loopback addresses only.
func isLoopback(ctx context.Context, flag, addr string) (bool, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil || host == "" {
		return false, err
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback(), nil
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return false, cannotListen(flag, addr, err)
	}
	for _, ip := range addresses {
		if !ip.Unmap().IsLoopback() {
			return false, nil
		}
	}
	return true, nil
}

// publicURL returns the service's address without --base-url: the first domain, or else
// the address that it listens on. Port 443 of the domain leads to the service, else its
// authority issues no certificate.
func (f *tlsFlags) publicURL(listening string) string {
	if len(f.domains) == 0 {
		return listening
	}
	return "https://" + f.domains[0]
}

// certificates opens the source of the certificates. Those that it obtains are
// kept beside the data file at path.
func (f *tlsFlags) certificates(path string, logger *slog.Logger) (certificates.Source, error) {
	switch {
	case len(f.domains) > 0:
		roots, err := readRoots("--acme-ca", f.roots)
		if err != nil {
			return certificates.Source{}, err
		}
		return certificates.FromACME(certificates.ACME{
			Domains: f.domains, Directory: f.directory, Roots: roots, Folder: path + "-acme",
			UserAgent: "govsvc/" + programVersion().Version, Logger: logger,
		})
	case f.certFile == "":
		return certificates.Source{Expiry: func() map[string]time.Time { return nil }}, nil
	}
	source, err := certificates.FromFiles(f.certFile, f.keyFile, logger)
	var unreadable *fs.PathError
	switch {
	case err == nil:
		return source, nil
	case !errors.As(err, &unreadable):
		err = fmt.Errorf("--tls-cert and --tls-key: %w", err)
	case unreadable.Path == f.keyFile:
		err = fmt.Errorf("--tls-key: %w", err)
	default:
		err = fmt.Errorf("--tls-cert: %w", err)
	}
	return certificates.Source{}, err
}

// redirect returns work that redirects clients of plain HTTP to https until its context
// ends, or nil without --domain. The service works without it, so an address that can't
// be listened on is a warning.
func (f *tlsFlags) redirect(ctx context.Context, o serveOptions, source certificates.Source, handler *server.Server, logger *slog.Logger) func(context.Context) error {
	if source.Challenges == nil || f.redirectAddr == redirectOff {
		return nil
	}
	addr := f.redirectAddr
	if addr == "" {
		host, _, _ := net.SplitHostPort(o.addr) // valid, because serve listens on it
		addr = net.JoinHostPort(host, "80")
	}
	l, err := listen(ctx, "--redirect-addr", addr, o.limits())
	if err != nil {
		logger.Warn("plain HTTP is not redirected to https; allow this process to listen there, name another address with --redirect-addr, or turn it off with --redirect-addr off",
			"address", addr, "error", err)
		return nil
	}
	service := listener.Redirect{
		Refuser: handler, Domains: f.domains, Challenges: source.Challenges(),
		RefuseMethod: func(w http.ResponseWriter, r *http.Request, message string) { //nolint:contextcheck // the context is that of the request
			handler.RefuseWithoutKey(w, r, &api.Error{Code: api.MethodNotAllowed, Message: message})
		},
	}
	logger.Info("redirecting plain HTTP to https", "address", "http://"+l.HostPort())
	return func(ctx context.Context) error {
		if err := listener.Serve(ctx, l, nil, service, logger); err != nil {
			return fmt.Errorf("the redirect to https: %w", err)
		}
		return nil
	}
}

// redirectOff is the value of --redirect-addr that turns the redirect off.
const redirectOff = "off"

// parseRedirectAddress parses an address to listen on, or off.
func parseRedirectAddress(text string) (string, error) {
	if text == redirectOff {
		return text, nil
	}
	return parseAddress(text)
}

// parseSecureURL parses an https URL.
func parseSecureURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" {
		return "", fmt.Errorf("%q is not an https URL", text)
	}
	return text, nil
}

// domainName matches a DNS name in ASCII with a dot.
var domainName = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)

// checkDomain refuses a text that no authority issues a certificate for.
func checkDomain(text string) error {
	if len(text) > 253 || !domainName.MatchString(text) {
		return fmt.Errorf("%q is not a host's name like gov.example.com, in lower case, without https:// and without a port", text)
	}
	return nil
}
