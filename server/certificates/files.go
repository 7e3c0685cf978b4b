package certificates

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

// FromFiles provides the certificate chain and the private key in two PEM files.
// The files are read again when they change.
func FromFiles(certFile, keyFile string, logger *slog.Logger) (Source, error) {
	pair := &keyPair{certFile: certFile, keyFile: keyFile, logger: logger}
	if err := pair.load(); err != nil {
		return Source{}, err
	}
	config := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.current(), nil },
	}
	return Source{TLS: config, Expiry: pair.expiry}, nil
}

// fileStates are the certificate's file and the key's as they were last read.
type fileStates [2]os.FileInfo

// keyPair is a certificate that is read again when its files change.
type keyPair struct {
	certFile, keyFile string
	logger            *slog.Logger

	mutex sync.Mutex
	pair  *tls.Certificate
	seen  fileStates
}

// current returns the certificate that the files hold now. Checking the files costs a
// thousandth of a handshake. While they can't be used, because only one of them has
// been replaced for example, the former certificate remains in use.
func (p *keyPair) current() *tls.Certificate {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	now, err := p.stat()
	switch {
	case err != nil && p.seen != fileStates{}:
		p.seen = fileStates{} // so that it is logged once, and the files are read when they are back
		p.logger.Error("the TLS certificate can't be checked; the one in use remains", "error", err)
	case err == nil && !same(now, p.seen):
		p.seen = now
		if err := p.read(); err != nil {
			p.logger.Error("the TLS certificate was not replaced; the one in use remains until the files are fixed", "error", err)
		} else {
			p.logger.Info("the TLS certificate was replaced", "cert", p.certFile, "not_after", p.pair.Leaf.NotAfter)
		}
	}
	return p.pair
}

// load reads the files for the first time.
func (p *keyPair) load() error {
	now, err := p.stat()
	if err == nil {
		p.seen = now
		err = p.read()
	}
	if err == nil && time.Now().After(p.pair.Leaf.NotAfter) {
		p.logger.Warn("the TLS certificate has expired; clients will refuse it", "cert", p.certFile, "not_after", p.pair.Leaf.NotAfter)
	}
	return err
}

func (p *keyPair) stat() (now fileStates, err error) {
	for i, name := range []string{p.certFile, p.keyFile} {
		if now[i], err = os.Stat(name); err != nil {
			return now, err
		}
	}
	return now, nil
}

func same(a, b fileStates) bool {
	for i := range a {
		if a[i] == nil || b[i] == nil || !a[i].ModTime().Equal(b[i].ModTime()) || a[i].Size() != b[i].Size() || !os.SameFile(a[i], b[i]) {
			return false
		}
	}
	return true
}

// read replaces the certificate with the content of the files, if that is valid.
func (p *keyPair) read() error {
	chain, err := os.ReadFile(p.certFile)
	if err != nil {
		return err
	}
	key, err := os.ReadFile(p.keyFile)
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return fmt.Errorf("%s and %s: %s; they must be a PEM certificate chain that starts with the server's own certificate, and the private key of that certificate",
			p.certFile, p.keyFile, strings.TrimPrefix(err.Error(), "tls: "))
	}
	p.pair = &pair
	return nil
}

// expiry returns when the certificate expires, by its first name.
func (p *keyPair) expiry() map[string]time.Time {
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
