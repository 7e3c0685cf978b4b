package server_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/internal/testkit"
)

// subscribeMany inserts subscriptions of an organisation into a data file.
func subscribeMany(t testing.TB, file *sql.DB, org db.Org, n int, url string) {
	t.Helper()
	if _, err := file.ExecContext(t.Context(), `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
		INSERT INTO webhook_subscriptions (org_id, id, url, created_via, secret, created_at, updated_at)
		SELECT ?1, printf('01993e0a-52c0-7c3e-8d2b-%012d', i), ?3, 'api', 's', '', '' FROM n`, org, n, url); err != nil {
		t.Fatal(err)
	}
}

// TestSubscription_Limit creates the maximum number of subscriptions of an organisation,
// and one more.
func TestSubscription_Limit(t *testing.T) {
	t.Parallel()
	s := serve(t, withHooks(t))
	key := s.key(t, "manage:webhooks")
	_, foreign := s.mint(t, "acme", db.KeyDraft{Scopes: []string{"manage:webhooks"}})
	org := organisation(t, s.store, db.DefaultOrganisation).Org
	subscribeMany(t, testkit.OpenSQL(t, s.store.File.Path()), org, db.SubscriptionLimit-1, "https://127.0.0.1:1/")
	body := `{"url":"https://127.0.0.1:1/"}`
	last := s.do(t, key, create("last", body)).text("id")
	refused := subscriptionCall{
		method: "POST", path: hooks, body: body, idempotency: "more", status: 409, code: "resource_conflict",
		has: []string{"The organisation has 250 webhook subscriptions, which is the limit."},
	}
	s.do(t, key, refused)
	s.do(t, key, subscriptionCall{method: "POST", path: hooks, body: body, idempotency: "last", status: 201, has: []string{last, "Idempotency-Replayed: true"}})
	s.do(t, foreign, create("f", body))
	s.do(t, key, subscriptionCall{method: "PATCH", path: hooks + "/" + last, body: `{"active":false}`, status: 200})
	s.do(t, key, subscriptionCall{method: "DELETE", path: hooks + "/" + last, status: 200})
	s.do(t, key, create("more", body))
	// an organisation with more keeps them
	if _, err := testkit.OpenSQL(t, s.store.File.Path()).ExecContext(t.Context(), `INSERT INTO webhook_subscriptions (org_id, id, url, created_via, secret, created_at, updated_at)
		SELECT org_id, '1' || substr(id, 2), url, created_via, secret, created_at, updated_at FROM webhook_subscriptions WHERE org_id = ?`, org); err != nil {
		t.Fatal(err)
	}
	refused.idempotency = "again"
	s.do(t, key, refused)
	if got := testkit.QuerySQL(t, s.store.File.Path(), fmt.Sprintf("SELECT count(*) FROM webhook_subscriptions WHERE org_id = %d", org)); got[0] != "500" {
		t.Errorf("%s subscriptions, want 500", got)
	}
}

// TestWrite_MakesNoDeliveries creates a risk while this and other organisations have
// many subscriptions. The write stores no rows for them.
func TestWrite_MakesNoDeliveries(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	acme, err := d.store.Orgs.Create(t.Context(), db.Actor{ID: "system"}, "acme", db.Enterprise)
	if err != nil {
		t.Fatal(err)
	}
	subscribeMany(t, d.file, acme.Org, 2000, "https://127.0.0.1:1/")
	subscribeMany(t, d.file, organisation(t, d.store, db.DefaultOrganisation).Org, db.SubscriptionLimit, "https://127.0.0.1:1/")
	const rows = `SELECT (SELECT count(*) FROM events) || ' ' || (SELECT count(*) FROM fan_outs) || ' ' || (SELECT count(*) FROM deliveries) || ' ' ||
		(SELECT count(*) FROM receiver_set_members) || ' ' || (SELECT count(*) FROM unexpanded_deliveries)`
	for _, want := range []string{"1 1 0 250 250", "2 2 0 250 500", "3 3 0 250 750"} {
		d.do(t, write{path: "/risks", body: goodRisk, status: 201})
		d.checkRows(t, "events, fan-outs, deliveries, members and queued", rows, want)
	}
}

// TestDocument_ScopeOfWebhooks checks that the description of the scopes says that
// manage:webhooks gives access to records.
func TestDocument_ScopeOfWebhooks(t *testing.T) {
	t.Parallel()
	s := serve(t)
	text := strings.Join(strings.Fields(string(s.get(t, "/openapi.json", "").body)), " ")
	for _, want := range []string{
		"`manage:webhooks` alone lets a key receive the records that events carry",
		"An organisation has at most 250 subscriptions: a further one is a 409 `resource_conflict`",
	} {
		if !strings.Contains(strings.ReplaceAll(text, `\n`, " "), want) {
			t.Errorf("the document does not say %q", want)
		}
	}
}
