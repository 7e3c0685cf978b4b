// Package acme checks govsvc against a real ACME server: Pebble, the one that
// Let's Encrypt tests its clients with. It is a module of its own, so that
// Pebble is no part of govsvc.
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

// scene is a folder of programs and files, and the processes that run.
type scene struct {
	t      *testing.T
	folder string
}

// built builds programs into the folder.
func (s *scene) built(packages ...string) {
	s.t.Helper()
	for _, name := range packages {
		build := exec.CommandContext(s.t.Context(), "go", "build", "-o", s.folder+string(filepath.Separator), name)
		if name == "govsvc" {
			build.Dir = filepath.Join("..", "..")
		}
		if out, err := build.CombinedOutput(); err != nil {
			s.t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
}

// process is a program that runs.
type process struct {
	*exec.Cmd
	errors string // the file of its standard error
	done   chan error
}

// start runs a program of the folder until the test ends; ready reads its
// standard output until it can be used.
func (s *scene) start(ready func(io.Reader), env []string, name string, args ...string) *process {
	s.t.Helper()
	errors, err := os.CreateTemp(s.folder, name+"-*.log")
	if err != nil {
		s.t.Fatal(err)
	}
	p := &process{exec.CommandContext(s.t.Context(), filepath.Join(s.folder, name), args...), errors.Name(), make(chan error, 1)}
	p.Dir = s.folder
	p.Env = append(os.Environ(), env...)
	p.Stderr = errors
	out, w := io.Pipe()
	p.Stdout = w
	if err := p.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		err := p.Wait()
		_, _ = w.Close(), errors.Close()
		p.done <- err
	}()
	s.t.Cleanup(func() {
		_ = p.Process.Kill()
		if s.t.Failed() {
			s.t.Logf("%s:\n%s", name, p.log())
		}
	})
	ready(out)
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return p
}

// log is what it has said on standard error.
func (p *process) log() string {
	text, err := os.ReadFile(p.errors)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// said waits until a process has said something on standard error.
func (s *scene) said(p *process, text string) {
	s.t.Helper()
	for range 600 {
		if strings.Contains(p.log(), text) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.t.Fatalf("%s has not said %q", p.Path, text)
}

// stop ends a process in order.
func (s *scene) stop(p *process) {
	s.t.Helper()
	_ = p.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-p.done:
		if err != nil {
			s.t.Fatalf("%s: %v", p.Path, err)
		}
	case <-time.After(time.Minute):
		s.t.Fatalf("%s did not end", p.Path)
	}
}

func (s *scene) file(name string, text []byte) string {
	s.t.Helper()
	path := filepath.Join(s.folder, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// freePort is a port of loopback that nobody listens on.
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

// authority writes the certificate that the ACME server speaks https with.
func (s *scene) authority() (certFile, keyFile string) {
	s.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	draft := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, draft, draft, key.Public(), key)
	if err != nil {
		s.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.file("pebble.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		s.file("pebble.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

// pebble starts the ACME server and the name server that it asks, which tells
// it that every name is this machine.
func (s *scene) pebble(tlsPort string) (p *process, directory, management, certFile string) {
	certFile, keyFile := s.authority()
	names, api := "127.0.0.1:"+freePort(s.t), "127.0.0.1:"+freePort(s.t)
	management = "127.0.0.1:" + freePort(s.t)
	text, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": api, "managementListenAddress": management, "certificate": certFile, "privateKey": keyFile,
		"httpPort": 1, "tlsPort": json.Number(tlsPort),
		"retryAfter": map[string]int{"authz": 1, "order": 1}, "keyAlgorithm": "ecdsa",
		"profiles": map[string]any{"default": map[string]any{"description": "usual", "validityPeriod": 7776000}},
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.start(s.line("Starting management server"), nil, "pebble-challtestsrv", "-defaultIPv6", "", "-dnsserver", names,
		"-http01", "", "-https01", "", "-tlsalpn01", "", "-doh", "", "-management", "127.0.0.1:"+freePort(s.t))
	p = s.start(s.line("ACME directory available at"), []string{"PEBBLE_VA_NOSLEEP=1"}, "pebble",
		"-config", s.file("pebble.json", text), "-dnsserver", names)
	return p, "https://" + api + "/dir", management, certFile
}

// line waits for a line of standard output that has the text in it.
func (s *scene) line(text string) func(io.Reader) {
	return func(out io.Reader) {
		s.t.Helper()
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return
			}
		}
		s.t.Fatalf("it ended without the line %q", text)
	}
}

// served is the certificate that a server shows under the domain, verified
// against the roots, and the answer of its /healthz.
func (s *scene) served(port string, roots *x509.CertPool) (*x509.Certificate, string) {
	s.t.Helper()
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
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.TLS.PeerCertificates[0], string(body)
}

// roots is the authority that Pebble made for itself when it started.
func (s *scene) roots(management, certFile string) *x509.CertPool {
	s.t.Helper()
	trusted := x509.NewCertPool()
	text, err := os.ReadFile(certFile)
	if err != nil || !trusted.AppendCertsFromPEM(text) {
		s.t.Fatal(certFile, err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}}
	response, err := client.Get("https://" + management + "/roots/0")
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	made := x509.NewCertPool()
	if err != nil || !made.AppendCertsFromPEM(text) {
		s.t.Fatalf("%s, %v", text, err)
	}
	return made
}

// TestCertificateFromDirectory: a certificate is had before the first client
// asks, is good for the name, and outlives both the process and the authority.
func TestCertificateFromDirectory(t *testing.T) {
	s := &scene{t, t.TempDir()}
	s.built("github.com/letsencrypt/pebble/v2/cmd/pebble", "github.com/letsencrypt/pebble/v2/cmd/pebble-challtestsrv", "govsvc")
	port := freePort(t)
	pebble, directory, management, certFile := s.pebble(port)
	serve := []string{
		"serve", "--addr", "127.0.0.1:" + port, "--domain", domain, "--acme-directory", directory, "--acme-ca", certFile,
		"--log-format", "json",
	}
	govsvc := s.start(s.line("listening on https://127.0.0.1:"+port), nil, "govsvc", serve...)
	roots := s.roots(management, certFile)
	first, body := s.served(port, roots)
	if body != "ok\n" || first.VerifyHostname(domain) != nil {
		t.Errorf("%q from %v", body, first.DNSNames)
	}
	s.said(govsvc, `"msg":"certificate ready","domain":"`+domain+`"`)
	s.stop(govsvc)

	folder := filepath.Join(s.folder, "govsvc.db-acme")
	files, err := os.ReadDir(folder)
	if err != nil || len(files) != 2 { // the certificate with its key, and the account's key
		t.Errorf("%v, %v", files, err)
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %v, %v", info.Mode(), err)
	}
	for _, file := range files {
		if info, err := file.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", file.Name(), info.Mode(), err)
		}
	}

	s.stopPebble(pebble)
	again := s.start(s.line("listening on"), nil, "govsvc", serve...)
	second, _ := s.served(port, roots)
	if second.SerialNumber.Cmp(first.SerialNumber) != 0 {
		t.Error("another certificate after a restart")
	}
	// a client that asks by address gets it, too; a foreign name gets none
	config := &tls.Config{RootCAs: roots, InsecureSkipVerify: true}
	conn, err := tls.Dial("tcp", "127.0.0.1:"+port, config)
	if err != nil {
		t.Fatal(err)
	}
	if got := conn.ConnectionState().PeerCertificates[0].SerialNumber; got.Cmp(first.SerialNumber) != 0 {
		t.Errorf("without a name: certificate %v", got)
	}
	_ = conn.Close()
	config.ServerName = "evil.example.com"
	if conn, err := tls.Dial("tcp", "127.0.0.1:"+port, config); err == nil {
		_ = conn.Close()
		t.Error("a certificate for a foreign name")
	}
	s.stop(again)
}

// TestDirectoryOutOfReach: without its authority the server starts, says what
// is wrong, and ends when it is told to.
func TestDirectoryOutOfReach(t *testing.T) {
	s := &scene{t, t.TempDir()}
	s.built("govsvc")
	govsvc := s.start(s.line("listening on https://"), nil, "govsvc", "serve", "--addr", "127.0.0.1:0", "--domain", domain,
		"--acme-directory", "https://127.0.0.1:"+freePort(t)+"/dir")
	s.said(govsvc, "no certificate yet; its authority must reach this server by that name on port 443")
	s.stop(govsvc)
}

// stopPebble ends it by force: it has nothing to keep.
func (s *scene) stopPebble(p *process) {
	s.t.Helper()
	_ = p.Process.Kill()
	<-p.done
}
