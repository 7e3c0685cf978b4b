package webhook_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/delivery"
	"govsvc/internal/testkit"
	"govsvc/server/webhook"
)

const testSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" // from the published test vector

func send(t testing.TB, sender *webhook.Sender, url string) delivery.Attempt {
	t.Helper()
	return sender.Send(t.Context(), delivery.Receiver{URL: url, Secrets: []string{testSecret}}, "a-delivery",
		db.Message{ID: "evt_1", Type: "ping", Body: []byte(`{"id":"evt_1"}`)})
}

// raw serves each connection with a function, without HTTP or TLS.
func raw(t testing.TB, serve func(net.Conn)) string {
	t.Helper()
	return "https://" + testkit.ServeConnections(t, serve) + "/"
}

// overTLS serves each connection with a function, after a TLS handshake with a valid
// certificate and the first bytes of the request.
func overTLS(t testing.TB, serve func(*tls.Conn)) string {
	t.Helper()
	good := httptest.NewUnstartedServer(nil)
	good.StartTLS()
	t.Cleanup(good.Close)
	certificate := good.TLS.Certificates
	return raw(t, func(conn net.Conn) {
		secure := tls.Server(conn, &tls.Config{Certificates: certificate, MinVersion: tls.VersionTLS12})
		_, _ = secure.Read(make([]byte, 4096))
		serve(secure)
	})
}

func says(text string) func(*tls.Conn) {
	return func(c *tls.Conn) { _, _ = c.Write([]byte(text)) }
}

// TestSend_Receivers sends to every kind of receiver.
func TestSend_Receivers(t *testing.T) {
	t.Parallel()
	oldTLS := httptest.NewUnstartedServer(http.NotFoundHandler())
	oldTLS.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	oldTLS.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	oldTLS.StartTLS()
	t.Cleanup(oldTLS.Close)
	closed := raw(t, func(net.Conn) {})
	var followed atomic.Bool
	elsewhere := testkit.NewReceiver(t, func(http.ResponseWriter, *http.Request) { followed.Store(true) })
	for _, row := range []struct {
		name, url string
		status    int
		fault     string
		blocked   bool
	}{
		{name: "200", url: testkit.NewReceiver(t, testkit.Status(200)).URL, status: 200},
		{name: "204", url: testkit.NewReceiver(t, testkit.Status(204)).URL, status: 204},
		{name: "299", url: testkit.NewReceiver(t, testkit.Status(299)).URL, status: 299},
		{name: "410", url: testkit.NewReceiver(t, testkit.Status(410)).URL, status: 410},
		{name: "500", url: testkit.NewReceiver(t, testkit.Status(500)).URL, status: 500},
		{name: "302", url: testkit.NewReceiver(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) }).URL, status: 302},
		{name: "307", url: testkit.NewReceiver(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}).URL, status: 307},
		{name: "a reset", url: raw(t, func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }), fault: "reset|EOF"},
		{name: "a reset after the request", url: overTLS(t, func(c *tls.Conn) { _ = c.NetConn().(*net.TCPConn).SetLinger(0); _ = c.NetConn().Close() }), fault: "reset|EOF"},
		{name: "closed at once", url: closed, fault: "EOF|reset"},
		{name: "garbage instead of TLS", url: raw(t, func(c net.Conn) { _, _ = c.Write([]byte("SSH-2.0-OpenSSH_9.9\r\n")) }), fault: "TLS|tls"},
		{name: "garbage instead of HTTP", url: overTLS(t, says("\x00\x01\x02 hello\r\n\r\n")), fault: "malformed"},
		{name: "huge headers", url: overTLS(t, says("HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 1<<20)+"\r\n\r\n")), fault: "header"},
		{name: "interim answers without end", url: overTLS(t, says(strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 1000))), fault: "headers exceeded"},
		{name: "old TLS", url: oldTLS.URL, fault: "protocol version"},
		{name: "another name", url: strings.Replace(testkit.NewReceiver(t, nil).URL, "127.0.0.1", "localhost", 1), fault: "certificate"},
		{name: "its own name", url: strings.Replace(testkit.NewReceiver(t, nil).URL, "127.0.0.1", "EXAMPLE.com", 1), status: 200},
		{name: "its own name with a dot", url: strings.Replace(testkit.NewReceiver(t, nil).URL, "127.0.0.1", "example.com.", 1), status: 200},
		{name: "plain http", url: "http://127.0.0.1:1/", fault: "https", blocked: true},
		{name: "private", url: "https://10.0.0.1/", fault: "not public", blocked: true},
		{name: "unknown", url: "https://nowhere.example/", fault: "no address"},
		{name: "refused", url: "https://127.0.0.1:1/", fault: "connection refused"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			a := send(t, newSender(t), row.url)
			if a.Status != row.status || a.Blocked != row.blocked || a.Delivered() != (row.status/100 == 2) {
				t.Errorf("got %+v", a)
			}
			found := false
			for part := range strings.SplitSeq(row.fault, "|") {
				found = found || strings.Contains(a.Error, part)
			}
			if !found || (row.fault == "") != (a.Error == "") {
				t.Errorf("error %q, want %q", a.Error, row.fault)
			}
		})
	}
	t.Cleanup(func() {
		if followed.Load() {
			t.Error("a redirect was followed")
		}
	})
}

