package cmd_test

import (
	"bufio"
	"context"
	"flag"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var slowReaders = flag.Int("slow.readers", 40, "how many connections the server under attack by slow readers allows")

// largestStaticFile returns the path of the script of the API reference, the largest
// file that the dashboard serves.
func largestStaticFile(c *cli, client *http.Client, url string) string {
	c.t.Helper()
	path := regexp.MustCompile(`/static/swagger-ui-bundle\.\w+\.js`).FindString(c.ask(client, url+"/docs", "").body)
	if path == "" {
		c.t.Fatal("/docs names no script")
	}
	return path
}

// slowReader opens a connection, sends four requests and reads nothing. It
// replaces a connection that the server closes.
func slowReader(ctx context.Context, url, from, path string, opened *atomic.Int64) {
	for ctx.Err() == nil {
		conn := dialFrom(ctx, url, from)
		if conn == nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		opened.Add(1)
		_, err := io.WriteString(conn, strings.Repeat("GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n", 4))
		for err == nil && ctx.Err() == nil { // a write fails after the end of the connection
			time.Sleep(200 * time.Millisecond)
			_, err = io.WriteString(conn, "\r")
		}
		_ = conn.Close()
	}
}

// answered counts the probes from an address that are answered within a time.
func answered(ctx context.Context, url, from string, probes int, within time.Duration) int {
	got := 0
	for range probes {
		time.Sleep(20 * time.Millisecond)
		conn := dialFrom(ctx, url, from)
		if conn == nil {
			continue
		}
		_ = conn.SetDeadline(time.Now().Add(within))
		_, _ = io.WriteString(conn, "GET /healthz HTTP/1.0\r\n\r\n")
		if line, _ := bufio.NewReader(conn).ReadString('\n'); strings.HasPrefix(line, "HTTP/1.0 200 ") {
			got++
		}
		_ = conn.Close()
	}
	return got
}

// TestServe_AnswersDespiteSlowReaders has five addresses take all connections, request the
// largest file four times on each and read nothing. Requests from another
// address are still answered.
func TestServe_AnswersDespiteSlowReaders(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	s := c.serve("--max-connections", strconv.Itoa(*slowReaders))
	path := largestStaticFile(c, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, s.url)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var attackers sync.WaitGroup
	var opened atomic.Int64
	for i := range 5 {
		for range *slowReaders / 4 {
			attackers.Go(func() { slowReader(ctx, s.url, "127.0.0."+strconv.Itoa(2+i), path, &opened) })
		}
	}
	for opened.Load() < int64(*slowReaders) {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(time.Second) // until their responses fill the buffers of the system
	const probes = 55
	got := answered(ctx, s.url, "127.0.0.9", probes, 5*time.Second)
	t.Logf("%d of %d requests were answered; the attackers opened %d connections; resident memory %s", got, probes, opened.Load(), residentMemory())
	if got < probes*9/10 {
		t.Errorf("%d of %d requests were answered", got, probes)
	}
	stop()
	attackers.Wait()
	s.end()
}

// residentMemory returns the memory of this process, with the server and the attackers.
func residentMemory() string {
	status, _ := os.ReadFile("/proc/self/status")
	return regexp.MustCompile(`VmRSS:\s+(.*)`).FindString(string(status))
}
