package server_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/internal/testkit"
	"govsvc/server"
	"govsvc/server/metrics"
)

// withMetrics counts requests, and with log logs them.
func withMetrics(log bool) setting {
	return func(c *server.Config) {
		var operations []string
		for _, op := range c.Document.Operations {
			operations = append(operations, op.ID)
		}
		c.Metrics, c.AccessLog = metrics.New(metrics.Config{Store: c.Store, Operations: operations}), log
	}
}

// TestObservability_ChangesNoResponse checks that metrics and logs do not change a
// response. It covers a success, an error, a body that is too long and a defect.
func TestObservability_ChangesNoResponse(t *testing.T) {
	t.Parallel()
	defect := func(c *server.Config) { c.Receivers = panickingWriter{} }
	answers := map[bool][]string{}
	for _, watched := range []bool{false, true} {
		settings := []setting{defect}
		if watched {
			settings = append(settings, withMetrics(true))
		}
		d := serveFixtures(t, settings...)
		key := d.key(t, "read:all", "write:risks", "manage:webhooks")
		requests := []string{
			"GET /api/v1/risks HTTP/1.1\r\nAuthorization: Bearer " + key + "\r\n",
			"GET /api/v1/risks HTTP/1.1\r\nAccept-Encoding: gzip\r\nAuthorization: Bearer " + key + "\r\n",
			"HEAD /api/v1/risks HTTP/1.1\r\nAuthorization: Bearer " + key + "\r\n",
			"GET /api/v1/risks HTTP/1.1\r\n",
			"GET /healthz HTTP/1.1\r\n",
			"GET /nothing HTTP/1.1\r\n",
			"BREW /api/v1/risks HTTP/1.1\r\n",
			"POST /api/v1/risks HTTP/1.1\r\nAuthorization: Bearer " + key + "\r\nIdempotency-Key: a\r\nContent-Type: application/json\r\nContent-Length: 70000\r\n",
			"POST /api/v1/risks HTTP/1.1\r\nAuthorization: Bearer " + key + "\r\nIdempotency-Key: b\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" +
				"11170\r\n" + strings.Repeat("x", 0x11170),
			"POST /api/v1/webhooks/subscriptions HTTP/1.1\r\nAuthorization: Bearer " + key +
				"\r\nIdempotency-Key: c\r\nContent-Type: application/json\r\nContent-Length: 34\r\n\r\n{\"url\":\"https://hooks.example.com\"}",
		}
		answers[watched] = make([]string, len(requests))
		var group sync.WaitGroup
		for i, request := range requests { // at once, because the server reads a refused body for two seconds
			group.Go(func() { answers[watched][i] = exchanged(t, d.url, request) })
		}
		group.Wait()
	}
	if diff := cmp.Diff(answers[false], answers[true]); diff != "" {
		t.Errorf("-unwatched +watched:\n%s", diff)
	}
}

// TestAccessLog_CountsBytes checks that the log has the bytes of the body that were sent.
func TestAccessLog_CountsBytes(t *testing.T) {
	t.Parallel()
	s := serveFixtures(t, withMetrics(true))
	key := s.key(t, "read:all")
	a := s.send(t, row{path: "/scorecard", key: key})
	s.send(t, row{method: "HEAD", path: "/scorecard", key: key})
	for _, want := range []string{fmt.Sprintf("method=GET path=/api/v1/scorecard status=200 bytes=%d ", len(a.sent)), "method=HEAD path=/api/v1/scorecard status=200 bytes=0 "} {
		testkit.Eventually(t, func() bool { return strings.Contains(s.log.String(), want) }, want)
	}
}

// exchanged sends a request unchanged. It returns the parts of the answer that do not
// depend on the time, and whether the connection ends with it.
func exchanged(t *testing.T, url, request string) string {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimSuffix(strings.TrimPrefix(url, "http://"), server.Base))
	if err != nil {
		t.Error(err)
		return ""
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	head, rest, begun := strings.Cut(request, "\r\n\r\n")
	head = strings.TrimSuffix(head, "\r\n") + "\r\nHost: x\r\n\r\n"
	if !begun {
		rest = ""
	}
	if _, err := io.WriteString(conn, head+rest); err != nil {
		t.Error(err)
		return ""
	}
	in, asked := bufio.NewReader(conn), &http.Request{Method: request[:strings.IndexByte(request, ' ')]}
	response, err := http.ReadResponse(in, asked)
	if err == nil && response.StatusCode == http.StatusContinue {
		_ = response.Body.Close()
		response, err = http.ReadResponse(in, asked)
	}
	if err != nil {
		t.Errorf("%.60q: %v", request, err)
		return ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Errorf("%.60q: %v", request, err)
		return ""
	}
	headers := slices.Sorted(maps.Keys(response.Header))
	kept := strings.Split(string(body), `"request_id"`)[0]
	if len(kept) > 500 {
		kept = kept[:500]
	}
	return strings.Join([]string{response.Status, strings.Join(headers, " "), response.Header.Get("ETag"), kept, map[bool]string{true: "closes"}[response.Close]}, "\n")
}

// TestDeadline_LimitsReads checks that a read has a time limit, over HTTP and MCP. The
// response tells the caller to try again.
func TestDeadline_LimitsReads(t *testing.T) {
	t.Parallel()
	s := serveFixtures(t, func(c *server.Config) { c.Deadline = 1 })
	key := s.key(t, "read:all")
	s.ask(t, row{path: "/risks", key: key, status: 503, code: "service_unavailable", has: []string{"Retry-After: 1\r"}})
	result := (&mcpService{s}).call(t, key, "list_risks", "{}")
	if !result.IsError || !strings.HasPrefix(result.Content[0].Text, "service_unavailable: ") {
		t.Errorf("over MCP: %.200s", result.Content[0].Text)
	}
	if log := s.log.String(); !strings.Contains(log, "key_id=") || strings.Contains(log, key) {
		t.Errorf("log:\n%s", log)
	}
}

// BenchmarkObserved measures a read that is answered from memory, with and without
// metrics and logs.
//
//	go test ./server -run '^$' -bench Observed
func BenchmarkObserved(b *testing.B) {
	for name, settings := range map[string][]setting{
		"off": nil, "metrics": {withMetrics(false)}, "metrics and log": {withMetrics(true), discarding},
	} {
		b.Run(name, func(b *testing.B) {
			s := serveFixtures(b, settings...)
			request := httptest.NewRequest(http.MethodGet, server.Base+"/risks", nil)
			_, key := s.mint(b, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"read:all"}, PerMinute: new(100_000_000), PerDay: new(1 << 30)})
			request.Header.Set("Authorization", "Bearer "+key)
			b.ReportAllocs()
			for b.Loop() {
				answer := httptest.NewRecorder()
				if s.server.ServeHTTP(answer, request); answer.Code != http.StatusOK {
					b.Fatal(answer.Code)
				}
			}
		})
	}
}

func discarding(c *server.Config) { c.Logger = slog.New(slog.NewJSONHandler(io.Discard, nil)) }
