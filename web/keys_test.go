package web_test

import (
	"database/sql"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/auth"
)

// plainKey matches an API key in plain text.
var plainKey = regexp.MustCompile(`gds_(?:live|test)_[0-9A-Za-z]{52}`)

// TestKeys_MintToRevoke creates, uses, rotates and revokes a key. The page shows the
// key once, and the audit log names the user.
func TestKeys_MintToRevoke(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	r := c.post("/keys/new", "name", "Board report", "scope", "read:risks", "scope", "read:kpis", "kind", "live", "expires", "2026-12-24", "rpm", "30", "rpd", "")
	at := r.header.Get("Location")
	made := c.follow(r, "/keys/made")
	key := plainKey.FindString(made.body)
	c.expect(made, 200, "It is shown once", "curl -H &#39;Authorization: Bearer "+key+"&#39; &#39;"+h.url+"/api/v1/risks&#39;", "24 Dec 2026")
	c.expect(c.get(at), 200, "A key is shown once", "!"+key)
	if used := h.callAPI("GET", "/risks?limit=1", key, ""); used.status != 200 || used.header.Get("X-RateLimit-Limit") != "30" {
		t.Errorf("got status %d and header %v", used.status, used.header)
	}
	if refused := h.callAPI("GET", "/signals", key, ""); refused.status != 403 {
		t.Errorf("a request outside the scopes of the key: got status %d, want 403", refused.status)
	}
	keys := h.keys()
	if diff := cmp.Diff([]string{"read:risks", "read:kpis"}, keys[0].Scopes); diff != "" {
		t.Error(diff)
	}
	c.expect(c.get("/keys"), 200, "Board report", keys[0].Prefix, "!"+key)
	page := "/keys/" + keys[0].ID
	c.expect(c.get(page), 200, "Board report", "List key results", "30", "1,000,000 (from the plan)", "!"+key)

	c.expect(c.post(page+"/rotate", "overlap", "1y"), 422, "Choose one of the times.")
	made = c.follow(c.post(page+"/rotate", "overlap", "1h"), "/keys/made")
	successor := plainKey.FindString(made.body)
	c.expect(made, 200, "The old key is valid until", "1 Oct 2026, 13:00 UTC", "!"+key)
	for _, each := range []string{key, successor} {
		if r := h.callAPI("GET", "/risks?limit=1", each, ""); r.status != 200 {
			t.Errorf("within the overlap: got status %d, want 200", r.status)
		}
	}
	h.clock.Advance(time.Hour)
	c.follow(c.post("/account/confirm", "next", page, "confirm-secret", password), page)
	if r := h.callAPI("GET", "/risks?limit=1", key, ""); r.status != 401 {
		t.Errorf("after the overlap: got status %d, want 401", r.status)
	}
	c.expect(c.get(page), 200, "Expired", "!Create successor", "!/revoke")
	c.expect(c.post(page+"/rotate", "overlap", "1h"), 409, "This key has already ended.")

	page = "/keys/" + h.keys()[0].ID
	c.expect(c.follow(c.post(page+"/revoke"), "/keys"), 200, "The key Board report has been revoked.", "2 keys revoked or expired")
	if r := h.callAPI("GET", "/risks?limit=1", successor, ""); r.status != 401 {
		t.Errorf("the revoked key: got status %d, want 401", r.status)
	}
	h.expectAuditEvents("key.minted", "key.rotated", "key.revoked")
	if log := h.auditLog() + h.log.String(); strings.Contains(log, key) || strings.Contains(log, successor) {
		t.Error("a log contains a key in plain text")
	}
}

// TestKeys_ShownOnceToCreator checks that the page shows a new key only to the user who
// created it.
func TestKeys_ShownOnceToCreator(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	if _, err := h.auth.Users.Create(t.Context(), db.Actor{ID: "system"}, "other", auth.Admin, password); err != nil {
		t.Fatal(err)
	}
	other := h.anonymous()
	other.follow(other.post("/signin", "name", "other", "password", password), "/")
	at := h.as(auth.Admin).post("/keys/new", "name", "x", "scope", "read:all", "kind", "test").header.Get("Location")
	r := other.get(at)
	other.expect(r, 200, "A key is shown once")
	if found := plainKey.FindString(r.body); found != "" {
		t.Error("another user saw the key")
	}
}

