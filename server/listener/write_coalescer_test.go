package listener

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// serveCoalesced serves a handler through coalesceWrites until the test ends.
func serveCoalesced(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = web.Serve(coalesceWrites(listener)) }()
	t.Cleanup(func() { _ = web.Close() })
	return listener.Addr().String()
}

// TestCoalesceWrites checks that responses of about the size of the buffer arrive
// completely and immediately, on one connection.
func TestCoalesceWrites(t *testing.T) {
	t.Parallel()
	address := serveCoalesced(t, func(w http.ResponseWriter, r *http.Request) {
		var n int
		_, _ = fmt.Sscan(r.URL.Query().Get("n"), &n)
		_, _ = w.Write(bytes.Repeat([]byte{'x'}, n))
	})
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	sizes := []int{0, 1, 100, 2047, 2048, 2049, 8191, 8192, 8193, 12288, 100_000}
	for n := 3900; n < 4200; n++ { // one of them makes head and body 4096
		sizes = append(sizes, n)
	}
	for _, n := range sizes {
		if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET /?n=%d HTTP/1.1\r\nHost: x\r\n\r\n", n)
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || len(body) != n {
			t.Fatalf("%d bytes: got %d, %v", n, len(body), err)
		}
	}
}

// stuck is a connection whose other side reads nothing.
type stuck struct {
	net.Conn
	writing, closed chan struct{}
}

func (s *stuck) Write([]byte) (int, error) {
	close(s.writing)
	<-s.closed
	return 0, net.ErrClosed
}

func (s *stuck) Close() error {
	close(s.closed)
	return nil
}

// one is a listener of one connection.
type one struct {
	net.Listener
	conn net.Conn
}

func (l one) Accept() (net.Conn, error) { return l.conn, nil }

// TestCoalesceWrites_CloseDoesNotWait checks that closing a connection does not
// wait for a client that reads nothing.
func TestCoalesceWrites_CloseDoesNotWait(t *testing.T) {
	t.Parallel()
	below := &stuck{writing: make(chan struct{}), closed: make(chan struct{})}
	conn, err := coalesceWrites(one{conn: below}).Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(make([]byte, 4096)); err != nil {
		t.Fatal(err)
	}
	read := make(chan error, 1)
	go func() {
		_, err := conn.Read(make([]byte, 1))
		read <- err
	}()
	<-below.writing
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if err := <-read; err == nil {
		t.Error("the buffered bytes are lost without an error")
	}
}

// TestCoalesceWrites_Pipelined checks that requests that arrive together are answered
// in order. The connection then ends as the client requested.
func TestCoalesceWrites_Pipelined(t *testing.T) {
	t.Parallel()
	address := serveCoalesced(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(bytes.Repeat([]byte(r.URL.Query().Get("c")), 5000))
	})
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, "GET /?c=a HTTP/1.1\r\nHost: x\r\n\r\nGET /?c=b HTTP/1.1\r\nHost: x\r\n\r\nGET /?c=c HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	all, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{"a", "b", "c"} {
		if !strings.Contains(string(all), strings.Repeat(c, 5000)) {
			t.Errorf("the answer of %s is not whole", c)
		}
	}
}
