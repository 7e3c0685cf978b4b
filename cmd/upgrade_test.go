package cmd_test

import (
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// These credentials are in the file of an older version.
const (
	olderKey      = "gov_live_writer-0123456789abcdefgh"
	olderSpentKey = "gov_live_spent0-0123456789abcdefgh"
	olderSecret   = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	olderRisk     = `{"title":"Drift","description":"The model drifts away from its data.","severity":"HIGH","likelihood":"LIKELY"}`
)

// olderFile has what a test needs of a file of schema version 16 with rows in
// every table.
type olderFile struct {
	pack, packID string // a filed evidence pack
	answer       string // to the POST of olderRisk, with the Idempotency-Key older
	session      string // the token of a session
}

// newUsedFile makes the data file one of schema version 16 with rows in every
// table. The rows with hashes come from a file of this version.
func newUsedFile(c *cli, receiver string) (f olderFile) {
	c.t.Helper()
	source := newCLI(c.t)
	source.addUser("ann", "admin")
	for name, key := range map[string]string{"writer": olderKey, "spent": olderSpentKey} {
		if o := source.runOn(key, "keys", "import", "--name", name, "--scope", "read:all,write:risks"); o.status != 0 {
			c.t.Fatal(o.stderr)
		}
	}
	out := filepath.Join(source.dir, "pack.zip")
	source.must("evidence", "file", "--title", "Q3", "--attach", source.file("note.txt", strings.Repeat("note", 100_000)), "--out", out)
	f.pack, f.packID = source.read(out), runJSON[[]struct{ ID string }](source, "evidence", "list")[0].ID
	s := source.serve()
	f.answer = source.post(s.url+"/api/v1/risks", olderKey, "older", olderRisk)
	s.end()

	f.session = base64.RawURLEncoding.EncodeToString(make([]byte, 32))
	useVersion16(c)
	now := time.Now().UTC()
	at := func(ago time.Duration) string { return now.Add(-ago).Format("2006-01-02T15:04:05.000Z") }
	c.alter(
		fmt.Sprintf("ATTACH '%s' AS source", source.env["GOVSVC_DB"]),
		`INSERT INTO users (id, name, name_key, role, salt, password_hash, created_at, updated_at)
			SELECT id, name, name_key, (SELECT role FROM source.memberships WHERE user_seq = users.seq), salt, password_hash, created_at, updated_at FROM source.users`,
		"INSERT INTO recovery_codes (user_seq, hash) VALUES (1, zeroblob(32))",
		fmt.Sprintf(`INSERT INTO sessions (token_hash, user_seq, org_id, created_at, seen_at, expires_at)
			VALUES (x'%x', 1, 1, '%s', '%s', '%s')`, sha256.Sum256([]byte(f.session)), at(time.Hour), at(0), at(-10*time.Hour)),
		`INSERT INTO api_keys (org_id, id, name, kind, prefix, salt, hash, scopes, per_day, created_at)
			SELECT 1, id, name, kind, prefix, salt, hash, scopes, iif(name = 'spent', 5, NULL), created_at FROM source.api_keys`,
		fmt.Sprintf("INSERT INTO key_scope_uses VALUES (1, 'read:all', '%s')", at(time.Hour)),
		fmt.Sprintf("INSERT INTO limiter_counts SELECT id, %d, 5 FROM api_keys WHERE name = 'spent'", now.Add(-time.Hour).Unix()/300*300),
		`INSERT INTO evidence_packs (org_id, id, title, item_count, manifest, manifest_sha256, filed_at, filed_by)
			SELECT 1, id, title, item_count, manifest, manifest_sha256, filed_at, filed_by FROM source.evidence_packs`,
		"INSERT INTO evidence_chunks SELECT 1, number, bytes FROM source.evidence_pieces",
		`INSERT INTO idempotency_records (org_id, key, request, status, created_at, answer)
			SELECT 1, key, request, status, created_at, answer FROM source.idempotency_records`,
		"INSERT INTO severity_evidence (risk_seq, id, at, actor, reason, before, after) VALUES (1, 'e', '', 'system', 'r', '{}', '{}')",
		fmt.Sprintf("INSERT INTO backups (outcome, at, path, bytes) VALUES ('made', '%s', '/b.db', 5)", at(time.Hour)),
		fmt.Sprintf("UPDATE webhook_subscriptions SET active = 1, url = '%s'", receiver),
		fmt.Sprintf(`INSERT INTO webhook_subscriptions (org_id, id, url, active, created_via, secret, created_at, updated_at)
			VALUES (1, '00000000-0000-7000-8000-0000000000aa', '%s', 0, 'api', '%s', '', '')`, receiver, olderSecret),
		fmt.Sprintf("UPDATE deliveries SET state = 'dead', attempts = 10, due_at = NULL, updated_at = '%s' WHERE event_seq = 1", at(0)),
		fmt.Sprintf("UPDATE deliveries SET state = 'delivered', attempts = 1, due_at = NULL, updated_at = '%s' WHERE event_seq = 2", at(0)),
		fmt.Sprintf("INSERT INTO delivery_attempts VALUES (1, 1, 10, '%[1]s', 5, 500, NULL, 'no'), (2, 1, 1, '%[1]s', 5, 200, NULL, 'yes')", at(0)),
		"INSERT INTO deliveries (event_seq, subscription_seq, id, due_at, created_at, updated_at) SELECT 3, 2, 'paused', '', '', ''",
		"DETACH source",
	)
	return f
}

// fileContents returns the rows of all tables with their columns. If columns are given,
// only these tables and columns are read.
func fileContents(c *cli, of map[string]string) (columns map[string]string, rows map[string][]string) {
	c.t.Helper()
	file, err := sql.Open("sqlite", "file:"+c.env["GOVSVC_DB"])
	must(c.t, err)
	defer file.Close() //nolint:errcheck // read only
	list := func(query string, args ...any) (texts []string) {
		found, err := file.QueryContext(c.t.Context(), query, args...)
		must(c.t, err)
		defer found.Close() //nolint:errcheck // read only
		for found.Next() {
			var text string
			must(c.t, found.Scan(&text))
			texts = append(texts, text)
		}
		must(c.t, found.Err())
		return texts
	}
	if of == nil {
		of = map[string]string{}
		for _, table := range list("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'goose%'") {
			of[table] = "quote(" + strings.Join(list("SELECT name FROM pragma_table_xinfo(?)", table), ") || ', ' || quote(") + ")"
		}
	}
	rows = map[string][]string{}
	for table, columns := range of {
		if table == "limiter_counts" { // version 22 moves the slots
			columns = "subject || requests"
		}
		if table == "users" { // version 26 moves the role to memberships
			columns = "id || name || hex(password_hash)"
		}
		rows[table] = list("SELECT " + columns + " AS text FROM " + table + " ORDER BY text")
	}
	return of, rows
}

// TestUpgrade_KeepsRows migrates a file of version 16 that has rows in every table.
// No row is lost or changed, and every feature still works with its rows.
func TestUpgrade_KeepsRows(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	hooks, url, ca := c.listen("--ca", c.dir+"/ca.pem", "--secret", olderSecret)
	f := newUsedFile(c, url)
	tables, before := fileContents(c, nil)
	for table, rows := range before {
		if len(rows) == 0 {
			t.Errorf("no rows in %s before the upgrade", table)
		}
	}
	c.must("orgs", "list")
	if _, after := fileContents(c, tables); !cmp.Equal(before, after) {
		t.Error(cmp.Diff(before, after))
	}
	if o := c.run("check", "--full"); strings.Count(o.stdout, "FAIL ") != 1 || !strings.Contains(o.stdout, "FAIL  deliveries   38 webhooks are overdue") {
		t.Error(o.stdout)
	}
	if out := c.must("evidence", "export", f.packID, "--out", "-"); out != f.pack {
		t.Error("the evidence pack is not the one that was filed")
	}

	s := c.deliverable(ca)
	hooks.has(" risk.created verified\n", 38)
	if got := c.must("deadletters", "replay", "--all"); got != "replayed 1 dead letter\n" {
		t.Error(got)
	}
	hooks.has(" risk.created verified\n", 39)
	if got := c.post(s.url+"/api/v1/risks", olderKey, "older", olderRisk); got != f.answer {
		t.Errorf("replayed %s\nwant %s", got, f.answer)
	}
	if status, body := c.get(s.url+"/api/v1/risks", olderSpentKey); status != http.StatusTooManyRequests {
		t.Errorf("a key whose day is used up: %d %s", status, body)
	}
	wantOldSession(c, s.url, f.session)
	signIn(c, s.url)
	s.end()
	hooks.end()
	for _, h := range runJSON[[]subscriptionStatus](c, "webhooks", "list") {
		paused := strings.HasSuffix(h.ID, "aa")
		if h.DeadLetters != 0 || paused != (h.Queued == 1) {
			t.Errorf("%+v", h)
		}
	}
}

// wantOldSession checks that a session of an older version continues, and that
// it needs the password before a change of keys.
func wantOldSession(c *cli, base, token string) {
	c.t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for path, want := range map[string]string{"/account": "200 ", "/keys/new": "303 /account/confirm?next=%2Fkeys%2Fnew"} {
		request := c.request(http.MethodGet, base+path, "", nil)
		request.AddCookie(&http.Cookie{Name: "govsvc_session", Value: token}) //nolint:gosec // of the client
		r := c.do(client, request)
		if got := fmt.Sprint(r.status, " ", r.header.Get("Location")); got != want {
			c.t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// signIn signs in to the dashboard with the password of the older file.
func signIn(c *cli, base string) {
	c.t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	form := url.Values{"name": {"ann"}, "password": {password}, "next": {"/"}}
	if r := c.submit(client, base+"/signin", form); r.status != http.StatusSeeOther || r.header.Get("Set-Cookie") == "" {
		c.t.Errorf("sign-in: status %d", r.status)
	}
}