// TestSend_UntrustedCertificate checks that the certificate is trusted only with
// --webhook-ca.
func TestSend_UntrustedCertificate(t *testing.T) {
	t.Parallel()
	sender := newSender(t, func(c *webhook.SenderConfig) { c.Roots = nil })
	if a := send(t, sender, testkit.NewReceiver(t, nil).URL); !strings.Contains(a.Error, "certificate") {
		t.Errorf("got %+v", a)
	}
	if _, err := webhook.NewSender(webhook.SenderConfig{Roots: []byte("no PEM")}); err == nil || !strings.Contains(err.Error(), "--webhook-ca") {
		t.Error(err)
	}
}

// TestSend_HugeResponse checks that an endless response ends the attempt. 1 KB of the
// response is stored.
func TestSend_HugeResponse(t *testing.T) {
	t.Parallel()
	endless := testkit.NewReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<16)); err != nil {
				return
			}
		}
	})
	a := send(t, newSender(t), endless.URL)
	if a.Status != 200 || len(a.Answer) != 1024 || a.Duration > 10*time.Second {
		t.Errorf("status %d, %d bytes, %v", a.Status, len(a.Answer), a.Duration)
	}
}

// TestSend_SlowBody checks that the status decides the result. A body that never ends does
// not delay the attempt for long.
func TestSend_SlowBody(t *testing.T) {
	t.Parallel()
	trickling := testkit.NewReceiver(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("ok"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	a := send(t, newSender(t), trickling.URL)
	if a.Status != 200 || string(a.Answer) != "ok" || a.Error != "" || a.Duration > 10*time.Second {
		t.Errorf("got %+v", a)
	}
}

// TestSend_Timeouts checks that a TLS handshake and a whole attempt are limited.
func TestSend_Timeouts(t *testing.T) {
	t.Parallel()
	silent := func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }
	for name, row := range map[string]struct {
		url                string
		attempt, handshake time.Duration
		text               string
	}{
		"no handshake": {raw(t, silent), time.Minute, 300 * time.Millisecond, "handshake"},
		"no answer":    {overTLS(t, func(c *tls.Conn) { silent(c) }), 300 * time.Millisecond, time.Minute, "no answer within"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sender := newSender(t)
			if attempt, handshake := sender.Timeouts(); attempt != 15*time.Second || handshake != 10*time.Second {
				t.Errorf("an attempt is limited to %v, a handshake to %v", attempt, handshake)
			}
			sender.SetTimeouts(row.attempt, row.handshake)
			a := send(t, sender, row.url)
			if a.Status != 0 || !strings.Contains(a.Error, row.text) || a.Duration > 30*time.Second || a.Duration < 300*time.Millisecond {
				t.Errorf("got %+v", a)
			}
		})
	}
}

