package testkit

import (
	"encoding/pem"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// Received is a request that a Receiver received.
type Received struct {
	At     time.Time
	Header http.Header
	Body   []byte
}

// Receiver is an https server on loopback that records the requests it receives.
type Receiver struct {
	*httptest.Server

	mutex    sync.Mutex
	answer   http.HandlerFunc
	received []Received
}

// NewReceiver starts a receiver. The answer is called after a request was recorded, without
// its body; nil answers 200.
func NewReceiver(t testing.TB, answer http.HandlerFunc) *Receiver {
	t.Helper()
	return NewReceiverAt(t, "127.0.0.1", answer)
}

// NewReceiverAt returns a receiver like NewReceiver, at another loopback address. It
// skips the test if the machine does not have the address.
func NewReceiverAt(t testing.TB, address string, answer http.HandlerFunc) *Receiver {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Skip("this machine has no such address: ", err)
	}
	r := &Receiver{answer: answer}
	r.Server = serveTLS(t, listener, r)
	return r
}

// ServeHTTP records a request and answers it.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	r.mutex.Lock()
	r.received = append(r.received, Received{time.Now(), request.Header.Clone(), body})
	answer := r.answer
	r.mutex.Unlock()
	if answer != nil {
		answer(w, request)
	}
}

// SetAnswer sets the answer to further requests.
func (r *Receiver) SetAnswer(answer http.HandlerFunc) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.answer = answer
}

// Received returns the requests so far, in order.
func (r *Receiver) Received() []Received {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Clone(r.received)
}

// Status answers with a status and no body.
func Status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// ServeTLS serves a handler over https on loopback until the test ends. The server has the
// certificate of ReceiverRoot and writes no log.
func ServeTLS(t testing.TB, handler http.Handler) *httptest.Server {
	t.Helper()
	return serveTLS(t, nil, handler)
}

func serveTLS(t testing.TB, listener net.Listener, handler http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	if listener != nil {
		_ = s.Listener.Close()
		s.Listener = listener
	}
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	s.StartTLS()
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

// ReceiverRoot returns the certificate of every Receiver, in PEM.
var ReceiverRoot = sync.OnceValue(func() []byte {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
})

// ServeConnections calls a function for each connection to an address of loopback, without
// HTTP or TLS, and then closes the connection. It returns the address as the host of a URL.
func ServeConnections(t testing.TB, serve func(net.Conn)) (host string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				serve(conn)
			}()
		}
	}()
	return listener.Addr().String()
}
