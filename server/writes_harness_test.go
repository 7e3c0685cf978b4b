package server_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/internal/testkit"
	"govsvc/server/openapi"
)

// write is one test of a write: a request and the expected response.
type write struct {
	name           string
	method         string // POST by default
	path           string
	body           string
	key            string            // the credential; the default is the key of the service
	idempotencyKey string            // the Idempotency-Key; a new one by default
	header         map[string]string // further headers; "" removes one
	stream         bool              // without Content-Length

	status      int // 200 by default
	code, param string
	replayed    bool
	has, not    []string
}

// writeService is a service with a key that may write everything.
type writeService struct {
	*service
	path string  // of the data file
	file *sql.DB // the data file, read without the store
	key  string
}

// writeScopes are the scopes of the writes under test.
var writeScopes = []string{"write:risks", "write:incidents", "write:kpis", "write:vendor"}

func serveWrites(t testing.TB, settings ...setting) *writeService {
	t.Helper()
	path, keys := writeFile.Copy(t)
	return writeServiceOf(t, serveFile(t, path, testkit.NewClock(start), settings...), keys)
}

// writeServiceOf returns a service over a write file with these keys. Its key is in the
// cache of the server.
func writeServiceOf(t testing.TB, s *service, keys keysByKind) *writeService {
	t.Helper()
	s.spare = maps.Clone(keys)
	key := s.spare[db.LiveKey][0]
	s.spare[db.LiveKey] = s.spare[db.LiveKey][1:]
	s.server.Verified(key, findKey(t, s.store, key).ID)
	path := s.store.File.Path()
	return &writeService{s, path, testkit.OpenSQL(t, path), key}
}

// keysUsed makes the Idempotency-Keys of tests that don't choose one.
var keysUsed atomic.Int64

