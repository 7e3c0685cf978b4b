package cmd_test

import (
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTLS_ServesCertificate(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	certFile, keyFile, certificate := newKeyPair(c, "first", 1)
	s := c.serve("--demo", "--tls-cert", certFile, "--tls-key", keyFile)
	if !strings.HasPrefix(s.url, "https://127.0.0.1:") {
		t.Fatalf("listening on %s", s.url)
	}
	key := c.key("read:all")
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
	s.end()
}

// TestTLS_ReloadsCertificate checks that the first handshake after the files changed has
// the new certificate. While the files do not match, the former one remains.
func TestTLS_ReloadsCertificate(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	certFile, keyFile, first := newKeyPair(c, "served", 1)
	s := c.serve("--tls-cert", certFile, "--tls-key", keyFile)
	otherCert, otherKey, second := newKeyPair(c, "second", 2)
	thirdCert, thirdKey, third := newKeyPair(c, "third", 3)
	client := trusting(first, second, third)
	for _, step := range []struct {
		what   string
		change func()
		serial int64
	}{
		{"as it began", func() {}, 1},
		{"only the certificate is new", func() { must(t, os.Rename(otherCert, certFile)) }, 1},
		{"the key, too", func() { must(t, os.Rename(otherKey, keyFile)) }, 2},
		{"the certificate is broken", func() { c.file(filepath.Base(certFile), "broken") }, 2},
		{"it is still", func() {}, 2},
		{"the files are gone", func() { must(t, os.Remove(certFile)); must(t, os.Remove(keyFile)) }, 2},
		{"others are there", func() { must(t, os.Rename(thirdCert, certFile)); must(t, os.Rename(thirdKey, keyFile)) }, 3},
	} {
		step.change()
		if got := c.ask(client, s.url+"/healthz", "").serial; got != step.serial {
			t.Errorf("%s: certificate %d, want %d; log:\n%s", step.what, got, step.serial, s.stderr)
		}
	}
	s.end()
	log := s.stderr.String()
	for text, want := range map[string]int{"the TLS certificate was replaced": 2, "was not replaced": 2, "can't be checked": 1} {
		if got := strings.Count(log, text); got != want {
			t.Errorf("%q is logged %d times, want %d:\n%s", text, got, want, log)
		}
	}
}

func TestTLS_RefusesWrongFiles(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	certFile, keyFile, _ := newKeyPair(c, "a", 1)
	_, otherKey, _ := newKeyPair(c, "b", 2)
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
		{1, "--domain gov.example.com --acme-ca " + keyFile, "a.key has no certificate in PEM"},
	} {
		o := c.run(append([]string{"serve", "--addr", "127.0.0.1:0"}, strings.Fields(row.line)...)...)
		if lines := strings.Split(strings.TrimSpace(o.stderr), "\n"); o.status != row.status || !strings.Contains(lines[len(lines)-1], row.want) || o.stdout != "" {
			t.Errorf("%s: %+v, want %d and %s", row.line, o, row.status, row.want)
		}
	}
}

// TestServe_RefusesPlain checks that keys do not cross a network unencrypted
// without --insecure.
func TestServe_RefusesPlain(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:8080", "[2001:db8::1]:8080"} {
		c := newCLIWithoutFile(t)
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
	certFile, keyFile, _ := newKeyPair(newCLI(t), "x", 1)
	for _, flags := range [][]string{
		{"--addr", "localhost:0"},
		{"--addr", "127.0.0.7:0"},
		{"--addr", "0.0.0.0:0", "--insecure"},
		{"--addr", "0.0.0.0:0", "--trusted-proxy", "10.0.0.0/8"},
		{"--addr", "0.0.0.0:0", "--tls-cert", certFile, "--tls-key", keyFile},
	} {
		c := newCLI(t)
		c.serve(flags...).end()
	}
}
