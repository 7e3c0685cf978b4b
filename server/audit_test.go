package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/audit"
)

// addEvents appends events to the log of an organisation, an hour apart.
func addEvents(t testing.TB, s *service, org string, actions ...string) {
	t.Helper()
	for _, action := range actions {
		err := s.store.Write(t.Context(), by(t, s.store, org), func(tx *db.Tx) error {
			return tx.Audit(audit.Event{Action: action, Category: audit.DataChange, Severity: audit.SeverityWrite})
		})
		if err != nil {
			t.Fatal(err)
		}
		s.clock.Advance(time.Hour)
	}
}

// auditKey makes an organisation, a key of it and a log of events e0 to e(n-1). The
// events are an hour apart from start on. The organisation was made a day before start.
func auditKey(t testing.TB, s *service, name string, n int) (id, key string) {
	t.Helper()
	s.clock.Advance(-24 * time.Hour)
	organisation(t, s.store, name)
	made, key := s.mint(t, name, db.KeyDraft{Scopes: []string{"read:audit"}, PerMinute: new(10_000)})
	s.clock.Advance(24 * time.Hour)
	for i := range n {
		addEvents(t, s, name, fmt.Sprintf("e%d", i))
	}
	return made.ID, key
}

// TestAudit_Pages reads the log oldest first, page by page, and then polls.
func TestAudit_Pages(t *testing.T) {
	t.Parallel()
	s := serve(t)
	id, key := auditKey(t, s, "acme", 5)
	first := s.get(t, "/audit?limit=4", key)
	second := s.get(t, "/audit?limit=4&cursor="+first.page(t).next(), key)
	third := s.get(t, "/audit?cursor="+second.page(t).next(), key)
	for i, want := range []struct {
		page    page
		actions []string
		more    bool
	}{
		{first.page(t), []string{"organisation.created", "e0", "e1", "e2"}, true},
		{second.page(t), []string{"e3", "e4", "api.read.audit"}, false},
		{third.page(t), []string{"api.read.audit"}, false},
	} {
		if diff := cmp.Diff(want.actions, want.page.values("action")); diff != "" || want.page.HasMore != want.more || want.page.next() == "" {
			t.Errorf("page %d: more %v, next %q (-want +got):\n%s", i, want.page.HasMore, want.page.next(), diff)
		}
	}
	// each pull is in the next page, with the request that made it
	for _, pull := range []struct{ of, in answer }{{first, second}, {second, third}} {
		rows := pull.in.page(t).Data
		event := rows[len(rows)-1]
		metadata, _ := event["metadata"].(map[string]any)
		if event["actor"] != "key:"+id || event["category"] != "data_access" || fmt.Sprint(event["severity"]) != "1" ||
			event["resource_type"] != nil || metadata["request_id"] != pull.of.header.Get("X-Request-Id") {
			t.Errorf("the pull is audited as %v", event)
		}
	}
}

// TestAudit_Cursor checks that the cursor is null only before the first event was
// returned. An empty page returns the cursor of its request.
func TestAudit_Cursor(t *testing.T) {
	t.Parallel()
	s := serve(t)
	_, key := auditKey(t, s, "acme", 3)
	ages := "&until=" + stored(start.AddDate(-1, 0, 0))
	if p := s.get(t, "/audit?limit=5"+ages, key).page(t); p.NextCursor != nil || len(p.Data) != 0 || p.HasMore {
		t.Errorf("before the first event: %v", p)
	}
	a := s.get(t, "/audit?format=ndjson"+ages, key)
	if len(a.body) != 0 || len(a.header.Values("X-Next-Cursor")) != 0 {
		t.Errorf("before the first event: %q, %v", a.body, a.header)
	}
	cursor := s.get(t, "/audit?limit=2", key).page(t).next()
	for range 2 {
		if p := s.get(t, "/audit?cursor="+cursor+ages, key).page(t); p.next() != cursor || len(p.Data) != 0 || p.HasMore {
			t.Errorf("an empty page: %v, want cursor %s", p, cursor)
		}
		if a := s.get(t, "/audit?format=ndjson&cursor="+cursor+ages, key); len(a.body) != 0 || a.header.Get("X-Next-Cursor") != cursor {
			t.Errorf("an empty page: %q, %v", a.body, a.header)
		}
	}
	// polled one by one, the log comes once and in order
	var seen []string
	for cursor, i := "", 0; i < 12; i++ {
		p := s.get(t, "/audit?limit=1"+cursor, key).page(t)
		seen = append(seen, p.values("id")...)
		cursor = "&cursor=" + p.next()
	}
	want := s.get(t, "/audit?limit=12", key).page(t).values("id")
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("polled one by one (-want +got):\n%s", diff)
	}
}