// TestSend_Rebinding checks DNS rebinding: the name has a public address when it is
// checked, and a private address when it is dialled.
func TestSend_Rebinding(t *testing.T) {
	t.Parallel()
	inside := testkit.NewReceiver(t, nil)
	var asked atomic.Int32
	sender := newSender(t, func(c *webhook.SenderConfig) {
		c.Allow = nil
		c.Resolver = dns(func(string) ([]netip.Addr, error) {
			if asked.Add(1) == 1 {
				return []netip.Addr{netip.MustParseAddr("8.8.8.8")}, nil
			}
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		})
	})
	url := strings.Replace(inside.URL, "127.0.0.1", "example.com", 1)
	if err := sender.CheckURL(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	if a := send(t, sender, url); !a.Blocked || a.Status != 0 {
		t.Errorf("got %+v", a)
	}
	if asked.Load() != 2 || len(inside.Received()) != 0 {
		t.Errorf("%d look-ups, %d arrivals", asked.Load(), len(inside.Received()))
	}
}

// TestSend_IgnoresProxy checks that the sender ignores the proxy settings in the
// environment.
func TestSend_IgnoresProxy(t *testing.T) {
	proxy := testkit.NewReceiver(t, nil)
	t.Setenv("HTTPS_PROXY", proxy.URL)
	t.Setenv("ALL_PROXY", proxy.URL)
	receiver := testkit.NewReceiver(t, nil)
	sender := newSender(t)
	if a := send(t, sender, strings.Replace(receiver.URL, "127.0.0.1", "example.com", 1)); a.Status != 200 || len(proxy.Received()) != 0 {
		t.Errorf("got %+v", a)
	}
}

// TestSend_ReusesConnection checks that a connection that the receiver closed does not
// fail an attempt.
func TestSend_ReusesConnection(t *testing.T) {
	t.Parallel()
	r := testkit.NewReceiver(t, nil)
	sender := newSender(t)
	for range 3 {
		if a := send(t, sender, r.URL); a.Status != 200 {
			t.Fatalf("got %+v", a)
		}
		r.CloseClientConnections()
	}
}

// TestSend_ResumesSession checks that a second connection to a host resumes the TLS session
// of the first, and that its address is checked again.
func TestSend_ResumesSession(t *testing.T) {
	t.Parallel()
	var resumed []bool
	r := testkit.NewReceiver(t, func(_ http.ResponseWriter, r *http.Request) { resumed = append(resumed, r.TLS.DidResume) })
	addresses := []string{"127.0.0.1", "127.0.0.1", "10.0.0.1"}
	sender := newSender(t, func(c *webhook.SenderConfig) {
		c.Resolver = dns(func(string) ([]netip.Addr, error) {
			address := netip.MustParseAddr(addresses[0])
			addresses = addresses[1:]
			return []netip.Addr{address}, nil
		})
	})
	url := strings.Replace(r.URL, "127.0.0.1", "example.com", 1)
	for range 2 {
		if a := send(t, sender, url); a.Status != 200 {
			t.Fatalf("got %+v", a)
		}
		r.CloseClientConnections()
	}
	if want := []bool{false, true}; !slices.Equal(resumed, want) {
		t.Errorf("resumed %v, want %v", resumed, want)
	}
	if a := send(t, sender, url); !a.Blocked {
		t.Errorf("a private address: got %+v", a)
	}
}

// TestSend_Headers checks that the sent headers match the contract.
func TestSend_Headers(t *testing.T) {
	t.Parallel()
	r := testkit.NewReceiver(t, nil)
	send(t, newSender(t), r.URL)
	got := r.Received()[0]
	for name, want := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "govsvc/1.2.3", "X-Service-Event": "ping", "X-Service-Delivery": "a-delivery",
		"Webhook-Id": "evt_1", "X-Service-Signature": ours(testSecret, got.Body), "Idempotency-Key": "", "Accept-Encoding": "",
	} {
		if have := got.Header.Get(name); have != want {
			t.Errorf("%s: %q, want %q", name, have, want)
		}
	}
	if err := webhook.Verify(testSecret, got.Header, got.Body, time.Now()); err != nil {
		t.Error(err)
	}
	if err := verified(t, got, testSecret); err != nil {
		t.Error(err)
	}
}
