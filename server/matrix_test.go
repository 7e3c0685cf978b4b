package server_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/internal/testkit"
	"govsvc/server"
	"govsvc/server/openapi"
	"govsvc/server/webhook"
)

// TestAuthorisationMatrix sends a request to every operation of the document and to
// every MCP tool. It uses a live and a test key with each scope, with no scope and with
// all scopes. It does so under each plan and in each state of the subscription, for
// records of the key's organisation and of others. The expected answers come from a
// separate table of rules in this test.
func TestAuthorisationMatrix(t *testing.T) {
	t.Parallel()
	m := newMatrix(t)
	sets := [][]string{nil, {"write:risks", "read:kpis", "read:scores"}, slices.Concat(readScopes, otherScopes)}
	for _, scope := range slices.Concat(readScopes, otherScopes) {
		sets = append(sets, []string{scope})
	}
	before := m.theirs(t)
	for plan := range plans {
		for _, subscription := range []db.Subscription{db.Active, db.PastDue, db.Canceled} {
			m.setPlan(t, plan, subscription)
			for _, scopes := range sets {
				m.callerState = callerState{scopes, plan, subscription}
				for _, kind := range []string{db.LiveKey, db.TestKey} {
					m.rescope(t, kind)
					m.every(t, kind)
				}
			}
		}
	}
	if after := m.theirs(t); after != before {
		t.Errorf("the other organisation changed from %s to %s", before, after)
	}
	t.Logf("%d requests, of which %d succeeded", m.asked, m.succeeded)
}

// matrix is a service with one key of each kind, which change their scopes.
type matrix struct {
	*service
	callerState
	file             *sql.DB
	keys             map[string]string // by kind
	org              db.Organisation
	foreign          map[string]string // first segment of a path → a record of another organisation
	asked, succeeded int
}

func newMatrix(t *testing.T) *matrix {
	t.Helper()
	s := serve(t, withSandbox(openSandbox(t)), func(c *server.Config) { c.Receivers = webhook.Simulator{} })
	m := &matrix{service: s, org: organisation(t, s.store, db.DefaultOrganisation), file: testkit.OpenSQL(t, s.store.File.Path()), keys: map[string]string{}}
	load(t, s.store, db.DefaultOrganisation, sampleOfEachType("OWN", start))
	load(t, s.store, "acme", sampleOfEachType("THEIRS", start))
	for _, kind := range []string{db.LiveKey, db.TestKey} {
		_, m.keys[kind] = s.mint(t, db.DefaultOrganisation, db.KeyDraft{Kind: kind, Scopes: []string{"read:all"}})
	}
	m.subscribe(t, db.DefaultOrganisation, "00000000-0000-7000-8000-000000000001")
	m.subscribe(t, "acme", "00000000-0000-7000-8000-000000000002")
	m.foreign = map[string]string{}
	for path, table := range tableOf {
		m.foreign[path] = m.idIn(t, table, organisation(t, s.store, "acme").Org)
	}
	return m
}

// tableOf is the table of the records that a path names by an id.
var tableOf = map[string]string{"risks": "risks", "incidents": "incidents", "vendor": "vendors", "webhooks": "webhook_subscriptions"}

func (m *matrix) idIn(t *testing.T, table string, org db.Org) string {
	t.Helper()
	return testkit.QuerySQL(t, m.store.File.Path(), fmt.Sprintf("SELECT id FROM %s WHERE org_id = %d ORDER BY seq DESC LIMIT 1", table, org))[0]
}

// rescope gives a key the scopes of a callerState. Users can't do this.
func (m *matrix) rescope(t *testing.T, kind string) {
	t.Helper()
	scopes, err := json.Marshal(append([]string{}, m.scopes...))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.file.ExecContext(t.Context(), "UPDATE api_keys SET scopes = ? WHERE prefix = ?", string(scopes), prefixOf(m.keys[kind])); err != nil {
		t.Fatal(err)
	}
}

