package cmd_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// closeWrite closes the sending side of a connection, for TLS with
// close_notify.
func closeWrite(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Error(err)
	}
}

// TestServe_AnswersHalfClosedConnections checks that a client that closes its sending
// side after its requests gets all responses.
func TestServe_AnswersHalfClosedConnections(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	plain := c.serve("--demo")
	secure, _ := serveTLS(c)
	key := c.key("read:risks,write:risks")
	head := "Host: x\r\nAuthorization: Bearer " + key + "\r\n"
	get := func(i int) string {
		return fmt.Sprintf("GET /api/v1/risks?limit=%d HTTP/1.1\r\n%s\r\n", 1+i%100, head)
	}
	keys := 0
	post := func(i int) string {
		keys++
		body := fmt.Sprintf(`{"title":"Risk %d","description":"Sent by a client that closed its side.","severity":"LOW","likelihood":"RARE"}`, i)
		return fmt.Sprintf("POST /api/v1/risks HTTP/1.1\r\n%sContent-Type: application/json\r\nIdempotency-Key: %d\r\nContent-Length: %d\r\n\r\n%s", head, keys, len(body), body)
	}
	for i := range 20 {
		for _, row := range []struct {
			url  string
			text string
			want []int
		}{
			{plain.url, get(i), []int{200}},
			{plain.url, post(i), []int{201}},
			{plain.url, get(i) + post(i) + get(i), []int{200, 201, 200}},
			{secure.url, get(i), []int{200}},
			{secure.url, post(i), []int{201}},
			{secure.url, get(i) + get(i+1), []int{200, 200}},
		} {
			var conn net.Conn
			under := c.dial(row.url, "127.0.0.1")
			if conn = under; row.url == secure.url {
				conn = tls.Client(under, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // not the subject
			}
			_, _ = io.WriteString(conn, row.text)
			closeWrite(t, conn)
			if i%2 == 0 && row.url == secure.url {
				closeWrite(t, under) // also closes the TCP connection
			}
			wantStatuses(t, conn, row.want)
			_ = conn.Close()
		}
	}
	plain.end()
	secure.end()
	for _, s := range []*server{plain, secure} {
		if strings.Contains(s.stderr.String(), "ERROR") {
			t.Errorf("the log has errors:\n%s", s.stderr)
		}
	}
}

func wantStatuses(t *testing.T, conn net.Conn, want []int) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	in := bufio.NewReader(conn)
	for i, status := range want {
		response, err := http.ReadResponse(in, nil) //nolint:bodyclose // the connection is closed instead
		if err != nil {
			t.Errorf("response %d: %v", i, err)
			return
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != status {
			t.Errorf("response %d: %d, %v, want %d: %.200s", i, response.StatusCode, err, status, body)
		}
	}
}

// TestServe_RefusesHalfClosedBody checks that a client that closes its sending side
// within a body gets an error immediately.
func TestServe_RefusesHalfClosedBody(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s := c.serve()
	key := c.key("write:risks")
	conn := c.dial(s.url, "127.0.0.1")
	_, _ = io.WriteString(conn, "POST /api/v1/risks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+key+"\r\nContent-Type: application/json\r\nIdempotency-Key: k\r\nContent-Length: 100\r\n\r\n{")
	closeWrite(t, conn)
	wantStatuses(t, conn, []int{400})
	s.end()
}
