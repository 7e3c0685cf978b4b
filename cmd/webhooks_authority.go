package cmd

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

// authority is a certificate authority of this machine's own, for `webhooks
// listen`.
type authority struct {
	path        string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// How long certificates are good for: an authority may be kept.
const (
	authorityTerm   = 5 * 365 * 24 * time.Hour
	certificateTerm = 90 * 24 * time.Hour
)

// Kinds of PEM blocks.
const (
	certificateBlock = "CERTIFICATE"
	keyBlock         = "PRIVATE KEY"
)

// openAuthority reads the authority that is kept in a file, or makes it. Without
// a path it is made in a temporary file without the key, which remove removes.
func openAuthority(path string, now time.Time) (ca *authority, remove func() error, err error) {
	keep := func() error { return nil }
	if path != "" {
		text, err := os.ReadFile(path)
		switch {
		case err == nil:
			ca, err := readAuthority(path, text, now)
			return ca, keep, err
		case !errors.Is(err, fs.ErrNotExist):
			return nil, nil, fmt.Errorf("--ca: %w", err)
		}
	}
	if ca, err = makeAuthority(now); err != nil {
		return nil, nil, err
	}
	if path != "" {
		ca.path = path
		return ca, keep, ca.keep()
	}
	if err := ca.lend(); err != nil {
		return nil, nil, err
	}
	return ca, func() error { return os.Remove(ca.path) }, nil //nolint:gosec // a file of our own making
}

func makeAuthority(now time.Time) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "govsvc webhooks listen, for development"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(authorityTerm),
		KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	return &authority{certificate: certificate, key: key}, err
}

func readAuthority(path string, text []byte, now time.Time) (*authority, error) {
	ca := &authority{path: path}
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
		return nil, fmt.Errorf("--ca: %s does not hold a certificate authority that this command made; name a file that is not there, and it is made", path)
	case now.After(ca.certificate.NotAfter):
		return nil, fmt.Errorf("--ca: the certificate authority in %s expired on %s; remove the file to have a new one made", path, ca.certificate.NotAfter.Format(time.DateOnly))
	}
	return ca, nil
}

// keep stores the authority with its key, for its owner alone.
func (ca *authority) keep() error {
	key, err := x509.MarshalPKCS8PrivateKey(ca.key)
	if err != nil {
		return err
	}
	text := append(ca.pem(), pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: key})...)
	if err := os.WriteFile(ca.path, text, 0o600); err != nil { //nolint:gosec // the operator names the file
		return fmt.Errorf("--ca: %w", err)
	}
	return nil
}

// lend stores the certificate alone, for everybody, in a temporary file.
func (ca *authority) lend() error {
	file, err := os.CreateTemp("", "govsvc-ca-*.pem")
	if err != nil {
		return fmt.Errorf("a file for the certificate authority: %w", err)
	}
	ca.path = file.Name()
	_, err = file.Write(ca.pem())
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Chmod(ca.path, 0o644) //nolint:gosec // a certificate is public, and serve may be another user's
	}
	if err != nil {
		_ = os.Remove(file.Name()) // err is what the user must hear of
	}
	return err
}

func (ca *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: ca.certificate.Raw})
}

// issue makes a certificate for a server with these names and addresses.
func (ca *authority) issue(hosts []string, now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "govsvc webhooks listen"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateTerm),
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

// hostNames are the names under which a listener may be spoken to: where it
// listens everywhere, those of the machine, too.
func hostNames(given string, bound net.Addr) []string {
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
	addresses, _ := net.InterfaceAddrs() // where they can't be read, the names above must do
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok {
			names = append(names, network.IP.String())
		}
	}
	return names
}
