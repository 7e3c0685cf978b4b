package cmd_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// pair writes a certificate of its own authority for loopback and its key, and
// returns the files and the certificate.
func (c *cli) pair(name string, serial int64) (certFile, keyFile string, certificate *x509.Certificate) {
	c.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		c.t.Fatal(err)
	}
	draft := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, draft, draft, key.Public(), key)
	if err != nil {
		c.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		c.t.Fatal(err)
	}
	if certificate, err = x509.ParseCertificate(der); err != nil {
		c.t.Fatal(err)
	}
	certFile = c.file(name+".pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	keyFile = c.file(name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	return certFile, keyFile, certificate
}

// trusting is a client that trusts these certificates alone and connects anew
// for each request.
func trusting(certificates ...*x509.Certificate) *http.Client {
	roots := x509.NewCertPool()
	for _, c := range certificates {
		roots.AddCert(c)
	}
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true, DisableKeepAlives: true,
	}}
}

// reply is an answer, read to its end.
type reply struct {
	status, protocol int
	header           http.Header
	serial           int64 // of the certificate; 0 without one
	body             string
}

// ask sends a GET.
func (c *cli) ask(client *http.Client, url, key string) reply {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, url, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(key))
	}
	response, err := client.Do(request)
	if err != nil {
		c.t.Fatalf("%s: %v", url, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatalf("%s: %v", url, err)
	}
	r := reply{response.StatusCode, response.ProtoMajor, response.Header, 0, string(body)}
	if response.TLS != nil {
		r.serial = response.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	return r
}

func TestTLS(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	certFile, keyFile, certificate := c.pair("first", 1)
	s := c.serve("--demo", "--tls-cert", certFile, "--tls-key", keyFile)
	if !strings.HasPrefix(s.url, "https://127.0.0.1:") {
		t.Fatalf("listening on %s", s.url)
	}
	key := c.must("keys", "mint", "--name", "n", "--scope", "read:all")
	client := trusting(certificate)
	risks := c.ask(client, s.url+"/api/v1/risks?limit=100", key)
	if risks.status != 200 || risks.protocol != 2 || len(risks.body) < 8192 {
		t.Errorf("HTTP/%d %d, %d bytes", risks.protocol, risks.status, len(risks.body))
	}
	if got := risks.header.Get("Strict-Transport-Security"); got != "max-age=31536000" {
		t.Errorf("Strict-Transport-Security %q", got)
	}
	if index := c.ask(client, s.url+"/api/v1/", "").body; !strings.Contains(index, `"`+s.url+`/api/v1`) {
		t.Errorf("the index shows another address: %s", index)
	}
	plainer := trusting(certificate)
	plainer.Transport.(*http.Transport).ForceAttemptHTTP2 = false
	if again := c.ask(plainer, s.url+"/api/v1/risks?limit=100", key); again.protocol != 1 || again.body != risks.body {
		t.Errorf("HTTP/%d, %d bytes", again.protocol, len(again.body))
	}
	if status, body := c.get("http://"+strings.TrimPrefix(s.url, "https://")+"/healthz", ""); status != 400 {
		t.Errorf("plain HTTP: %d %s", status, body)
	}
	old := trusting(certificate)
	old.Transport.(*http.Transport).TLSClientConfig.MaxVersion = tls.VersionTLS11
	old.Transport.(*http.Transport).TLSClientConfig.MinVersion = tls.VersionTLS10
	if response, err := old.Get(s.url + "/healthz"); err == nil { //nolint:noctx // refused at once
		_ = response.Body.Close()
		t.Error("TLS 1.1 is spoken")
	}
	c.end(s)
}

// TestTLSReload: the next handshake after the files changed has the new
// certificate, and the old one stays while they do not fit.
func TestTLSReload(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	certFile, keyFile, first := c.pair("served", 1)
	s := c.serve("--tls-cert", certFile, "--tls-key", keyFile)
	otherCert, otherKey, second := c.pair("second", 2)
	thirdCert, thirdKey, third := c.pair("third", 3)
	client := trusting(first, second, third)
	for _, step := range []struct {
		what   string
		change func()
		serial int64
	}{
		{"as it began", func() {}, 1},
		{"only the certificate is new", func() { c.replace(otherCert, certFile) }, 1},
		{"the key, too", func() { c.replace(otherKey, keyFile) }, 2},
		{"the certificate is broken", func() { c.file(filepath.Base(certFile), "broken") }, 2},
		{"it is still", func() {}, 2},
		{"the files are gone", func() { c.remove(certFile, keyFile) }, 2},
		{"others are there", func() { c.replace(thirdCert, certFile); c.replace(thirdKey, keyFile) }, 3},
	} {
		step.change()
		if got := c.ask(client, s.url+"/healthz", "").serial; got != step.serial {
			t.Errorf("%s: certificate %d, want %d; log:\n%s", step.what, got, step.serial, s.stderr)
		}
	}
	c.end(s)
	log := s.stderr.String()
	for text, want := range map[string]int{"the TLS certificate was replaced": 2, "was not replaced": 2, "can't be checked": 1} {
		if got := strings.Count(log, text); got != want {
			t.Errorf("%q is logged %d times, want %d:\n%s", text, got, want, log)
		}
	}
}

func (c *cli) replace(from, to string) {
	c.t.Helper()
	if err := os.Rename(from, to); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cli) remove(paths ...string) {
	c.t.Helper()
	for _, path := range paths {
		if err := os.Remove(path); err != nil {
			c.t.Fatal(err)
		}
	}
}

func TestTLSRefused(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	certFile, keyFile, _ := c.pair("a", 1)
	_, otherKey, _ := c.pair("b", 2)
	for _, row := range []struct {
		status     int
		line, want string
	}{
		{2, "--tls-cert " + certFile, "--tls-cert and --tls-key belong together: give both; see `govsvc serve --help`"},
		{2, "--tls-key " + keyFile, "--tls-cert and --tls-key belong together"},
		{2, "--tls-cert a --tls-key b --domain gov.example.com", "give --tls-cert and --tls-key, or --domain, not both"},
		{2, "--acme-directory https://ca.example.com/acme", "--acme-directory and --acme-ca need --domain"},
		{2, "--acme-ca ca.pem", "--acme-directory and --acme-ca need --domain"},
		{2, "--domain https://gov.example.com", `--domain: "https://gov.example.com" is not a host's name like gov.example.com`},
		{2, "--domain localhost", "is not a host's name"},
		{2, "--domain 192.0.2.1", "is not a host's name"},
		{2, "--domain *.example.com", "is not a host's name"},
		{2, "--domain gov.example.com --acme-directory http://ca.example.com", `--acme-directory: "http://ca.example.com" is not an https URL`},
		{1, "--tls-cert none.pem --tls-key " + keyFile, "--tls-cert: none.pem: no such file"},
		{1, "--tls-cert " + certFile + " --tls-key none.key", "--tls-key: none.key: no such file"},
		{1, "--tls-cert " + certFile + " --tls-key " + otherKey, "private key does not match public key; they must be a PEM certificate chain"},
		{1, "--tls-cert " + keyFile + " --tls-key " + certFile, "they must be a PEM certificate chain that starts with the server's own certificate"},
		{1, "--domain gov.example.com --acme-ca none.pem", "--acme-ca: none.pem: no such file"},
		{1, "--domain gov.example.com --acme-ca " + keyFile, "a.key holds no certificate in PEM"},
	} {
		o := c.run(append([]string{"serve", "--addr", "127.0.0.1:0"}, strings.Fields(row.line)...)...)
		if lines := strings.Split(strings.TrimSpace(o.stderr), "\n"); o.status != row.status || !strings.Contains(lines[len(lines)-1], row.want) || o.stdout != "" {
			t.Errorf("%s: %+v, want %d and %s", row.line, o, row.status, row.want)
		}
	}
}

// TestPlainRefused: keys never cross a network in the clear unless somebody
// says so.
func TestPlainRefused(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:8080", "[2001:db8::1]:8080"} {
		c := newCLI(t)
		got := c.refused(2, "serve", "--addr", addr)
		for _, want := range []string{"--addr " + addr + " can be reached from other machines", "--tls-cert and --tls-key", "--domain", "--trusted-proxy", "--insecure"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in %s", addr, want, got)
			}
		}
		if exists(c.env["GOVSVC_DB"]) {
			t.Errorf("%s: it made a data file", addr)
		}
	}
	certFile, keyFile, _ := newCLI(t).pair("x", 1)
	for _, flags := range [][]string{
		{"--addr", "localhost:0"},
		{"--addr", "127.0.0.7:0"},
		{"--addr", "0.0.0.0:0", "--insecure"},
		{"--addr", "0.0.0.0:0", "--trusted-proxy", "10.0.0.0/8"},
		{"--addr", "0.0.0.0:0", "--tls-cert", certFile, "--tls-key", keyFile},
	} {
		c := newCLI(t)
		c.end(c.serve(flags...))
	}
}

// secure starts a server with TLS, and a client that trusts it and connects anew
// for each request.
func (c *cli) secure(flags ...string) (*serving, *http.Client) {
	certFile, keyFile, certificate := c.pair("served", 1)
	return c.serve(append([]string{"--tls-cert", certFile, "--tls-key", keyFile}, flags...)...), trusting(certificate)
}