// request makes the request of a write.
func (d *writeService) request(t testing.TB, w write) *http.Request {
	t.Helper()
	var body io.Reader = strings.NewReader(w.body)
	if w.stream {
		body = io.MultiReader(body) // hides its length
	}
	r, err := http.NewRequestWithContext(t.Context(), w.verb(), d.url+w.path, body)
	if err != nil {
		t.Fatal(err)
	}
	key, once := w.key, w.idempotencyKey
	if key == "" {
		key = d.key
	}
	if once == "" {
		once = fmt.Sprintf("fresh %d", keysUsed.Add(1))
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", once)
	for name, value := range w.header {
		r.Header.Set(name, value)
		if value == "" {
			r.Header.Del(name)
		}
	}
	return r
}

func (w write) verb() string {
	if w.method == "" {
		return http.MethodPost
	}
	return w.method
}

func (w write) about() string {
	body := w.body
	if len(body) > 200 {
		body = fmt.Sprintf("%s… (%d bytes)", body[:200], len(body))
	}
	return strings.TrimSpace(w.name + " " + w.verb() + " " + w.path + " " + body)
}

// send sends a write and makes the checks that apply to every response.
func (d *writeService) send(t testing.TB, w write) answer {
	t.Helper()
	a := exchange(t, d.request(t, w))
	faults := a.headerFaults()
	if a.status >= 400 {
		faults = append(faults, a.errorFaults(t)...)
	} else if op := writeOperation(t, w); op == nil {
		faults = append(faults, "the document has no such operation")
	} else {
		value, broken := op.Response.Decode(a.body)
		for _, b := range broken {
			faults = append(faults, "response schema: "+b.Message)
		}
		faults = append(faults, extraMembers(t, op, value)...)
	}
	for _, fault := range faults {
		t.Errorf("%s: %s\n%v\n%.300s", w.about(), fault, a.header, a.body)
	}
	return a
}

func writeOperation(t testing.TB, w write) *openapi.Operation {
	t.Helper()
	path, _, _ := strings.Cut(w.path, "?")
	if w.verb() == http.MethodPatch {
		path = path[:strings.LastIndex(path, "/")] + "/{id}"
	}
	for _, op := range testkit.Document(t).Operations {
		if op.Path == path && op.Method == w.verb() {
			return op
		}
	}
	return nil
}

// do sends a write, checks the response and returns the record in it.
func (d *writeService) do(t testing.TB, w write) db.Record {
	t.Helper()
	return d.check(t, w, d.send(t, w))
}

func (d *writeService) check(t testing.TB, w write, a answer) db.Record {
	t.Helper()
	if want := max(w.status, 200); a.status != want {
		t.Errorf("%s: status %d, want %d: %.400s", w.about(), a.status, want, a.body)
		return nil
	}
	if code, param := a.fault(); code != w.code || param != w.param {
		t.Errorf("%s: code %q of param %q, want %q of %q: %.400s", w.about(), code, param, w.code, w.param, a.body)
	}
	want := ""
	if w.replayed {
		want = "true"
	}
	if got := a.header.Get("Idempotency-Replayed"); got != want {
		t.Errorf("%s: Idempotency-Replayed %q, want %q", w.about(), got, want)
	}
	for _, text := range w.has {
		if !strings.Contains(a.text(), text) {
			t.Errorf("%s: %q is missing in %.2000s", w.about(), text, a.text())
		}
	}
	for _, text := range w.not {
		if a.shows(text) {
			t.Errorf("%s: %q must not appear in %.2000s", w.about(), text, a.text())
		}
	}
	return a.record()
}

// record returns the data of a response with one object, or nil.
func (a answer) record() db.Record {
	var envelope struct{ Data db.Record }
	decoder := json.NewDecoder(strings.NewReader(string(a.body)))
	decoder.UseNumber()
	if decoder.Decode(&envelope) != nil {
		return nil
	}
	return envelope.Data
}

// id creates a record and returns its id.
func (d *writeService) id(t testing.TB, path, body string) string {
	t.Helper()
	id, _ := d.do(t, write{path: path, body: body, status: 201})["id"].(string)
	if id == "" {
		t.Fatalf("POST %s %s gave no id", path, body)
	}
	return id
}

// query returns the result of a query as text. Each row is a line, with | between the
// columns.
func (d *writeService) query(t testing.TB, query string, args ...any) string {
	t.Helper()
	rows, err := d.file.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for rows.Next() {
		into, texts := make([]any, len(columns)), make([]string, len(columns))
		for i := range into {
			into[i] = new(any)
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for i := range into {
			texts[i] = fmt.Sprint(*into[i].(*any))
		}
		lines = append(lines, strings.Join(texts, "|"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// checkRows compares the result of a query with lines.
func (d *writeService) checkRows(t testing.TB, about, query string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(strings.Join(want, "\n"), d.query(t, query)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", about, diff)
	}
}

// subscribe makes an active subscription to types of events, given as JSON.
func (d *writeService) subscribe(t testing.TB, types string) {
	t.Helper()
	if _, err := d.file.ExecContext(t.Context(), `INSERT INTO webhook_subscriptions (org_id, id, url, event_types, created_via, secret, created_at, updated_at)
		VALUES (1, ?1, 'https://hook.example', ?1, 'api', 's', '', '')`, types); err != nil {
		t.Fatal(err)
	}
}

// tableCounts selects the number of rows of each table that a write can change, and the
// last change of each resource. A refused write must leave the result unchanged.
const tableCounts = `SELECT (SELECT count(*) FROM risks), (SELECT count(*) FROM incidents), (SELECT count(*) FROM incident_timeline),
	(SELECT count(*) FROM kpi_checkins), (SELECT count(*) FROM vendors), (SELECT count(*) FROM audit_events), (SELECT count(*) FROM events),
	(SELECT count(*) FROM deliveries), (SELECT count(*) FROM fan_outs), (SELECT count(*) FROM idempotency_records), (SELECT count(*) FROM severity_evidence),
	(SELECT last_risk_number FROM organisations WHERE name = 'default'), (SELECT max(updated_at) FROM kpis), (SELECT max(updated_at) FROM risks),
	(SELECT max(updated_at) FROM incidents), (SELECT max(updated_at) FROM vendors)`

// checkUnchanged runs a function that must change nothing in the file.
func (d *writeService) checkUnchanged(t testing.TB, run func()) {
	t.Helper()
	before := d.query(t, tableCounts)
	run()
	if after := d.query(t, tableCounts); after != before {
		t.Errorf("the file changed from %s to %s", before, after)
	}
}

// verifyAudit verifies the audit chain of an organisation.
func (d *writeService) verifyAudit(t testing.TB, org string) {
	t.Helper()
	if n, broken, err := d.store.Audit.Verify(t.Context(), organisation(t, d.store, org).Org); err != nil || broken != nil {
		t.Errorf("audit log: %d intact, then %v, %v", n, broken, err)
	}
}

// Valid bodies.
const (
	goodRisk     = `{"title":"T","description":"A description of enough length.","severity":"HIGH","likelihood":"LIKELY"}`
	goodIncident = `{"title":"T"}`
	goodVendor   = `{"vendor_key":"%s","vendor_name":"N","category":"C","initial_risk_band":"LOW"}`
	goodReason   = `"A reason of at least 20 characters"`
)

func vendorBody(key string) string { return fmt.Sprintf(goodVendor, key) }