// subscribe adds a subscription directly in the store, without the API.
func (m *matrix) subscribe(t *testing.T, org, id string) {
	t.Helper()
	err := m.store.Write(t.Context(), by(t, m.store, org), func(tx *db.Tx) error {
		_, _, err := tx.CreateSubscription(db.Record{"id": id, "url": "https://hook.example/"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// theirs returns everything that changes when the data of the other organisation
// changes.
func (m *matrix) theirs(t *testing.T) string {
	t.Helper()
	return strings.Join(testkit.QuerySQL(t, m.store.File.Path(),
		`SELECT json_array((SELECT count(*) FROM audit_events WHERE org_id = o.seq), (SELECT max(updated_at) FROM risks WHERE org_id = o.seq),
		(SELECT max(updated_at) FROM incidents WHERE org_id = o.seq), (SELECT max(updated_at) FROM vendors WHERE org_id = o.seq),
		(SELECT max(updated_at) FROM kpis WHERE org_id = o.seq), (SELECT active FROM webhook_subscriptions WHERE org_id = o.seq)) FROM organisations o WHERE name = 'acme'`), "\n")
}

// every sends a request to each operation and each tool.
func (m *matrix) every(t *testing.T, kind string) {
	t.Helper()
	operations := testkit.Document(t).Operations
	if len(operations) != len(permissions) {
		t.Fatalf("%d operations in the document, %d in the table", len(operations), len(permissions))
	}
	for _, op := range operations {
		r, known := permissions[op.Method+" "+op.Path]
		if !known {
			t.Fatalf("the table has no %s %s", op.Method, op.Path)
		}
		if !strings.Contains(op.Path, "{id}") {
			m.ask(t, op, r, kind, "", false)
			continue
		}
		own, others := m.records(t, op, r, kind)
		m.ask(t, op, r, kind, own, false)
		var answers []string
		for _, other := range others {
			answers = append(answers, m.ask(t, op, r, kind, other, true))
		}
		if len(slices.Compact(answers)) != 1 {
			t.Errorf("%s %s answers differently for a foreign and a missing record: %q", op.Method, op.Path, answers)
		}
	}
	if m.admission() != "" {
		return // POST /mcp was refused for every tool
	}
	for tool, read := range toolReads {
		m.call(t, tool, permissions[read], kind)
	}
}

// records returns a record that the key may access, and ids that it may not: of another
// organisation, of no record, of the other environment, and invalid ones.
func (m *matrix) records(t *testing.T, op *openapi.Operation, r permission, kind string) (own string, others []string) {
	t.Helper()
	path, sandbox := strings.Split(op.Path, "/")[1], recordOf[op.Path]
	others = []string{m.foreign[path]}
	if status, _ := m.expected(r, false); status != r.status {
		return sandbox, others // the operation has no id
	}
	if path == "webhooks" && kind == db.LiveKey {
		m.subscribe(t, db.DefaultOrganisation, fmt.Sprintf("00000000-0000-7000-9000-%012d", m.asked)) // the next request needs another id
	}
	others = append(others, "00000000-0000-7000-8000-00000000dead", "nonsense")
	live := m.idIn(t, tableOf[path], m.org.Org)
	if kind == db.TestKey {
		return sandbox, append(others, live)
	}
	return live, append(others, sandbox)
}

// ask sends one request and compares the answer with the rules. It returns the message
// of a refusal.
func (m *matrix) ask(t *testing.T, op *openapi.Operation, r permission, kind, id string, theirs bool) string {
	t.Helper()
	body := r.body
	if kind == db.TestKey && r.sandbox != "" {
		body = r.sandbox
	}
	if strings.Contains(body, "%s") {
		body = fmt.Sprintf(body, fmt.Sprint("vendor ", m.asked))
	}
	path := strings.Replace(op.Path, "{id}", id, 1)
	a := m.send(t, op.Method, path, body, kind)
	about := fmt.Sprintf("%s %s with a %s key of %v, plan %s, %s", op.Method, path, kind, m.scopes, m.plan, m.subscription)
	status, code := m.expected(r, theirs)
	got, param := a.fault()
	if a.status != status || got != code || param != "" {
		t.Errorf("%s: %d %s %s, want %d %s: %.300s", about, a.status, got, param, status, code, a.body)
		return ""
	}
	m.checkHeaders(t, about, a, r, kind)
	if status >= 400 {
		named := map[string]string{"insufficient_scope": r.scope, "tier_required": "(" + string(m.plan) + ")"}[code]
		if !strings.Contains(string(a.body), named) || strings.Contains(string(a.body), `"data"`) {
			t.Errorf("%s: %s", about, a.body)
		}
		return strings.ReplaceAll(string(a.body), a.header.Get("X-Request-Id"), "")
	}
	m.succeeded++
	if op.Response != nil {
		if _, faults := op.Response.Decode(a.body); len(faults) > 0 {
			t.Errorf("%s: %v: %.300s", about, faults, a.body)
		}
	}
	m.checkOwner(t, about, string(a.body), op, kind)
	return ""
}

// checkHeaders checks that the headers have the limits of the plan and the environment
// of the key.
func (m *matrix) checkHeaders(t *testing.T, about string, a answer, r permission, kind string) {
	t.Helper()
	faults := a.headerFaults()
	if limits := plans[m.plan]; !r.public && (a.header.Get("X-Ratelimit-Limit") != limits.minute || a.header.Get("X-Ratelimit-Limit-Day") != limits.day) {
		faults = append(faults, "the limits are not those of the plan")
	}
	if !r.public && a.header.Get("Service-Environment") != kind {
		faults = append(faults, "the environment is not that of the key")
	}
	if len(faults) > 0 {
		t.Errorf("%s: %v: %v", about, faults, a.header)
	}
}

// checkOwner checks that an answer shows only data of the key's organisation and
// environment.
func (m *matrix) checkOwner(t *testing.T, about, body string, op *openapi.Operation, kind string) {
	t.Helper()
	own, foreign := "OWN", []string{"THEIRS", "[SANDBOX]"}
	if kind == db.TestKey {
		own, foreign = "00000000-0000-0000-0000-", []string{"THEIRS", "OWN"}
	}
	// what the test itself adds fills the first page of the resources that it writes
	path := strings.Split(op.Path, "/")[1]
	if reads := op.Method == http.MethodGet && strings.HasPrefix(op.Scope, "read:") && path != "audit"; reads && tableOf[path] == "" && !strings.Contains(body, own) {
		t.Errorf("%s shows nothing that is %s: %.300s", about, own, body)
	}
	for _, mark := range foreign {
		if !op.Public && strings.Contains(body, mark) {
			t.Errorf("%s shows what is %s: %.300s", about, mark, body)
		}
	}
}

// call calls a tool. Data that the key may not read is a result with an error.
func (m *matrix) call(t *testing.T, tool string, r permission, kind string) {
	t.Helper()
	a := m.send(t, http.MethodPost, mcpPath, toolCall(tool, "{}"), kind)
	about := fmt.Sprintf("%s with a %s key of %v, plan %s, %s", tool, kind, m.scopes, m.plan, m.subscription)
	var response struct{ Result toolResult }
	if err := json.Unmarshal(a.body, &response); err != nil || a.status != 200 {
		t.Errorf("%s: %d %s", about, a.status, a.body)
		return
	}
	code, result := m.permit(r), response.Result
	if result.IsError != (code != "") || len(result.Content) != 1 || !strings.Contains(result.Content[0].Text, code) || result.IsError != (result.Structured == nil) {
		t.Errorf("%s: %.300s, want %q", about, a.body, code)
	}
	m.checkOwner(t, about, string(a.body), testkit.Document(t).Operation("callMcp"), kind)
}

// send sends a request to the handler, a second after the one before. No limit of a
// plan is therefore reached.
func (m *matrix) send(t *testing.T, method, path, body, kind string) answer {
	t.Helper()
	m.clock.Advance(time.Second)
	m.asked++
	r := httptest.NewRequestWithContext(t.Context(), method, server.Base+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+m.keys[kind])
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", fmt.Sprint("matrix ", m.asked))
	w := httptest.NewRecorder()
	m.server.ServeHTTP(w, r)
	header := http.Header{}
	for name, values := range w.Header() {
		header[http.CanonicalHeaderKey(name)] = values // as a client reads it
	}
	return answer{status: w.Code, header: header, body: w.Body.Bytes(), sent: w.Body.Bytes()}
}
