package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/internal/testkit/testdb"
)

// mostOfPage is the maximum size of a page: 4 MB of records, and the envelope.
const mostOfPage = db.PageBytes + 1024

// largeFile has 100 risks of about 60 KB, one risk of 5 MB among them, and audit events of
// 120 KB, one of 5 MB among them.
var largeFile = testdb.NewTemplate(testdb.Options(""), func(ctx context.Context, store *db.DB) (keysByKind, error) {
	var records []db.Record
	for i := range 100 {
		r := sample("risk", fmt.Sprintf("R%03d", i), i, start.Add(time.Duration(i)*time.Second))
		size := 20_000
		if i == 50 {
			size = 5 << 20 / 3
		}
		r["description"] = strings.Repeat("€", size)
		records = append(records, r)
	}
	keys, err := fillFile(ctx, store, records, spareKeys())
	if err != nil {
		return nil, err
	}
	org, err := store.Orgs.ByName(ctx, db.DefaultOrganisation)
	if err != nil {
		return nil, err
	}
	return keys, store.Write(ctx, db.Actor{Org: org.Org, ID: "system"}, func(tx *db.Tx) error {
		for i := range 60 {
			size := 40_000
			if i == 30 {
				size = 5 << 20 / 3
			}
			if err := tx.Audit(audit.Event{Action: fmt.Sprintf("e%02d", i), Category: audit.System, Metadata: audit.Metadata{"text": strings.Repeat("€", size)}}); err != nil {
				return err
			}
		}
		return nil
	})
})

// serveLarge starts a service over a copy of largeFile.
func serveLarge(t *testing.T, settings ...setting) *service {
	t.Helper()
	return serveCopy(t, largeFile, settings)
}

// TestPageSize_BoundsLists reads lists whose pages would be larger than 4 MB. Every
// record is returned once and in order. A page is only larger if it has a single
// record, and no page is empty.
func TestPageSize_BoundsLists(t *testing.T) {
	t.Parallel()
	s := serveLarge(t)
	key := s.key(t, "read:all", "read:audit")
	until := "&until=" + url.QueryEscape(stored(start.Add(time.Hour)))
	s.clock.Advance(2 * time.Hour) // so that the list excludes the pulls of this test
	for _, row := range []struct{ path, member string }{
		{"/risks?", "risk_id"},
		{"/risks?updated_since=2020-01-01&", "risk_id"},
		{"/risks?severity=HIGH&", "risk_id"},
		{"/audit?x" + until, "id"},
	} {
		path := strings.Replace(row.path, "?x&", "?", 1)
		if !strings.HasSuffix(path, "&") && !strings.HasSuffix(path, "?") {
			path += "&"
		}
		walk := func(limit int) (all []string, pages int) {
			cursor := ""
			for range 200 {
				a := s.get(t, fmt.Sprintf("%slimit=%d%s", path, limit, cursor), key)
				p := a.page(t)
				if len(a.body) > mostOfPage && len(p.Data) > 1 || len(p.Data) == 0 && p.HasMore {
					t.Errorf("%s: a page of %d records and %d bytes, more %v", path, len(p.Data), len(a.body), p.HasMore)
				}
				all, pages = append(all, p.values(row.member)...), pages+1
				if !p.HasMore {
					break
				}
				cursor = "&cursor=" + p.next()
			}
			return all, pages
		}
		want, _ := walk(7)
		got, pages := walk(100)
		if diff := cmp.Diff(want, got); diff != "" || len(got) < 60 || pages < 3 || pages > 6 {
			t.Errorf("%s: %d records on %d pages (-by seven +by a hundred):\n%s", path, len(got), pages, diff)
		}
	}
}

