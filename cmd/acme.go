package cmd

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// webLocation is an https URL.
type webLocation struct{ value *string }

func (v webLocation) Type() string   { return "URL" }
func (v webLocation) String() string { return *v.value }

func (v webLocation) Set(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" {
		return fmt.Errorf("%q is not an https URL", text)
	}
	*v.value = text
	return nil
}

// acmeTimeout bounds one request to the ACME directory.
const acmeTimeout = 30 * time.Second

// acmeDomains has certificates made by an ACME directory. It proves that the
// names are ours on the very port that it serves (TLS-ALPN-01, RFC 8737), so
// that port 80 is not needed; where that is served too, the authority may use it
// (HTTP-01). Certificates are renewed 30 days before they end.
type acmeDomains struct {
	manager *autocert.Manager
	domains []string
	logger  *slog.Logger

	mutex sync.Mutex
	until map[string]time.Time // ends of the certificates in use, by domain
}

// openDirectory gets ready to have certificates made. They, their keys and the
// account's are kept in a folder beside the data file, for its owner alone.
func (s *security) openDirectory(path string, logger *slog.Logger) (certificates, error) {
	further, err := readRoots("--acme-ca", s.roots)
	if err != nil {
		return certificates{}, err
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	roots.AppendCertsFromPEM(further)
	folder := path + "-acme"
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return certificates{}, fmt.Errorf("the folder for certificates: %w", err)
	}
	if err := os.Chmod(folder, 0o700); err != nil { //nolint:gosec // a folder, of its owner alone
		return certificates{}, fmt.Errorf("the folder for certificates: %w", err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	made := &acmeDomains{
		domains: s.domains, logger: logger, until: map[string]time.Time{},
		manager: &autocert.Manager{
			Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(folder), HostPolicy: autocert.HostWhitelist(s.domains...),
			Client: &acme.Client{
				DirectoryURL: cmp.Or(s.directory, autocert.DefaultACMEDirectory), UserAgent: "govsvc/" + programVersion().Version,
				HTTPClient: &http.Client{Transport: transport, Timeout: acmeTimeout},
			},
		},
	}
	config := made.manager.TLSConfig()
	config.MinVersion = tls.VersionTLS12
	config.GetCertificate = made.certificate
	return certificates{config: config, work: made.obtain, ends: made.ends, challenges: made.challenges}, nil
}

// certificate answers a handshake. A client that names no host, as one that
// asks by address, gets the first domain's.
func (a *acmeDomains) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if hello.ServerName == "" {
		named := *hello
		named.ServerName = a.domains[0]
		hello = &named
	}
	pair, err := a.manager.GetCertificate(hello)
	domain := strings.ToLower(hello.ServerName)
	proof := slices.Equal(hello.SupportedProtos, []string{acme.ALPNProto}) // not a certificate for clients
	if err == nil && !proof && pair.Leaf != nil && slices.Contains(a.domains, domain) {
		a.mutex.Lock()
		a.until[domain] = pair.Leaf.NotAfter
		a.mutex.Unlock()
	}
	return pair, err
}

// challenges is the handler of the challenges that the authority fetches by plain
// HTTP (HTTP-01). A call lets the authority choose them.
func (a *acmeDomains) challenges() http.Handler { return a.manager.HTTPHandler(nil) }

const (
	firstRetry = 2 * time.Minute
	lastRetry  = time.Hour // authorities bound how often one may fail
)

// obtain has the certificates made before the first client needs them, and
// tries again where that fails, until ctx ends.
func (a *acmeDomains) obtain(ctx context.Context) error {
	missing := slices.Clone(a.domains)
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		tried := make(chan []string, 1)
		go func() { tried <- slices.DeleteFunc(missing, a.obtained) }() // may take minutes, and can't be stopped
		select {
		case missing = <-tried:
		case <-ctx.Done():
			return nil
		}
		if len(missing) == 0 {
			<-ctx.Done()
			return nil
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
	}
}

func (a *acmeDomains) obtained(domain string) bool {
	pair, err := a.certificate(&tls.ClientHelloInfo{
		ServerName:       domain,
		CipherSuites:     []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}, // what asks for an ECDSA key
		SupportedCurves:  []tls.CurveID{tls.CurveP256},
		SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256},
	})
	if err != nil {
		a.logger.Error("no certificate yet; its authority must reach this server by that name on port 443", "domain", domain, "error", err)
		return false
	}
	a.logger.Info("certificate ready", "domain", domain, "not_after", pair.Leaf.NotAfter)
	return true
}

func (a *acmeDomains) ends() map[string]time.Time {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return maps.Clone(a.until)
}
