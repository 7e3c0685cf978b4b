package receiver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"time"
)

// Authority is a certificate authority for development on this machine.
type Authority struct {
	Path        string // of the file with its certificate
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// Lifetimes of certificates. The authority may be kept for years.
const (
	authorityLifetime   = 5 * 365 * 24 * time.Hour
	certificateLifetime = 90 * 24 * time.Hour
)

// Kinds of PEM blocks.
const (
	certificateBlock = "CERTIFICATE"
	keyBlock         = "PRIVATE KEY"
)

// OpenAuthority reads the authority that a file holds. If there is no such file,
// it makes an authority and stores it there with its key, for the owner alone.
func OpenAuthority(path string, now time.Time) (*Authority, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err == nil {
		return parseAuthority(path, text, now)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	ca, err := newAuthority(now)
	if err != nil {
		return nil, err
	}
	ca.Path = path
	return ca, ca.store()
}

// TemporaryAuthority makes an authority and stores its certificate, without the
// key, in a temporary file. The caller removes the file.
func TemporaryAuthority(now time.Time) (*Authority, error) {
	ca, err := newAuthority(now)
	if err != nil {
		return nil, err
	}
	return ca, ca.publish()
}

func newAuthority(now time.Time) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "govsvc webhooks listen, for development"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(authorityLifetime),
		KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	return &Authority{certificate: certificate, key: key}, err
}

func parseAuthority(path string, text []byte, now time.Time) (*Authority, error) {
	ca := &Authority{Path: path}
	var err error
	for block, rest := pem.Decode(text); block != nil && err == nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case certificateBlock:
			ca.certificate, err = x509.ParseCertificate(block.Bytes)
		case keyBlock:
			var key any
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
			ca.key, _ = key.(*ecdsa.PrivateKey)
		}
	}
	switch {
	case err != nil || ca.certificate == nil || ca.key == nil || !ca.certificate.IsCA || !ca.key.PublicKey.Equal(ca.certificate.PublicKey):
		return nil, fmt.Errorf("%s does not contain a certificate authority that this command made; name a file that does not exist to create one", path)
	case now.After(ca.certificate.NotAfter):
		return nil, fmt.Errorf("the certificate authority in %s expired on %s; remove the file to create a new one", path, ca.certificate.NotAfter.Format(time.DateOnly))
	}
	return ca, nil
}

// store stores the authority with its key, for its owner alone.
func (ca *Authority) store() error {
	key, err := x509.MarshalPKCS8PrivateKey(ca.key)
	if err != nil {
		return err
	}
	text := append(ca.pem(), pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: key})...)
	return os.WriteFile(ca.Path, text, 0o600) //nolint:gosec // the operator names the file
}

// publish stores the certificate alone in a temporary file that all users can
// read.
func (ca *Authority) publish() error {
	file, err := os.CreateTemp("", "govsvc-ca-*.pem")
	if err != nil {
		return fmt.Errorf("a file for the certificate authority: %w", err)
	}
	ca.Path = file.Name()
	_, err = file.Write(ca.pem())
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Chmod(ca.Path, 0o644) //nolint:gosec // a certificate is public, and serve may run as another user
	}
	if err != nil {
		_ = os.Remove(file.Name()) // err is the error to report
	}
	return err
}

func (ca *Authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: ca.certificate.Raw})
}

// Issue makes a certificate for a server with these names and addresses.
func (ca *Authority) Issue(hosts []string, now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "govsvc webhooks listen"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLifetime),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.certificate, &key.PublicKey, ca.key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// HostNames returns the names and addresses by which clients may reach a listener.
// If it listens on all addresses, they include those of the machine.
func HostNames(given string, bound net.Addr) []string {
	names := []string{"localhost", "127.0.0.1", "::1"}
	if host, _, err := net.SplitHostPort(given); err == nil && host != "" {
		names = append(names, host)
	}
	at, err := netip.ParseAddrPort(bound.String())
	if err != nil {
		return names
	}
	if !at.Addr().IsUnspecified() {
		return append(names, at.Addr().WithZone("").String())
	}
	if host, err := os.Hostname(); err == nil && host != "" {
		names = append(names, host)
	}
	addresses, _ := net.InterfaceAddrs() // the names above suffice if they can't be read
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok {
			names = append(names, network.IP.String())
		}
	}
	return names
}