// TestPageSize_BoundsNDJSON checks the same for NDJSON, which has the cursor in a header.
func TestPageSize_BoundsNDJSON(t *testing.T) {
	t.Parallel()
	s := serveLarge(t)
	key := s.key(t, "read:audit")
	until := "&until=" + url.QueryEscape(stored(start.Add(time.Hour)))
	s.clock.Advance(2 * time.Hour)
	var got []string
	for cursor, i := "", 0; i < 10; i++ {
		a := s.get(t, "/audit?format=ndjson&limit=1000"+until+cursor, key)
		if len(a.body) == 0 {
			break
		}
		if lines := bytes.Count(a.body, []byte("\n")); len(a.body) > mostOfPage && lines > 1 {
			t.Errorf("a page of %d lines and %d bytes", lines, len(a.body))
		}
		for line := range bytes.Lines(a.body) {
			var event struct{ Action string }
			if err := json.Unmarshal(line, &event); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(event.Action, "e") {
				got = append(got, event.Action)
			}
		}
		cursor = "&cursor=" + a.header.Get("X-Next-Cursor")
	}
	for i, action := range got {
		if want := fmt.Sprintf("e%02d", i); action != want {
			t.Fatalf("event %d is %s, want %s", i, action, want)
		}
	}
	if len(got) != 60 {
		t.Errorf("%d events, want 60", len(got))
	}
}

// TestPageSize_BoundsToolResults checks that the result of a tool, which contains its page
// twice, is not larger than a page of the API.
func TestPageSize_BoundsToolResults(t *testing.T) {
	t.Parallel()
	s := &mcpService{serveLarge(t)}
	key := s.key(t, "read:all")
	seen := map[string]int{}
	for cursor, i := "", 0; i < 20; i++ {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_risks","arguments":{"limit":100` + cursor + `}}}`
		text := s.post(t, key, body, "Accept: application/json, text/event-stream").body
		var got struct {
			Result struct{ StructuredContent page }
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		p := got.Result.StructuredContent
		if len(text) > mostOfPage && len(p.Data) > 1 || len(p.Data) == 0 {
			t.Errorf("a result of %d records and %d bytes", len(p.Data), len(text))
		}
		for _, id := range p.values("risk_id") {
			seen[id]++
		}
		if !p.HasMore {
			break
		}
		cursor = `,"cursor":"` + p.next() + `"`
	}
	for id, times := range seen {
		if times != 1 {
			t.Errorf("%s came %d times", id, times)
		}
	}
	if len(seen) != 100 {
		t.Errorf("%d risks, want 100", len(seen))
	}
}

// TestRequestsInProgress_LimitedPerKey checks that a key can have 256 requests in
// progress. A further request is refused until one of them ends. Other keys are not
// affected.
func TestRequestsInProgress_LimitedPerKey(t *testing.T) {
	t.Parallel()
	s := serve(t)
	key, other := s.key(t, "read:risks", "write:risks"), s.key(t, "read:risks")
	s.get(t, "/risks", key) // the first one hashes the key
	host := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/api/v1")
	begin := func() net.Conn {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", host)
		if err == nil {
			_, err = io.WriteString(conn, "POST /api/v1/risks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+key+
				"\r\nContent-Type: application/json\r\nIdempotency-Key: k\r\nContent-Length: 1000\r\n\r\n")
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	var conns []net.Conn
	for range 255 {
		conns = append(conns, begin())
	}
	s.clock.Advance(time.Minute)
	s.get(t, "/risks", key) // at most the 256th
	conns = append(conns, begin())
	refused := row{path: "/risks", key: key, status: 429, code: "rate_limit_exceeded", has: []string{"Retry-After: 1\r"}}
	status := 0
	for try := 0; try < 500 && status != 429; try++ { // until all requests are in progress
		status = s.send(t, row{path: "/risks", key: key}).status
		time.Sleep(10 * time.Millisecond)
	}
	s.ask(t, refused)
	s.get(t, "/risks", other)
	for _, conn := range conns {
		_ = conn.Close()
	}
	for try := 0; try < 500 && status != 200; try++ {
		status = s.send(t, row{path: "/risks", key: key}).status
		time.Sleep(10 * time.Millisecond)
	}
	s.get(t, "/risks", key)
}
