package cmd_test

import (
	"context"
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
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"strings"
	"time"

	"govsvc/internal/testkit"
)

// response is a response, read to its end.
type response struct {
	status, protocol int
	header           http.Header
	serial           int64 // of the certificate; 0 without one
	body             string
}

// request makes a request with a key, or without for "".
func (c *cli) request(method, url, key string, body io.Reader) *http.Request {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), method, url, body)
	must(c.t, err)
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(key))
	}
	return request
}

// do sends a request and reads the response.
func (c *cli) do(client *http.Client, request *http.Request) response {
	c.t.Helper()
	r, err := client.Do(request)
	if err != nil {
		c.t.Fatalf("%s: %v", request.URL, err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		c.t.Fatalf("%s: %v", request.URL, err)
	}
	read := response{r.StatusCode, r.ProtoMajor, r.Header, 0, string(body)}
	if r.TLS != nil {
		read.serial = r.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	return read
}

// submit sends a form.
func (c *cli) submit(client *http.Client, url string, form url.Values) response {
	c.t.Helper()
	request := c.request(http.MethodPost, url, "", strings.NewReader(form.Encode()))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return c.do(client, request)
}

// get sends a GET.
func (c *cli) get(url, key string) (status int, body string) {
	c.t.Helper()
	r := c.ask(http.DefaultClient, url, key)
	return r.status, r.body
}

// ask sends a GET with a client.
func (c *cli) ask(client *http.Client, url, key string) response {
	c.t.Helper()
	return c.do(client, c.request(http.MethodGet, url, key, nil))
}

// post creates something through the API and returns the body of the response.
func (c *cli) post(url, key, idempotency, body string) string {
	c.t.Helper()
	request := c.request(http.MethodPost, url, key, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", idempotency)
	r := c.do(http.DefaultClient, request)
	if r.status != http.StatusCreated {
		c.t.Fatalf("%s: %d %s", url, r.status, r.body)
	}
	return r.body
}

// dial connects to a server from an address of loopback. Linux has many of them,
// other systems have only 127.0.0.1.
func (c *cli) dial(url, from string) net.Conn {
	c.t.Helper()
	conn := dialFrom(c.t.Context(), url, from)
	if conn == nil {
		c.t.Fatalf("can't connect to %s from %s", url, from)
	}
	c.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// dialFrom connects from an address of loopback; nil if the server refuses.
func dialFrom(ctx context.Context, url, from string) net.Conn {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 10 * time.Second}
	_, host, _ := strings.Cut(url, "://")
	host, _, _ = strings.Cut(host, "/")
	conn, err := dialer.DialContext(ctx, "tcp", host)
	if err != nil {
		return nil
	}
	return conn
}

// trusting returns a client that trusts these certificates alone and makes a connection
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

// trustingFile returns a client that trusts an authority alone.
func trustingFile(c *cli, ca string) *http.Client {
	c.t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(c.read(ca))) {
		c.t.Fatalf("no certificate in %s", ca)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	c.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// newReceiver returns an https receiver of the test on loopback, and the file of its
// authority.
func newReceiver(c *cli, answer http.HandlerFunc) (s *httptest.Server, ca string) {
	c.t.Helper()
	return testkit.ServeTLS(c.t, answer), c.file("receiver.pem", string(testkit.ReceiverRoot()))
}

// newKeyPair writes a self-signed certificate for loopback and its key. It returns
// the files and the certificate.
func newKeyPair(c *cli, name string, serial int64) (certFile, keyFile string, certificate *x509.Certificate) {
	c.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(c.t, err)
	draft := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, draft, draft, key.Public(), key)
	must(c.t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	must(c.t, err)
	certificate, err = x509.ParseCertificate(der)
	must(c.t, err)
	certFile = c.file(name+".pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	keyFile = c.file(name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	return certFile, keyFile, certificate
}

// serveTLS starts a server with TLS. It returns a client that trusts it and makes a
// connection for each request.
func serveTLS(c *cli, flags ...string) (*server, *http.Client) {
	certFile, keyFile, certificate := newKeyPair(c, "served", 1)
	return c.serve(append([]string{"--tls-cert", certFile, "--tls-key", keyFile}, flags...)...), trusting(certificate)
}

// runningRequest is a request whose body the server is reading.
type runningRequest struct {
	body     *io.PipeWriter
	answered chan string // the status of the response, or the error
}

// beginPostRisk begins a request and returns once the server waits for its body.
func beginPostRisk(c *cli, url string) runningRequest {
	c.t.Helper()
	key := c.key("write:risks")
	begun := make(chan struct{})
	body, w := io.Pipe()
	request := c.request(http.MethodPost, url+"/api/v1/risks", key, body)
	request = request.WithContext(httptrace.WithClientTrace(c.t.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(begun) }}))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", "once")
	request.Header.Set("Expect", "100-continue")
	r := runningRequest{w, make(chan string, 1)}
	go func() {
		client := http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}
		response, err := client.Do(request)
		if err != nil {
			r.answered <- err.Error()
			return
		}
		_ = response.Body.Close()
		r.answered <- response.Status
	}()
	select {
	case <-begun:
	case early := <-r.answered:
		c.t.Fatalf("the request ended early: %s", early)
	}
	return r
}

// awaitClosed waits until a server accepts no new connections.
func awaitClosed(c *cli, url string) {
	c.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	testkit.Eventually(c.t, func() bool {
		r, err := client.Do(c.request(http.MethodGet, url+"/healthz", "", nil))
		if err == nil {
			_ = r.Body.Close()
		}
		return err != nil
	}, "the end of new connections")
}