// TestAudit_SinceAndUntil asks for times: since is inclusive and ignored after a
// cursor, until is exclusive.
func TestAudit_SinceAndUntil(t *testing.T) {
	t.Parallel()
	s := serve(t)
	_, key := auditKey(t, s, "acme", 4) // e0 at 12:00 … e3 at 15:00
	afterFirst := s.get(t, "/audit?limit=2", key).page(t).next()
	at := func(hour int, more time.Duration) string {
		return url.QueryEscape(stored(start.Add(time.Duration(hour)*time.Hour + more)))
	}
	until := "&until=" + at(4, 0) // before the pulls of this test
	for query, want := range map[string]string{
		"since=" + at(0, 0) + until:                           "e0 e1 e2 e3",
		"since=" + at(0, time.Millisecond) + until:            "e1 e2 e3",
		"since=" + at(3, 0) + until:                           "e3",
		"since=" + at(3, time.Millisecond) + until:            "",
		"since=2026-10-01" + until:                            "e0 e1 e2 e3",
		"since=2026-10-02" + until:                            "",
		"since=2026-10-01T14%3A00%3A00%2B02%3A00" + until:     "e0 e1 e2 e3",
		"since=" + at(1, 0) + "&until=" + at(2, 0):            "e1",
		"since=" + at(1, 0) + "&until=" + at(1, 0):            "",
		"since=" + at(2, 0) + "&until=" + at(1, 0):            "",
		"since=" + at(1, 0) + "&until=" + at(2, 1e6):          "e1 e2",
		"until=2026-10-01":                                    "organisation.created",
		"cursor=" + afterFirst + until:                        "e1 e2 e3",
		"cursor=" + afterFirst + "&since=" + at(3, 0) + until: "e1 e2 e3",
		"cursor=" + afterFirst + "&until=" + at(1, 1e6):       "e1",
		"limit=1&since=" + at(2, 0):                           "e2",
	} {
		got := strings.Join(s.get(t, "/audit?"+query, key).page(t).values("action"), " ")
		if got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// TestAudit_NDJSON reads the log as NDJSON. The events are the same, one on each line.
func TestAudit_NDJSON(t *testing.T) {
	t.Parallel()
	s := serve(t)
	_, key := auditKey(t, s, "acme", 6)
	list := s.get(t, "/audit?limit=5", key)
	lines := s.get(t, "/audit?limit=5&format=ndjson", key)
	var events []json.RawMessage
	for line := range bytes.Lines(lines.body) {
		events = append(events, bytes.TrimSuffix(line, []byte("\n")))
	}
	var envelope struct{ Data []json.RawMessage }
	if err := json.Unmarshal(list.body, &envelope); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fmt.Sprintf("%s", envelope.Data), fmt.Sprintf("%s", events)); diff != "" {
		t.Errorf("lines (-json +ndjson):\n%s", diff)
	}
	if got := lines.header.Get("X-Next-Cursor"); got != list.page(t).next() || lines.header.Get("Content-Type") != "application/x-ndjson" {
		t.Errorf("X-Next-Cursor %q, want %q; %v", got, list.page(t).next(), lines.header)
	}
	if list.header.Get("X-Next-Cursor") != "" {
		t.Error("X-Next-Cursor belongs to ndjson")
	}
	next := s.get(t, "/audit?limit=5&format=ndjson&cursor="+lines.header.Get("X-Next-Cursor"), key)
	if n := bytes.Count(next.body, []byte("\n")); n != 4 {
		t.Errorf("%d lines, want the other 4", n)
	}
}

// TestAudit_PageSize checks that a page has 100 events by default and at most 1000.
func TestAudit_PageSize(t *testing.T) {
	t.Parallel()
	s := serve(t)
	_, key := auditKey(t, s, "acme", 0)
	err := s.store.Write(t.Context(), by(t, s.store, "acme"), func(tx *db.Tx) error {
		for range 1200 {
			if err := tx.Audit(audit.Event{Action: "e", Category: audit.System}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]int{"": 100, "?limit=1": 1, "?limit=101": 101, "?limit=1000": 1000} {
		if p := s.get(t, "/audit"+query, key).page(t); len(p.Data) != want || !p.HasMore {
			t.Errorf("%s: %d events, more %v", query, len(p.Data), p.HasMore)
		}
	}
	s.ask(t, row{path: "/audit?limit=1001", key: key, status: 400, code: "invalid_parameter", param: "limit"})
}

// TestAudit_OrderAfterClockIsSetBack checks that the times stay in order although the
// clock is set back.
func TestAudit_OrderAfterClockIsSetBack(t *testing.T) {
	t.Parallel()
	s := serve(t)
	_, key := auditKey(t, s, "acme", 2)
	s.clock.Advance(-48 * time.Hour)
	addEvents(t, s, "acme", "back", "on")
	p := s.get(t, "/audit?since="+stored(start), key).page(t)
	if diff := cmp.Diff([]string{"e0", "e1", "back", "on"}, p.values("action")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	times := p.values("time")
	for i := range times[1:] {
		if times[i+1] < times[i] {
			t.Errorf("%s comes after %s", times[i+1], times[i])
		}
	}
}

// TestAudit_RefusesUnauditedRead checks that a read of the audit log is refused while the
// file can't be written. Other reads continue.
func TestAudit_RefusesUnauditedRead(t *testing.T) {
	t.Parallel()
	s := serveWaiting(t)
	key := s.key(t, "read:audit", "read:risks")
	s.get(t, "/audit", key)
	release := lock(t, s.store.File.Path())
	s.ask(t, row{path: "/audit", key: key, status: 503, code: "service_unavailable", not: []string{"key.minted", "locked", "SQL"}})
	s.get(t, "/risks", key)
	release()
	p := s.get(t, "/audit", key).page(t)
	if got := strings.Join(p.values("action"), " "); strings.Count(got, "api.read.audit") != 1 {
		t.Errorf("the refused pull left %s", got)
	}
}
