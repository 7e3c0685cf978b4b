package certificates

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// ACME says which certificates to obtain from which authority.
type ACME struct {
	Domains   []string
	Directory string // URL; "" is Let's Encrypt
	Roots     []byte // PEM; to trust for the directory beside the system's
	Folder    string // for certificates and keys; made if it does not exist
	UserAgent string
	Logger    *slog.Logger
}

// acmeTimeout bounds one request to the ACME directory.
const acmeTimeout = 30 * time.Second

// acmeSource obtains certificates from an ACME authority. It proves that it owns
// the names on the port that it serves (TLS-ALPN-01, RFC 8737). So it does not
// need port 80. If port 80 is served too, the authority may use that (HTTP-01).
// Certificates are renewed 30 days before they expire.
type acmeSource struct {
	manager *autocert.Manager
	domains []string
	logger  *slog.Logger

	mutex  sync.Mutex
	expiry map[string]time.Time // of the certificates in use, by domain
}

// FromACME provides certificates of an ACME authority. Only the owner of the
// process can read the folder that keeps them and their keys.
func FromACME(config ACME) (Source, error) {
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	roots.AppendCertsFromPEM(config.Roots)
	if err := os.MkdirAll(config.Folder, 0o700); err != nil {
		return Source{}, fmt.Errorf("the folder for certificates: %w", err)
	}
	if err := os.Chmod(config.Folder, 0o700); err != nil { //nolint:gosec // a folder, of its owner alone
		return Source{}, fmt.Errorf("the folder for certificates: %w", err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	s := &acmeSource{
		domains: config.Domains, logger: config.Logger, expiry: map[string]time.Time{},
		manager: &autocert.Manager{
			Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(config.Folder), HostPolicy: autocert.HostWhitelist(config.Domains...),
			Client: &acme.Client{
				DirectoryURL: cmp.Or(config.Directory, autocert.DefaultACMEDirectory), UserAgent: config.UserAgent,
				HTTPClient: &http.Client{Transport: transport, Timeout: acmeTimeout},
			},
		},
	}
	tlsConfig := s.manager.TLSConfig()
	tlsConfig.MinVersion = tls.VersionTLS12
	tlsConfig.GetCertificate = s.certificate
	return Source{TLS: tlsConfig, Run: s.obtain, Expiry: s.expiries, Challenges: s.challenges}, nil
}

// certificate answers a handshake. A client that names no host, because its URL
// has an address, gets the certificate of the first domain.
func (s *acmeSource) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if hello.ServerName == "" {
		named := *hello
		named.ServerName = s.domains[0]
		hello = &named
	}
	pair, err := s.manager.GetCertificate(hello)
	domain := strings.ToLower(hello.ServerName)
	challenge := slices.Equal(hello.SupportedProtos, []string{acme.ALPNProto}) // not a certificate for clients
	if err == nil && !challenge && pair.Leaf != nil && slices.Contains(s.domains, domain) {
		s.mutex.Lock()
		s.expiry[domain] = pair.Leaf.NotAfter
		s.mutex.Unlock()
	}
	return pair, err
}

// challenges returns the handler of the challenges that the authority fetches by plain
// HTTP (HTTP-01). After a call the authority may choose them.
func (s *acmeSource) challenges() http.Handler { return s.manager.HTTPHandler(nil) }

const (
	firstRetry = 2 * time.Minute
	lastRetry  = time.Hour // authorities limit how often one may fail
)

// obtain obtains the certificates before the first client needs them. It retries
// until it has all of them or ctx ends, and returns when ctx ends.
func (s *acmeSource) obtain(ctx context.Context) error {
	missing := slices.Clone(s.domains)
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		tried := make(chan []string, 1)
		go func() { tried <- slices.DeleteFunc(missing, s.obtained) }() // may take minutes, and can't be stopped
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

func (s *acmeSource) obtained(domain string) bool {
	pair, err := s.certificate(&tls.ClientHelloInfo{
		ServerName:       domain,
		CipherSuites:     []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}, // requests an ECDSA key
		SupportedCurves:  []tls.CurveID{tls.CurveP256},
		SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256},
	})
	if err != nil {
		s.logger.Error("no certificate yet; its authority must reach this server by that name on port 443", "domain", domain, "error", err)
		return false
	}
	s.logger.Info("certificate ready", "domain", domain, "not_after", pair.Leaf.NotAfter)
	return true
}

func (s *acmeSource) expiries() map[string]time.Time {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return maps.Clone(s.expiry)
}
