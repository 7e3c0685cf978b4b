package cmd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
)

// security are the flags that say how connections are secured.
type security struct {
	certFile, keyFile string
	domains           []string
	directory         string
	roots             []string // files
	redirectAddr      string   // "" is port 80 of the host that is listened on
	insecure          bool
}

// securityText is what the help of serve says about them.
const securityText = `It serves https with --tls-cert and --tls-key, which are read again when the
files change, or with --domain: then an ACME authority makes the certificates,
proves on port 443 that the names lead here (TLS-ALPN-01, or HTTP-01 on port 80)
and renews them; they are kept in a folder beside the data file. With --domain a
second address, port 80 unless --redirect-addr names another, redirects GET and
HEAD to https; where it can't be listened on, a warning says so. Plain HTTP is
served on loopback alone, unless a proxy before it speaks https (--trusted-proxy)
or --insecure allows it.`

// flags adds them to a command.
func (s *security) flags(c *cobra.Command) {
	c.Flags().StringVar(&s.certFile, "tls-cert", "", "serve https with the certificate chain in this PEM `FILE`, read again when it changes")
	c.Flags().StringVar(&s.keyFile, "tls-key", "", "PEM `FILE` of the private key that belongs to --tls-cert")
	c.Flags().Var(list{&s.domains, knownDomain, "NAME"}, "domain", "serve https under this name, with a certificate from the ACME directory, whose terms you accept by it; repeatable, or separated by commas")
	c.Flags().Var(webLocation{&s.directory}, "acme-directory", "the ACME directory that --domain gets certificates from; default Let's Encrypt")
	c.Flags().Var(list{&s.roots, nil, "FILE"}, "acme-ca", "PEM file of a certificate authority to trust for the ACME directory, beside the system's; repeatable, or separated by commas")
	c.Flags().Var(redirectAddress{&s.redirectAddr}, "redirect-addr", "with --domain, the address that redirects plain HTTP to https, or off; default: port 80 of the host that it serves")
	c.Flags().BoolVar(&s.insecure, "insecure", false, "allow plain HTTP on addresses that others can reach")
}

// on tells whether connections are encrypted.
func (s *security) on() bool { return s.certFile != "" || len(s.domains) > 0 }

// check refuses flags that do not go together.
func (s *security) check(c *cobra.Command) error {
	switch {
	case (s.certFile == "") != (s.keyFile == ""):
		return misusef("--tls-cert and --tls-key belong together: give both%s", pointer(c))
	case s.certFile != "" && len(s.domains) > 0:
		return misusef("give --tls-cert and --tls-key, or --domain, not both%s", pointer(c))
	case len(s.domains) == 0 && (s.directory != "" || len(s.roots) > 0):
		return misusef("--acme-directory and --acme-ca need --domain%s", pointer(c))
	case len(s.domains) == 0 && s.redirectAddr != "":
		return misusef("--redirect-addr needs --domain%s", pointer(c))
	}
	return nil
}

// refusePlain refuses to serve plain HTTP where others could read it.
func (s *security) refusePlain(ctx context.Context, addr string, behindProxy bool) error {
	if s.on() || s.insecure || behindProxy {
		return nil
	}
	loopback, err := staysOnMachine(ctx, "--addr", addr)
	if err != nil || loopback {
		return err
	}
	return misusef("--addr %s can be reached from other machines, and plain HTTP shows API keys to the network between: "+
		"give --tls-cert and --tls-key, or --domain; behind a proxy that speaks https, --trusted-proxy with its network; or --insecure to serve it all the same", addr)
}

// staysOnMachine tells whether an address to listen on, which a flag has named,
// is loopback alone.
func staysOnMachine(ctx context.Context, flag, addr string) (bool, error) {
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

// publicURL is the service's address where --base-url does not tell it: the
// first domain, of which port 443 leads here, whatever port it is that listens,
// or its authority makes no certificate.
func (s *security) publicURL(listening string) string {
	if len(s.domains) == 0 {
		return listening
	}
	return "https://" + s.domains[0]
}

// certificates gives connections their certificate.
type certificates struct {
	config *tls.Config // nil is plain HTTP
	// work keeps them good, beside the server, until ctx ends; nil is no work.
	work func(ctx context.Context) error
	// ends tells when each of those in use ends, by name.
	ends func() map[string]time.Time
	// challenges returns the handler of the challenges that an authority fetches
	// by plain HTTP; nil without an authority.
	challenges func() http.Handler
}

// open reads the certificates, or gets ready to have them made; what is made is
// kept beside the data file.
func (s *security) open(path string, logger *slog.Logger) (certificates, error) {
	switch {
	case len(s.domains) > 0:
		return s.openDirectory(path, logger)
	case s.certFile == "":
		return certificates{ends: func() map[string]time.Time { return nil }}, nil
	}
	pair := &keyPair{certFile: s.certFile, keyFile: s.keyFile, logger: logger}
	if err := pair.load(); err != nil {
		return certificates{}, err
	}
	config := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.current(), nil },
	}
	return certificates{config: config, ends: pair.ends}, nil
}

