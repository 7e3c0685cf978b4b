package db_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// auditEvent has the members of an audit event that a search can filter.
type auditEvent struct {
	ID, Time, Actor, Action string
	ResourceType            *string `json:"resource_type"`
	ResourceID              *string `json:"resource_id"`
}

func decodeEvents(t testing.TB, events [][]byte) []auditEvent {
	t.Helper()
	list := make([]auditEvent, len(events))
	for i, text := range events {
		if err := json.Unmarshal(text, &list[i]); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// TestAudit_Search compares searches with a scan of all events.
func TestAudit_Search(t *testing.T) {
	t.Parallel()
	store := newStore(t)
	org := testdb.DefaultOrg(t, store)
	actors := []string{"system", "key:1", "key:11", `o"bert\`, "zoë<b>"}
	for i := range 60 {
		by := db.Actor{Org: org.Org, ID: actors[i%5], API: i%3 == 0}
		err := store.Write(t.Context(), by, func(tx *db.Tx) error {
			if i%7 == 0 { // its metadata looks like another event
				return tx.Audit(audit.Event{
					Action: "import.completed", Category: audit.DataChange, Severity: audit.SeverityWrite,
					Metadata: audit.Metadata{"actor": "key:1", "action": "risk.updated", "resource_type": "risk"},
				})
			}
			object := []string{"risk", "vendor"}[i%2]
			return tx.AuditChange(object, []string{"created", "updated"}[i%4/2], fmt.Sprint("id", i%6), audit.Changes{})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	other, err := store.Orgs.Create(t.Context(), db.Actor{Org: org.Org, ID: "system"}, "other", db.Enterprise)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Write(t.Context(), db.Actor{Org: other.Org, ID: "system"}, func(tx *db.Tx) error {
		return tx.AuditChange("risk", "created", "id1", audit.Changes{})
	}); err != nil {
		t.Fatal(err)
	}
	page, err := store.Audit.Events(t.Context(), org, db.AuditQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	log := decodeEvents(t, page.Events)
	slices.Reverse(log)
	is := func(s *string, want string) bool { return want == "" || s != nil && *s == want }
	for _, q := range []db.AuditSearch{
		{},
		{Actor: "system"},
		{Actor: "key:1"},
		{Actor: `o"bert\`},
		{Actor: "zoë<b>"},
		{Actor: "unknown"},
		{Action: "risk.updated"},
		{Action: "risk"},
		{ActionPrefix: "risk."},
		{ActionPrefix: "api.write."},
		{ActionPrefix: "a"},
		{ResourceType: "risk"},
		{ResourceID: "id1"},
		{ResourceID: "id1", ResourceType: "risk"},
		{ResourceID: "id2", ActionPrefix: "api.", Actor: "key:11"},
		{Actor: "key:1", ActionPrefix: "vendor.", ResourceType: "vendor"},
		{Since: log[0].Time},
		{Until: log[0].Time},
		{Since: "2026-10-02", ResourceID: "id1"},
		{Since: "2026-09-30", Until: "2026-10-02", Actor: "system"},
	} {
		var want []auditEvent
		for _, e := range log {
			if (q.Actor == "" || e.Actor == q.Actor) && (q.Action == "" || e.Action == q.Action) && strings.HasPrefix(e.Action, q.ActionPrefix) &&
				is(e.ResourceType, q.ResourceType) && is(e.ResourceID, q.ResourceID) && e.Time >= q.Since && (q.Until == "" || e.Time < q.Until) {
				want = append(want, e)
			}
		}
		var got []auditEvent
		for q.Limit = 7; ; {
			page, err := store.Audit.Search(t.Context(), org, q)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, decodeEvents(t, page.Events)...)
			if page.SearchedTo != "" {
				t.Errorf("%+v: got SearchedTo %s, want a search of the whole log", q, page.SearchedTo)
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", q, diff)
		}
	}
	for _, cursor := range []string{"x", page.Next} {
		if _, err := store.Audit.Search(t.Context(), org, db.AuditSearch{Limit: 7, Cursor: cursor}); !db.Is(err, db.InvalidCursor) {
			t.Errorf("cursor %q: got %v, want InvalidCursor", cursor, err)
		}
	}
}

// TestAudit_SearchBounded checks that a page reads a limited number of events and returns
// the time up to which it searched. The next page continues there.
func TestAudit_SearchBounded(t *testing.T) {
	t.Parallel()
	path := testdb.EmptyFile(t)
	store := open(t, path)
	org := testdb.DefaultOrg(t, store)
	const n = 60_000
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	testkit.ExecSQL(t, path, fmt.Sprintf(`INSERT INTO audit_events (org_id, event, hash)
		WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		SELECT 1, json_object('id', i, 'time', strftime('%%Y-%%m-%%dT%%H:%%M:%%S.000Z', %d + i, 'unixepoch'),
			'actor', iif(i IN (5, 59000), 'ada', 'bob')), zeroblob(32) FROM n`, n, start.Unix()))
	var found, searched []string
	for q := (db.AuditSearch{Actor: "ada", Limit: 10}); ; {
		page, err := store.Audit.Search(t.Context(), org, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range page.Events {
			found = append(found, strings.Split(string(event), ",")[0])
		}
		searched = append(searched, page.SearchedTo)
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	if diff := gocmp.Diff([]string{`{"id":59000`, `{"id":5`}, found); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	timeOf := func(i int) string { return db.Timestamp(start.Add(time.Duration(i) * time.Second)) }
	if diff := gocmp.Diff([]string{timeOf(n - 50_000 + 1), ""}, searched); diff != "" {
		t.Errorf("searched to (-want +got):\n%s", diff)
	}
}