// TestKeys_RefuseForm checks that an invalid form creates no key and shows the error at the
// field.
func TestKeys_RefuseForm(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	for _, row := range []struct {
		about string
		form  []string
		want  string
	}{
		{"nothing", nil, "Fix 3 fields"},
		{"no name", []string{"name", " \t", "scope", "read:all", "kind", "live"}, "Enter a name, so that"},
		{"a long name", []string{"name", strings.Repeat("ä", 201), "scope", "read:all", "kind", "live"}, "at most 200 characters"},
		{"a NUL", []string{"name", "\x00x", "scope", "read:all", "kind", "live"}, "Remove line breaks and control characters"},
		{"no scope", []string{"name", "x", "kind", "live"}, "Choose at least one scope."},
		{"a strange scope", []string{"name", "x", "scope", "read:all", "scope", `"><script>alert(1)</script>`, "kind", "live"}, "There is no scope"},
		{"a strange kind", []string{"name", "x", "scope", "read:all", "kind", "dead"}, "Choose live or test."},
		{"no date", []string{"name", "x", "scope", "read:all", "kind", "live", "expires", "soon"}, "Enter a date, such as"},
		{"a past date", []string{"name", "x", "scope", "read:all", "kind", "live", "expires", "2026-10-01"}, "Enter a date in the future."},
		{"no number", []string{"name", "x", "scope", "read:all", "kind", "live", "rpm", "many"}, "Enter a whole number from 1"},
		{"zero", []string{"name", "x", "scope", "read:all", "kind", "live", "rpd", "0"}, "Enter a whole number from 1"},
		{"too much", []string{"name", "x", "scope", "read:all", "kind", "live", "rpm", "2147483648"}, "Enter a whole number from 1"},
	} {
		r := c.post("/keys/new", row.form...)
		c.expect(r, 422, row.want, "!<script>alert")
		if slices.Contains(row.form, "read:all") && !strings.Contains(r.body, `value="read:all" checked`) {
			t.Errorf("%s: the form lost the selected scope", row.about)
		}
	}
	if keys := h.keys(); len(keys) != 0 {
		t.Errorf("got keys %+v, want none", keys)
	}
}

// TestKeys_OfAnotherOrganisation checks that the keys of an organisation are not
// accessible from another one.
func TestKeys_OfAnotherOrganisation(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	key := h.createKey(db.KeyDraft{Name: "Board report", Kind: db.LiveKey, Scopes: []string{"read:all"}})
	c := h.as(auth.Admin)
	c.expect(c.get("/keys/"+key.ID), 200)
	c.follow(c.post("/organisation", "name", "subsidiary"), "/")
	c.expect(c.get("/keys"), 200, "No API keys yet", "!Board report")
	c.expect(c.get("/keys/"+key.ID), 404)
	c.expect(c.post("/keys/"+key.ID+"/rotate", "overlap", "1h"), 404)
	c.expect(c.post("/keys/"+key.ID+"/revoke"), 404)
	if h.keys()[0].RevokedAt != nil {
		t.Error("the key was revoked from another organisation")
	}
	c.expect(c.get("/keys/new"), 200, "(not in the plan business)", "Replaces the limit of the plan, 600.")
}

// TestKeys_Listed checks that the list shows the state of each key and escapes names. A
// long list is split into pages.
func TestKeys_Listed(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	h.createManyKeys()
	c.expect(c.get("/keys"), 200, "Expires soon", "never used: read:risks", "2 keys revoked or expired", "Revoked", "Expired", "!Never used")
	h.clock.Advance(8 * 24 * time.Hour)
	c = h.anonymous()
	c.follow(c.post("/signin", "name", "admin", "password", password), "/")
	c.expect(c.get("/keys"), 200, "Never used")
	hostileKey := h.createKey(db.KeyDraft{Name: hostile, Kind: db.LiveKey, Scopes: []string{"write:risks"}})
	for _, path := range []string{"/keys", "/keys/" + hostileKey.ID} {
		expectEscaped(t, path, c.get(path))
	}
	expectEscaped(t, "made", c.follow(c.post("/keys/new", "name", hostile, "scope", "write:risks", "kind", "live"), "/keys/made"))
	expectEscaped(t, "revoked", c.follow(c.post("/keys/"+hostileKey.ID+"/revoke"), "/keys"))
	h.copyKeys(100)
	r := c.get("/keys")
	c.expect(r, 200, "103 keys", `href="/keys?page=2"`)
	if n := strings.Count(r.body, ">many</a>"); n != 100 {
		t.Errorf("the first page has %d keys, want 100", n)
	}
	r = c.get("/keys?page=2")
	c.expect(r, 200, `href="/keys?page=1"`, "Warehouse export")
	for _, page := range []string{"0", "-1", "99999999999999999999", "x", "3"} {
		c.expect(c.get("/keys?page="+page), 200, "103 keys")
	}
}

