// Package acme tests govsvc with a real ACME server: Pebble, which Let's Encrypt
// provides for the tests of clients. It is a separate module, so that govsvc does
// not depend on Pebble.
package acme

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const domain = "gov.example.com"

// harness is a folder with programs and files, and the running processes.
type harness struct {
	t      *testing.T
	folder string
}

// build builds programs into the folder.
func (h *harness) build(packages ...string) {
	h.t.Helper()
	for _, name := range packages {
		build := exec.CommandContext(h.t.Context(), "go", "build", "-o", h.folder+string(filepath.Separator), name)
		if name == "govsvc" {
			build.Dir = filepath.Join("..", "..")
		}
		if out, err := build.CombinedOutput(); err != nil {
			h.t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
}

// process is a running program.
type process struct {
	*exec.Cmd
	errors string // the path of its standard error
	done   chan error
}

// start runs a program of the folder until the test ends. ready reads its standard
// output and returns when the program is ready.
func (h *harness) start(ready func(io.Reader), env []string, name string, args ...string) *process {
	h.t.Helper()
	errors, err := os.CreateTemp(h.folder, name+"-*.log")
	if err != nil {
		h.t.Fatal(err)
	}
	p := &process{exec.CommandContext(h.t.Context(), filepath.Join(h.folder, name), args...), errors.Name(), make(chan error, 1)}
	p.Dir = h.folder
	p.Env = append(os.Environ(), env...)
	p.Stderr = errors
	out, w := io.Pipe()
	p.Stdout = w
	if err := p.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() {
		err := p.Wait()
		_, _ = w.Close(), errors.Close()
		p.done <- err
	}()
	h.t.Cleanup(func() {
		_ = p.Process.Kill()
		if h.t.Failed() {
			h.t.Logf("%s:\n%s", name, p.log())
		}
	})
	ready(out)
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return p
}

// log returns the standard error of the process so far.
func (p *process) log() string {
	text, err := os.ReadFile(p.errors)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// waitForLog waits for a text on the standard error of a process.
func (h *harness) waitForLog(p *process, text string) {
	h.t.Helper()
	for range 600 {
		if strings.Contains(p.log(), text) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	h.t.Fatalf("%s did not log %q", p.Path, text)
}

// stop ends a process with SIGTERM and checks its exit status.
func (h *harness) stop(p *process) {
	h.t.Helper()
	_ = p.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-p.done:
		if err != nil {
			h.t.Fatalf("%s: %v", p.Path, err)
		}
	case <-time.After(time.Minute):
		h.t.Fatalf("%s did not end", p.Path)
	}
}

func (h *harness) file(name string, text []byte) string {
	h.t.Helper()
	path := filepath.Join(h.folder, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// freePort returns an unused port of loopback.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}

// authority writes the certificate and key of the ACME server's https.
func (h *harness) authority() (certFile, keyFile string) {
	h.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		h.t.Fatal(err)
	}
	draft := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, draft, draft, key.Public(), key)
	if err != nil {
		h.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.file("pebble.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		h.file("pebble.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

// pebble starts the ACME server, and a DNS server that resolves every name to this
// machine.
func (h *harness) pebble(tlsPort string) (p *process, directory, management, certFile string) {
	certFile, keyFile := h.authority()
	names, api := "127.0.0.1:"+freePort(h.t), "127.0.0.1:"+freePort(h.t)
	management = "127.0.0.1:" + freePort(h.t)
	text, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": api, "managementListenAddress": management, "certificate": certFile, "privateKey": keyFile,
		"httpPort": 1, "tlsPort": json.Number(tlsPort),
		"retryAfter": map[string]int{"authz": 1, "order": 1}, "keyAlgorithm": "ecdsa",
		"profiles": map[string]any{"default": map[string]any{"description": "usual", "validityPeriod": 7776000}},
	}})
	if err != nil {
		h.t.Fatal(err)
	}
	h.start(h.line("Starting management server"), nil, "pebble-challtestsrv", "-defaultIPv6", "", "-dnsserver", names,
		"-http01", "", "-https01", "", "-tlsalpn01", "", "-doh", "", "-management", "127.0.0.1:"+freePort(h.t))
	p = h.start(h.line("ACME directory available at"), []string{"PEBBLE_VA_NOSLEEP=1"}, "pebble",
		"-config", h.file("pebble.json", text), "-dnsserver", names)
	return p, "https://" + api + "/dir", management, certFile
}

// line returns a function that waits for a line with the text.
func (h *harness) line(text string) func(io.Reader) {
	return func(out io.Reader) {
		h.t.Helper()
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return
			}
		}
		h.t.Fatalf("the output ended without the line %q", text)
	}
}

// fetch returns the certificate that a server presents for the domain, verified with
// the roots, and the response of its /healthz.
func (h *harness) fetch(port string, roots *x509.CertPool) (*x509.Certificate, string) {
	h.t.Helper()
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, ServerName: domain},
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, "127.0.0.1:"+port)
		},
	}
	client := &http.Client{Transport: transport, Timeout: 2 * time.Minute}
	response, err := client.Get("https://" + domain + "/healthz")
	if err != nil {
		h.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return response.TLS.PeerCertificates[0], string(body)
}