// keyPair is a certificate that is read anew when its files change.
type keyPair struct {
	certFile, keyFile string
	logger            *slog.Logger

	mutex sync.Mutex
	pair  *tls.Certificate
	seen  [2]os.FileInfo // of the files that were tried last
}

// current is the certificate as the files have it now. Looking costs a
// thousandth of the handshake that asks. Files that don't fit, as when one of
// them has yet to be replaced, leave the certificate as it was.
func (p *keyPair) current() *tls.Certificate {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	now, err := p.look()
	switch {
	case err != nil && p.seen != [2]os.FileInfo{}:
		p.seen = [2]os.FileInfo{} // told once, and to be read when they are back
		p.logger.Error("the TLS certificate can't be looked at; the one in use stays", "error", err)
	case err == nil && !same(now, p.seen):
		p.seen = now
		if err := p.read(); err != nil {
			p.logger.Error("the TLS certificate was not replaced; the one in use stays until the files are mended", "error", err)
		} else {
			p.logger.Info("the TLS certificate was replaced", "cert", p.certFile, "not_after", p.pair.Leaf.NotAfter)
		}
	}
	return p.pair
}

// load reads the files for the first time.
func (p *keyPair) load() error {
	now, err := p.look()
	if err == nil {
		p.seen = now
		err = p.read()
	}
	if err == nil && time.Now().After(p.pair.Leaf.NotAfter) {
		p.logger.Warn("the TLS certificate has expired; clients will refuse it", "cert", p.certFile, "not_after", p.pair.Leaf.NotAfter)
	}
	return err
}

func (p *keyPair) look() (now [2]os.FileInfo, err error) {
	for i, name := range []string{p.certFile, p.keyFile} {
		if now[i], err = os.Stat(name); err != nil {
			return now, fmt.Errorf("%s: %w", []string{"--tls-cert", "--tls-key"}[i], err)
		}
	}
	return now, nil
}

func same(a, b [2]os.FileInfo) bool {
	for i := range a {
		if a[i] == nil || b[i] == nil || !a[i].ModTime().Equal(b[i].ModTime()) || a[i].Size() != b[i].Size() || !os.SameFile(a[i], b[i]) {
			return false
		}
	}
	return true
}

// read replaces the certificate by what the files hold, if that is good.
func (p *keyPair) read() error {
	chain, err := os.ReadFile(p.certFile)
	if err != nil {
		return fmt.Errorf("--tls-cert: %w", err)
	}
	key, err := os.ReadFile(p.keyFile)
	if err != nil {
		return fmt.Errorf("--tls-key: %w", err)
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return fmt.Errorf("--tls-cert %s and --tls-key %s: %s; they must be a PEM certificate chain, the server's own first, and the private key of that one",
			p.certFile, p.keyFile, strings.TrimPrefix(err.Error(), "tls: "))
	}
	p.pair = &pair
	return nil
}

// ends tells when the certificate ends, by its first name.
func (p *keyPair) ends() map[string]time.Time {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return map[string]time.Time{firstName(p.pair.Leaf): p.pair.Leaf.NotAfter}
}

func firstName(leaf *x509.Certificate) string {
	switch {
	case len(leaf.DNSNames) > 0:
		return leaf.DNSNames[0]
	case len(leaf.IPAddresses) > 0:
		return leaf.IPAddresses[0].String()
	}
	return leaf.Subject.CommonName
}

// domainName is a name of DNS with a dot in it, in ASCII.
var domainName = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)

// knownDomain refuses what no authority could make a certificate for.
func knownDomain(text string) error {
	if len(text) > 253 || !domainName.MatchString(text) {
		return fmt.Errorf("%q is not a host's name like gov.example.com, in lower case, without https:// and without a port", text)
	}
	return nil
}