// copyKeys adds n keys with the name "many". It copies one hash, because computing each
// hash is slow.
func (h *harness) copyKeys(n int) {
	h.t.Helper()
	h.execSQL(`WITH RECURSIVE copies (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE n < ?)
		INSERT INTO api_keys (org_id, id, name, kind, prefix, salt, hash, scopes, created_at)
		SELECT k.org_id, lower(hex(randomblob(16))), 'many', k.kind, k.prefix, k.salt, k.hash, k.scopes, '2026-10-09T13:00:00.000Z'
		FROM copies, (SELECT * FROM api_keys LIMIT 1) k`, n)
}

// execSQL runs a statement on a separate connection, without the store.
func (h *harness) execSQL(statement string, args ...any) {
	h.t.Helper()
	file, err := sql.Open("sqlite", "file:"+h.path+"?_pragma=busy_timeout(10000)")
	if err == nil {
		_, err = file.ExecContext(h.t.Context(), statement, args...)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// TestKeys_ExampleCommand checks that the page shows an example command that the scopes
// of the key allow. For a key without read access, the command only checks the key.
func TestKeys_ExampleCommand(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	r := c.follow(c.post("/keys/new", "name", "writer", "scope", "write:kpis", "kind", "live"), "/keys/made")
	c.expect(r, 200, "The key has no read access", "--json", "/api/v1/mcp")
	if r := h.callAPI(http.MethodPost, "/mcp", plainKey.FindString(r.body), `{"jsonrpc":"2.0","id":1,"method":"ping"}`); r.status != 200 {
		t.Errorf("got status %d, want 200: %s", r.status, r.body)
	}
	c.expect(c.follow(c.post("/keys/new", "name", "hooks", "scope", "manage:webhooks", "kind", "live"), "/keys/made"), 200, "/api/v1/webhooks/subscriptions")
	c.expect(c.follow(c.post("/keys/new", "name", "all", "scope", "read:all", "kind", "live"), "/keys/made"), 200, "Try it", "!/api/v1/audit")
}

// TestKeys_NeedPlan checks that the list reports when the plan or the subscription blocks
// all keys.
func TestKeys_NeedPlan(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	for _, row := range []struct {
		plan         db.Plan
		subscription db.Subscription
		want         string
	}{
		{db.Starter, db.Active, "The plan starter does not include the API"},
		{db.Business, db.PastDue, "The subscription is Past due"},
		{db.Business, db.Active, "!Every key is refused"},
	} {
		if _, err := h.store.Orgs.SetPlan(t.Context(), h.by(), db.DefaultOrganisation, row.plan, row.subscription); err != nil {
			t.Fatal(err)
		}
		c.expect(c.get("/keys"), 200, row.want)
	}
}

// keys returns the keys of the default organisation, newest first.
func (h *harness) keys() []db.Key {
	h.t.Helper()
	keys, err := h.store.Keys.List(h.t.Context(), h.by().Org)
	if err != nil {
		h.t.Fatal(err)
	}
	return keys
}

// TestKeyForm_WebhooksRead checks that the form explains at the scope manage:webhooks
// that the key receives records.
func TestKeyForm_WebhooksRead(t *testing.T) {
	t.Parallel()
	c := newHarness(t).as(auth.Admin)
	page := c.get("/keys/new")
	c.expect(page, 200, "The key receives the records that events carry, such as risks, scorecards and roadmaps, even without a read scope.")
	at := strings.Index(page.body, `value="manage:webhooks"`)
	said := strings.Index(page.body, "The key receives the records")
	if at < 0 || said < at || strings.Contains(page.body[at:said], "</label>") {
		t.Error("the explanation is not at the scope manage:webhooks")
	}
}
