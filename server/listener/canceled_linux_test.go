package listener

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// blockingService is a service whose requests report that they have begun, and
// whether they were canceled before they were released.
type blockingService struct {
	begun, release chan struct{}
	canceled       chan bool
}

func (s blockingService) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func (s blockingService) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // like a handler that reads the body
	s.begun <- struct{}{}
	select {
	case <-r.Context().Done():
		s.canceled <- true
	case <-s.release:
		s.canceled <- false
	}
}

// TestServe_CancelsRequests checks that a request is canceled when its client
// resets the connection, also after it closed its sending side. Closing the
// sending side alone does not cancel it.
func TestServe_CancelsRequests(t *testing.T) {
	t.Parallel()
	listener, err := Listen(t.Context(), "127.0.0.1:0", Limits{Connections: 10})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	s := blockingService{make(chan struct{}), make(chan struct{}), make(chan bool)}
	ended := make(chan error)
	go func() {
		ended <- Serve(ctx, listener, nil, s, slog.New(slog.DiscardHandler))
	}()
	for _, row := range []struct {
		name, request    string
		halfClose, reset bool
	}{
		{"GET, half-closed", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", true, false},
		{"GET, reset", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", false, true},
		{"GET, half-closed and reset", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", true, true},
		{"POST, half-closed", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx", true, false},
		{"POST, reset", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx", false, true},
		{"POST, half-closed and reset", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx", true, true},
	} {
		dialed, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conn := dialed.(*net.TCPConn)
		_, _ = io.WriteString(conn, row.request)
		<-s.begun
		if row.halfClose {
			_ = conn.CloseWrite()
			time.Sleep(50 * time.Millisecond) // the server usually detects it first, but both orders are correct
		}
		if row.reset {
			_ = conn.SetLinger(0)
			_ = conn.Close()
		}
		select {
		case <-s.canceled:
			if !row.reset {
				t.Errorf("%s: the request was canceled", row.name)
			}
		case <-time.After(waitFor(row.reset)):
			if row.reset {
				t.Errorf("%s: the request was not canceled", row.name)
			}
			s.release <- struct{}{}
			<-s.canceled
		}
		if !row.reset {
			answer, err := io.ReadAll(conn)
			if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200 ") {
				t.Errorf("%s: %.60q, %v", row.name, answer, err)
			}
		}
		_ = conn.Close()
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// waitFor returns a long timeout for expected events and a short one for unexpected
// events.
func waitFor(expected bool) time.Duration {
	if expected {
		return 30 * time.Second
	}
	return 500 * time.Millisecond
}
