package server_test

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/server"
	"govsvc/server/limit"
)

// TestResponseBudget_LargeResponsesWait checks that a response gets a 503 with
// Retry-After if the budget has no room for it for too long. This holds for a list and
// for a tool. A small response of another caller is served at the same time.
func TestResponseBudget_LargeResponsesWait(t *testing.T) {
	t.Parallel()
	budget := limit.NewBudget(16<<20, 50*time.Millisecond)
	s := serve(t, func(c *server.Config) { c.Responses, c.CacheBytes = budget, 0 })
	var records []db.Record
	for i := range 20 {
		r := sample("risk", "R", i, start.Add(time.Duration(i)*time.Second))
		r["description"] = strings.Repeat("€", 20_000)
		records = append(records, r)
	}
	load(t, s.store, db.DefaultOrganisation, records)
	key := s.key(t, "read:risks")
	s.get(t, "/risks?limit=20", key)
	held, err := budget.Reserve(t.Context(), "another", 8<<20)
	if err != nil {
		t.Fatal(err)
	}
	s.ask(t, row{path: "/risks?limit=20", key: key, status: 503, code: "service_unavailable", has: []string{"Retry-After: 1\r"}})
	if text := s.log.String(); strings.Contains(text, "level=ERROR") {
		t.Errorf("anybody with a key can fill the log with errors:\n%s", text)
	}
	s.get(t, "/risks?limit=1", key)
	held.Release()
	s.get(t, "/risks?limit=20", key)
	if whole, err := budget.Reserve(t.Context(), "another", 14<<20); err != nil {
		t.Errorf("not all of the budget was given back: %v", err)
	} else {
		whole.Release()
	}
}

// TestResponseBudget_ReleasesUnread checks that memory is released when a client
// disconnects without reading its response.
func TestResponseBudget_ReleasesUnread(t *testing.T) {
	t.Parallel()
	budget := limit.NewBudget(64<<20, time.Minute)
	s := serveLarge(t, func(c *server.Config) { c.Responses, c.CacheBytes = budget, 0 })
	key := s.key(t, "read:risks")
	s.get(t, "/risks?limit=1", key)
	host := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/api/v1")
	var conns []net.Conn
	for range 30 {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", host)
		if err == nil {
			_ = conn.(*net.TCPConn).SetReadBuffer(4096)
			_, err = io.WriteString(conn, "GET /api/v1/risks?limit=100 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+key+"\r\n\r\n")
		}
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	for try := 0; try < 1000 && budget.Waiting() == 0; try++ {
		time.Sleep(10 * time.Millisecond)
	}
	if budget.Waiting() == 0 {
		t.Error("no response waits, although none is read")
	}
	other := s.key(t, "read:risks")
	s.get(t, "/risks?limit=30", other) // the maximum size of a page
	for _, conn := range conns {
		_ = conn.Close()
	}
	whole, err := budget.Reserve(t.Context(), "another", 56<<20)
	if err != nil {
		t.Errorf("not all of the budget was given back: %v", err)
	}
	whole.Release()
}
