package server_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/delivery"
	"govsvc/internal/testkit"
	"govsvc/server"
	"govsvc/server/webhook"
)

// withHooks lets webhooks reach loopback, and trusts the receivers there.
func withHooks(t testing.TB) setting {
	t.Helper()
	sender, err := webhook.NewSender(webhook.SenderConfig{
		Allow: webhook.Loopback,
		Roots: testkit.ReceiverRoot(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sender.Close)
	return func(c *server.Config) {
		c.Receivers, c.SandboxReceivers = sender, webhook.Simulator{Allow: webhook.Loopback}
	}
}

// closingReceiver returns the URL of a receiver that closes each connection. The port
// of a stopped receiver is not used, because another test could get it.
func closingReceiver(t testing.TB) string {
	t.Helper()
	return "https://" + testkit.ServeConnections(t, func(net.Conn) {})
}

// subscriptionCall is a request of a webhook operation, and the expected response.
type subscriptionCall struct {
	name, method, path, body, idempotency string
	status                                int
	code, param                           string
	has, not                              []string
}

// data is the data of an answer.
type data map[string]any

func (d data) text(member string) string { text, _ := d[member].(string); return text }

// do makes a call and checks its answer, against the document too.
func (s *service) do(t testing.TB, key string, c subscriptionCall) data {
	t.Helper()
	request := s.request(t, c.method, c.path, key, c.body)
	if c.idempotency != "" {
		request.Header.Set("Idempotency-Key", c.idempotency)
	}
	a := exchange(t, request)
	about := fmt.Sprintf("%s %s %s %s", c.name, c.method, c.path, c.body)
	if code, param := a.fault(); a.status != c.status || code != c.code || param != c.param {
		t.Errorf("%s: %d %s %s, want %d %s %s: %s", about, a.status, code, param, c.status, c.code, c.param, a.body)
	}
	for _, text := range c.has {
		if !strings.Contains(a.text(), text) {
			t.Errorf("%s: %q is missing in %s", about, text, a.text())
		}
	}
	for _, text := range c.not {
		if a.shows(text) {
			t.Errorf("%s: %q must not appear in %s", about, text, a.text())
		}
	}
	return s.checked(t, about, c, a)
}

func (s *service) checked(t testing.TB, about string, c subscriptionCall, a answer) data {
	t.Helper()
	id := map[string]string{"PATCH": "updateWebhookSubscription", "DELETE": "deleteWebhookSubscription", "GET": "listWebhookSubscriptions", "POST": "createWebhookSubscription"}[c.method]
	if strings.HasSuffix(c.path, "/test") {
		id = "testWebhookSubscription"
	}
	if a.status < 300 {
		if _, faults := testkit.Document(t).Operation(id).Response.Decode(a.body); len(faults) > 0 {
			t.Errorf("%s: %v: %s", about, faults, a.body)
		}
	}
	var envelope struct{ Data json.RawMessage }
	var one data
	if json.Unmarshal(a.body, &envelope) == nil {
		_ = json.Unmarshal(envelope.Data, &one) // a list has no id
	}
	return one
}

const hooks = "/webhooks/subscriptions"

func create(key, body string) subscriptionCall {
	return subscriptionCall{method: "POST", path: hooks, body: body, idempotency: key, status: 201}
}

// TestSubscription_Lifecycle creates, lists, changes, pauses, tests and deletes a
// subscription.
func TestSubscription_Lifecycle(t *testing.T) {
	t.Parallel()
	s := serve(t, withHooks(t))
	key := s.key(t, "manage:webhooks")
	receiver := testkit.NewReceiver(t, testkit.Status(200))
	body := `{"url":"` + receiver.URL + `","event_types":["risk.created"],"description":"Risk desk"}`
	first := create("k1", body)
	made := s.do(t, key, first)
	secret, id := made.text("secret"), made.text("id")
	if len(secret) != len("whsec_")+44 || made["active"] != true || made.text("created_via") != "api" {
		t.Fatalf("got %v", made)
	}
	first.has, first.not = []string{`"secret":null`, "Idempotency-Replayed: true", id}, []string{"whsec_"}
	s.do(t, key, first)
	s.do(t, key, subscriptionCall{method: "GET", path: hooks, status: 200, has: []string{id}, not: []string{"secret", "whsec_"}})

	path := hooks + "/" + id
	s.do(t, key, subscriptionCall{
		method: "PATCH", path: path, body: `{"active":false,"description":null,"event_types":[]}`, status: 200,
		has: []string{`"active":false`, `"description":null`, `"event_types":[]`}, not: []string{"secret"},
	})
	tested := s.do(t, key, subscriptionCall{
		method: "POST", path: path + "/test", idempotency: "t1", status: 200,
		has: []string{`"outcome":"delivered"`, `"delivered":true`, `"response_status_code":200`, `"event_type":"ping"`},
	})
	got := receiver.Received()
	if len(got) != 1 || !strings.Contains(string(got[0].Body), `"id":"`+tested.text("event_id")+`"`) || !strings.Contains(string(got[0].Body), id) {
		t.Errorf("the receiver got %s", got)
	}
	if err := webhook.Verify(secret, got[0].Header, got[0].Body, time.Now()); err != nil {
		t.Error(err)
	}
	s.do(t, key, subscriptionCall{
		method: "POST", path: path + "/test", body: "{}", idempotency: "t1", status: 200,
		has: []string{tested.text("id"), tested.text("event_id"), "Idempotency-Replayed: true"},
	})
	if len(receiver.Received()) != 1 {
		t.Error("a replay sent another ping")
	}
	s.do(t, key, subscriptionCall{method: "DELETE", path: path, idempotency: "d1", status: 200, has: []string{`"deleted":true`, id, "webhook_subscription_deleted"}})
	s.do(t, key, subscriptionCall{method: "DELETE", path: path, idempotency: "d1", status: 200, has: []string{"Idempotency-Replayed: true"}})
	s.do(t, key, subscriptionCall{method: "DELETE", path: path, status: 404, code: "not_found"})
	s.do(t, key, subscriptionCall{method: "PATCH", path: path, body: `{"active":true}`, status: 404, code: "not_found"})
	s.do(t, key, subscriptionCall{method: "POST", path: path + "/test", idempotency: "t2", status: 404, code: "not_found"})
	s.audited(t, id, secret)
}

// audited checks the audit events of a subscription, from its creation to its removal.
func (s *service) audited(t testing.TB, id, secret string) {
	t.Helper()
	page, err := s.store.Audit.Events(t.Context(), organisation(t, s.store, db.DefaultOrganisation), db.AuditQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, line := range page.Events {
		var event struct {
			Action, Category string
			ResourceID       string `json:"resource_id"`
		}
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatal(err)
		}
		if event.ResourceID == id {
			counts[event.Action+" "+event.Category]++
		}
		if strings.Contains(string(line), "whsec_") || strings.Contains(string(line), secret) {
			t.Errorf("a secret is in the audit log: %s", line)
		}
	}
	if counts["api.write.webhook_subscription webhook"] != 3 || counts["api.write.webhook_test_delivery webhook"] != 1 {
		t.Errorf("audited %v", counts)
	}
	if strings.Contains(s.log.String(), "whsec_") {
		t.Error("a secret is in the log")
	}
}

// TestSubscription_Refuses checks which subscriptions are refused.
func TestSubscription_Refuses(t *testing.T) {
	t.Parallel()
	s := serve(t, withHooks(t))
	key := s.key(t, "manage:webhooks")
	id := s.do(t, key, create("k", `{"url":"https://127.0.0.1:1/"}`)).text("id")
	_, foreign := s.mint(t, "acme", db.KeyDraft{Scopes: []string{"manage:webhooks"}})
	for _, c := range []subscriptionCall{
		{method: "POST", path: hooks, body: `{"url":"https://127.0.0.1:1/"}`, status: 400, code: "invalid_parameter", param: "Idempotency-Key"},
		{method: "POST", path: hooks, body: `{}`, idempotency: "a", status: 400, code: "invalid_parameter", param: "url"},
		{method: "POST", path: hooks, body: `{"url":null}`, idempotency: "a", status: 400, code: "invalid_parameter", param: "url"},
		{method: "POST", path: hooks, body: `{"url":"http://127.0.0.1:1/"}`, idempotency: "a", status: 400, code: "invalid_parameter", param: "url"},
		{method: "POST", path: hooks, body: `{"url":"https://10.0.0.1/"}`, idempotency: "a", status: 400, code: "invalid_parameter", param: "url"},
		{method: "POST", path: hooks, body: `{"url":"https://user@127.0.0.1/"}`, idempotency: "a", status: 400, code: "invalid_parameter", param: "url"},
		{method: "POST", path: hooks, body: `{"url":"https://127.0.0.1/","event_types":["risk.closed"]}`, idempotency: "a", status: 400, code: "invalid_parameter", param: "event_types[0]"},
		{method: "POST", path: hooks, body: `{"url":"https://127.0.0.1/","event_types":["ping"]}`, idempotency: "a", status: 400, code: "invalid_parameter", param: "event_types[0]"},
		{method: "POST", path: hooks, body: `{"url":"https://127.0.0.1/","secret":"x"}`, idempotency: "a", status: 400, code: "invalid_parameter", param: "secret"},
		{method: "POST", path: hooks, body: `{"url":"https://127.0.0.1/","active":null}`, idempotency: "a", status: 400, code: "invalid_parameter", param: "active"},
		{method: "PATCH", path: hooks + "/" + id, body: `{"url":"https://192.168.0.1/"}`, status: 400, code: "invalid_parameter", param: "url"},
		{method: "PATCH", path: hooks + "/" + id, body: `{"created_via":"api"}`, status: 400, code: "invalid_parameter", param: "created_via"},
		{method: "PATCH", path: hooks + "/nonsense", body: `{"active":true}`, status: 404, code: "not_found"},
		{method: "POST", path: hooks + "/" + id + "/test", status: 400, code: "invalid_parameter", param: "Idempotency-Key"},
		{method: "POST", path: hooks + "/" + id + "/test", body: `{"x":1}`, idempotency: "a", status: 400, code: "invalid_parameter", param: "x"},
	} {
		s.do(t, key, c)
	}
	for _, c := range []subscriptionCall{
		{name: "foreign", method: "PATCH", path: hooks + "/" + id, body: `{"url":"https://192.168.0.1/"}`, status: 404, code: "not_found"},
		{name: "foreign", method: "DELETE", path: hooks + "/" + id, status: 404, code: "not_found"},
		{name: "foreign", method: "POST", path: hooks + "/" + id + "/test", idempotency: "a", status: 404, code: "not_found"},
		{name: "foreign", method: "GET", path: hooks, status: 200, has: []string{`"data":[]`}},
	} {
		s.do(t, foreign, c)
	}
	s.do(t, s.key(t, append(readScopes, "read:all")...), subscriptionCall{method: "GET", path: hooks, status: 403, code: "insufficient_scope", has: []string{"manage:webhooks"}})
}

// TestSubscription_TestOutcomes runs the test operation with each kind of receiver.
func TestSubscription_TestOutcomes(t *testing.T) {
	t.Parallel()
	s := serve(t, withHooks(t))
	key := s.key(t, "manage:webhooks")
	for i, c := range []struct{ url, outcome, status string }{
		{testkit.NewReceiver(t, testkit.Status(204)).URL, "delivered", "204"},
		{testkit.NewReceiver(t, testkit.Status(500)).URL, "rejected", "500"},
		{testkit.NewReceiver(t, testkit.Status(302)).URL, "rejected", "302"},
		{closingReceiver(t), "unreachable", "null"},
	} {
		id := s.do(t, key, create(fmt.Sprint("k", i), `{"url":"`+c.url+`","active":false}`)).text("id")
		s.do(t, key, subscriptionCall{
			method: "POST", path: hooks + "/" + id + "/test", idempotency: fmt.Sprint("t", i), status: 200,
			has: []string{`"outcome":"` + c.outcome + `"`, `"response_status_code":` + c.status, fmt.Sprintf(`"delivered":%v`, c.outcome == "delivered")},
		})
	}
	id := s.do(t, key, create("b", `{"url":"https://127.0.0.1/"}`)).text("id")
	strict, err := webhook.NewSender(webhook.SenderConfig{Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	if err != nil {
		t.Fatal(err)
	}
	s.config.Receivers = strict // the operator withdrew the permission
	s.restart(t)
	s.do(t, key, subscriptionCall{
		method: "POST", path: hooks + "/" + id + "/test", idempotency: "b1", status: 200,
		has: []string{`"outcome":"blocked"`, `"response_status_code":null`},
	})
	if due, _, err := delivery.DueSubscriptions(t.Context(), s.store); err != nil || len(due) != 0 {
		t.Error("a test queued something", due, err)
	}
}

// TestSandbox_WebhooksSendNothing checks that subscriptions of a test key send nothing
// over the network.
func TestSandbox_WebhooksSendNothing(t *testing.T) {
	t.Parallel()
	sandbox := serve(t).store
	var id string
	err := sandbox.Write(t.Context(), by(t, sandbox, db.DefaultOrganisation), func(tx *db.Tx) error {
		made, _, err := tx.CreateSubscription(db.Record{"url": "https://hooks.nowhere.example/x"})
		id = made.ID
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	sandbox.File.Freeze()
	s := serve(t, withHooks(t), withSandbox(func() (*db.DB, error) { return sandbox, nil }))
	receiver := testkit.NewReceiver(t, testkit.Status(500))
	_, test := s.mint(t, db.DefaultOrganisation, db.KeyDraft{Kind: db.TestKey, Scopes: []string{"manage:webhooks"}})
	c := create("k", `{"url":"`+receiver.URL+`"}`)
	s.do(t, test, c)
	c.has, c.not = []string{`"secret":null`, "Idempotency-Replayed: true"}, []string{"whsec_"}
	s.do(t, test, c)
	s.do(t, test, create("l", `{"url":"https://unresolvable.example.com/"}`))
	s.do(t, test, subscriptionCall{method: "POST", path: hooks, body: `{"url":"https://10.0.0.1/"}`, idempotency: "m", status: 400, code: "invalid_parameter", param: "url"})
	s.do(t, test, subscriptionCall{
		method: "POST", path: hooks + "/" + id + "/test", idempotency: "t", status: 200,
		has: []string{`"outcome":"delivered"`, `"response_status_code":200`},
	})
	s.do(t, test, subscriptionCall{method: "PATCH", path: hooks + "/" + id, body: `{"active":false}`, status: 200, has: []string{`"active":false`}})
	s.do(t, test, subscriptionCall{method: "DELETE", path: hooks + "/" + id, status: 200})
	s.do(t, test, subscriptionCall{method: "GET", path: hooks, status: 200, has: []string{id, `"active":true`}, not: []string{receiver.URL}})
	if len(receiver.Received()) != 0 {
		t.Error("the sandbox reached the network")
	}
}
