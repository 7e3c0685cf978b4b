package cmd_test

import (
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// countOpen counts the connections that the server has not closed. It waits
// until there are at most so many, because closing takes a moment.
func countOpen(conns []net.Conn, most int) int {
	left := len(conns)
	for try := 0; try < 200 && left > most; try++ {
		left = 0
		for _, conn := range conns {
			_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
			_, err := conn.Read(make([]byte, 1))
			var late net.Error
			if errors.As(err, &late) && late.Timeout() {
				left++
			}
		}
	}
	return left
}

var slowConnections = flag.Int("slow.connections", 512, "how many slow clients there are, eight for each place")

// TestServe_LimitsSlowClients opens more and more connections that never complete the
// head of a request, from one address and from many. Other clients are still
// served, and the limits hold.
func TestServe_LimitsSlowClients(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	most := *slowConnections / 8
	perAddress := most / 4
	s := c.serve("--max-connections", strconv.Itoa(most))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 30 * time.Second}
	var slow []net.Conn
	for i := range 8 * most {
		from := "127.0.0.2" // one address, then eight more
		if i >= 4*most {
			from = "127.0.0." + strconv.Itoa(10+i%8)
		}
		conn := c.dial(s.url, from)
		slow = append(slow, conn)
		// Some send nothing, some a part of a request. A displaced one can't be
		// written to.
		if i%3 > 0 {
			_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: "[:40-i%3])
		}
		if i%16 == 0 {
			if status := c.ask(client, s.url+"/healthz", "").status; status != 200 {
				t.Fatalf("after %d slow connections: %d", i+1, status)
			}
		}
	}
	if left := countOpen(slow, most); left > most || left < perAddress {
		t.Errorf("%d slow connections are left of %d, want %d at most", left, len(slow), most)
	}
	if left := countOpen(slow[:4*most], perAddress); left > perAddress {
		t.Errorf("%d are left from one address, want %d at most", left, perAddress)
	}
	if status := c.ask(client, s.url+"/readyz", "").status; status != 200 {
		t.Errorf("at the end: %d", status)
	}
	for _, conn := range slow { // otherwise the server waits some seconds for them at its end
		_ = conn.Close()
	}
	s.end()
}

// TestServe_EndsSlowBodiesOfRefusedRequests checks that the server does not wait as
// long as usual for the body of a refused request, or for a body that it ignores.
func TestServe_EndsSlowBodiesOfRefusedRequests(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s := c.serve("--max-connections", "8")
	key := "Authorization: Bearer " + c.key("read:risks") + "\r\n"
	var waiting sync.WaitGroup
	for i, row := range []struct{ head, want string }{
		{"POST /api/v1/risks HTTP/1.1\r\nContent-Length: 1000\r\n", "HTTP/1.1 401 "},
		{"POST /api/v1/risks HTTP/1.1\r\nTransfer-Encoding: chunked\r\n", "HTTP/1.1 401 "},
		{"POST /api/v1/risks HTTP/1.1\r\nContent-Length: 1000\r\n" + key, "HTTP/1.1 403 "},
		{"POST /api/v1/nothing HTTP/1.1\r\nContent-Length: 1000\r\n" + key, "HTTP/1.1 404 "},
		{"GET /api/v1/risks HTTP/1.1\r\nContent-Length: 1000\r\n" + key, "HTTP/1.1 200 "},
		{"GET /api/v1/ HTTP/1.1\r\nContent-Length: 1000\r\n", "HTTP/1.1 200 "},
		{"GET /healthz HTTP/1.1\r\nContent-Length: 1000\r\n", "HTTP/1.1 200 "},
	} {
		conn := c.dial(s.url, "127.0.0."+strconv.Itoa(1+i))
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second)) // less than the timeout of a body
		_, _ = io.WriteString(conn, row.head+"Host: x\r\n\r\n")
		waiting.Go(func() {
			if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), row.want) {
				t.Errorf("%.60q: got %.60q, %v, want %s", row.head, answer, err, row.want)
			}
		})
	}
	waiting.Wait()
	s.end()
}

// TestServe_DisplacesSlowBodies checks that connections without a key whose
// bodies do not arrive do not keep others from being served.
func TestServe_DisplacesSlowBodies(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	for _, path := range []string{"/api/v1/risks", "/signin"} {
		s := c.serve("--max-connections", "8") // two for each address
		var slow []net.Conn
		for i := range 24 {
			conn := c.dial(s.url, "127.0.0."+strconv.Itoa(10+i%8))
			slow = append(slow, conn)
			// A displaced connection can't be written to.
			_, _ = io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\n")
		}
		var answer []byte
		for try := 0; try < 1000 && len(answer) == 0; try++ { // until the server has read the heads
			time.Sleep(10 * time.Millisecond)
			conn := c.dial(s.url, "127.0.0.2")
			_, _ = io.WriteString(conn, "GET /healthz HTTP/1.0\r\n\r\n")
			answer, _ = io.ReadAll(conn)
		}
		if !strings.HasPrefix(string(answer), "HTTP/1.0 200 ") {
			t.Errorf("%s: a new client got %.60q", path, answer)
		}
		for _, conn := range slow { // otherwise the server waits for them at its end
			_ = conn.Close()
		}
		s.end()
	}
}

// TestServe_KeepsActiveConnections checks that a new connection does not
// displace one with a request under way. The new one is closed.
func TestServe_KeepsActiveConnections(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s := c.serve("--max-connections", "4") // one for each address
	request := beginPostRisk(c, s.url)
	if response, err := http.Get(s.url + "/healthz"); err == nil { //nolint:noctx // closed at once
		_ = response.Body.Close()
		t.Error("a second connection of an address was served")
	}
	other := c.dial(s.url, "127.0.0.2")
	if _, err := io.WriteString(other, "GET /healthz HTTP/1.0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(other); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.0 200") {
		t.Errorf("another address got %q, %v", answer, err)
	}
	_, _ = io.WriteString(request.body, `{"title":"A running request","description":"It began before the others.","severity":"LOW","likelihood":"RARE"}`)
	_ = request.body.Close()
	if got := <-request.answered; got != "201 Created" {
		t.Errorf("the running request got %s", got)
	}
	s.end()
}

// TestServe_RefusesLongHeads checks the limit of a request's head.
func TestServe_RefusesLongHeads(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s := c.serve()
	for size, want := range map[int]string{30_000: "HTTP/1.1 200", 40_000: "HTTP/1.1 431"} {
		conn := c.dial(s.url, "127.0.0.1")
		_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Long: "+strings.Repeat("x", size)+"\r\n\r\n")
		if answer, _ := io.ReadAll(conn); !strings.HasPrefix(string(answer), want) {
			t.Errorf("a head of %d bytes: %.80q, want %s", size, answer, want)
		}
	}
	s.end()
}
