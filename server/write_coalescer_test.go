package server_test

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

	"govsvc/server"
)

// listen serves a handler through JoinWrites until the test ends.
func listen(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = web.Serve(server.JoinWrites(listener)) }()
	t.Cleanup(func() { _ = web.Close() })
	return listener.Addr().String()
}

// TestJoinWrites: answers of every size around the buffer's arrive whole and at
// once, on one connection, the last one too.
func TestJoinWrites(t *testing.T) {
	t.Parallel()
	address := listen(t, func(w http.ResponseWriter, r *http.Request) {
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

// TestJoinWritesClosed: who closes a connection that can't get rid of what is
// held does not wait for its client.
func TestJoinWritesClosed(t *testing.T) {
	t.Parallel()
	below := &stuck{writing: make(chan struct{}), closed: make(chan struct{})}
	conn, err := server.JoinWrites(one{conn: below}).Accept()
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
		t.Error("what was held is gone, and nobody is told")
	}
}

// TestJoinWritesPipelined: requests that come in one piece are answered in
// turn, and the connection ends as the client asked.
func TestJoinWritesPipelined(t *testing.T) {
	t.Parallel()
	address := listen(t, func(w http.ResponseWriter, r *http.Request) {
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