// roots returns the certificate authority that Pebble created at its start.
func (h *harness) roots(management, certFile string) *x509.CertPool {
	h.t.Helper()
	trusted := x509.NewCertPool()
	text, err := os.ReadFile(certFile)
	if err != nil || !trusted.AppendCertsFromPEM(text) {
		h.t.Fatal(certFile, err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}}
	response, err := client.Get("https://" + management + "/roots/0")
	if err != nil {
		h.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	made := x509.NewCertPool()
	if err != nil || !made.AppendCertsFromPEM(text) {
		h.t.Fatalf("%s, %v", text, err)
	}
	return made
}

// TestCertificateFromDirectory checks that a certificate is obtained before the first
// client connects, is valid for the name, and is kept after the process and the
// authority have ended.
func TestCertificateFromDirectory(t *testing.T) {
	h := &harness{t, t.TempDir()}
	h.build("github.com/letsencrypt/pebble/v2/cmd/pebble", "github.com/letsencrypt/pebble/v2/cmd/pebble-challtestsrv", "govsvc")
	port := freePort(t)
	pebble, directory, management, certFile := h.pebble(port)
	serve := []string{
		"serve", "--addr", "127.0.0.1:" + port, "--domain", domain, "--acme-directory", directory, "--acme-ca", certFile,
		"--log-format", "json",
	}
	govsvc := h.start(h.line("listening on https://127.0.0.1:"+port), nil, "govsvc", serve...)
	roots := h.roots(management, certFile)
	first, body := h.fetch(port, roots)
	if body != "ok\n" || first.VerifyHostname(domain) != nil {
		t.Errorf("got %q with a certificate for %v", body, first.DNSNames)
	}
	h.waitForLog(govsvc, `"msg":"certificate ready","domain":"`+domain+`"`)
	h.stop(govsvc)

	folder := filepath.Join(h.folder, "govsvc.db-acme")
	files, err := os.ReadDir(folder)
	if err != nil || len(files) != 2 { // the certificate with its key, and the account key
		t.Errorf("%v, %v", files, err)
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("got mode %v of the folder, %v", info.Mode(), err)
	}
	for _, file := range files {
		if info, err := file.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("got mode %[2]v of %[1]s, %[3]v", file.Name(), info.Mode(), err)
		}
	}

	h.stopPebble(pebble)
	again := h.start(h.line("listening on"), nil, "govsvc", serve...)
	second, _ := h.fetch(port, roots)
	if second.SerialNumber.Cmp(first.SerialNumber) != 0 {
		t.Error("got another certificate after a restart")
	}
	// A client that connects by address gets the certificate. Another name gets none.
	config := &tls.Config{RootCAs: roots, InsecureSkipVerify: true}
	conn, err := tls.Dial("tcp", "127.0.0.1:"+port, config)
	if err != nil {
		t.Fatal(err)
	}
	if got := conn.ConnectionState().PeerCertificates[0].SerialNumber; got.Cmp(first.SerialNumber) != 0 {
		t.Errorf("without a name: got certificate %v", got)
	}
	_ = conn.Close()
	config.ServerName = "evil.example.com"
	if conn, err := tls.Dial("tcp", "127.0.0.1:"+port, config); err == nil {
		_ = conn.Close()
		t.Error("got a certificate for another name")
	}
	h.stop(again)
}

// TestDirectoryOutOfReach checks that the server starts without its authority, logs
// the problem, and ends on SIGTERM.
func TestDirectoryOutOfReach(t *testing.T) {
	h := &harness{t, t.TempDir()}
	h.build("govsvc")
	govsvc := h.start(h.line("listening on https://"), nil, "govsvc", "serve", "--addr", "127.0.0.1:0", "--domain", domain,
		"--acme-directory", "https://127.0.0.1:"+freePort(t)+"/dir")
	h.waitForLog(govsvc, "no certificate yet; its authority must reach this server by that name on port 443")
	h.stop(govsvc)
}

// stopPebble kills Pebble, which has no state to keep.
func (h *harness) stopPebble(p *process) {
	h.t.Helper()
	_ = p.Process.Kill()
	<-p.done
}
