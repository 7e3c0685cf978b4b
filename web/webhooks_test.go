package web_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db/auth"
	"govsvc/db/delivery"
	"govsvc/server/webhook"
)

// signingSecret matches a webhook's secret on a page.
var signingSecret = regexp.MustCompile(`whsec_[0-9A-Za-z+/&#;]+=*`)

// subscribe creates a webhook through its page and returns its path and secret.
func (c *client) subscribe(url string, pairs ...string) (path, secret string) {
	c.t.Helper()
	r := c.follow(c.post("/webhooks/new", append([]string{"url", url}, pairs...)...), "/webhooks/secret")
	secret = strings.NewReplacer("&#43;", "+").Replace(signingSecret.FindString(r.body))
	return "/webhooks/" + c.subscriptions()[0].ID, secret
}

// subscriptions returns the webhooks of the default organisation, newest first.
func (h *harness) subscriptions() []delivery.SubscriptionSummary {
	h.t.Helper()
	var list []delivery.SubscriptionSummary
	err := delivery.EachSubscription(h.t.Context(), h.store, h.by().Org, func(summary delivery.SubscriptionSummary) error { list = append(list, summary); return nil })
	if err != nil {
		h.t.Fatal(err)
	}
	slices.Reverse(list)
	return list
}

// TestWebhooks_AddToDelete creates, tests, changes, pauses, resumes and deletes a
// webhook. It also rotates the secret, which is shown once. The audit log names the
// user.
func TestWebhooks_AddToDelete(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	receiver := newReceiver(t, http.StatusOK, "thanks")
	r := c.post("/webhooks/new", "url", receiver.URL, "description", "Risk desk", "event_types", "risk.created", "event_types", "verdict.changed")
	at := r.header.Get("Location")
	shown := c.follow(r, "/webhooks/secret")
	secret := strings.ReplaceAll(signingSecret.FindString(shown.body), "&#43;", "+")
	c.expect(shown, 200, "It is shown once", receiver.URL)
	c.expect(c.get(at), 200, "A signing secret is shown once", "!whsec_")
	made := h.subscriptions()[0]
	if diff := cmp.Diff(`["risk.created","verdict.changed"]`, string(made.EventTypes)); diff != "" || !made.Active || made.CreatedVia != "dashboard" {
		t.Errorf("%s%+v", diff, made)
	}
	path := "/webhooks/" + made.ID
	c.expect(c.get("/webhooks"), 200, "Risk desk", receiver.URL, "!whsec_")
	c.expect(c.get(path), 200, "risk.created, verdict.changed", "The dashboard", "No deliveries yet", "!whsec_")

	c.expect(c.follow(c.post(path+"/test"), path), 200, "acknowledged the test with 200")
	arrived := receiver.Received()[0]
	if err := webhook.Verify(secret, arrived.Header, arrived.Body, h.clock.Now()); err != nil {
		t.Error(err)
	}

	c.expect(c.get(path+"/change"), 200, `value="Risk desk"`, `value="risk.created" checked`, `value="risk.severity_changed">`)
	c.expect(c.follow(c.post(path+"/change", "url", receiver.URL+"/new", "description", ""), path), 200, "Saved.", receiver.URL+"/new", "!Risk desk")
	if now := h.subscriptions()[0]; now.Description != nil || string(now.EventTypes) != "[]" {
		t.Errorf("%+v", now)
	}
	c.expect(c.follow(c.post(path+"/pause"), path), 200, "The webhook is paused.", "Paused", path+"/resume")
	c.expect(c.follow(c.post(path+"/resume"), path), 200, "Active", path+"/pause")

	c.expect(c.post(path+"/rotate-secret", "overlap", "forever"), 422, "Choose one of the times.")
	shown = c.follow(c.post(path+"/rotate-secret", "overlap", "1h"), "/webhooks/secret")
	second := strings.ReplaceAll(signingSecret.FindString(shown.body), "&#43;", "+")
	c.expect(shown, 200, "The old secret is valid until", "13:00 UTC", "!"+secret)
	c.follow(c.post(path+"/test"), path)
	arrived = receiver.Received()[1]
	for _, each := range []string{secret, second} {
		if err := webhook.Verify(each, arrived.Header, arrived.Body, h.clock.Now()); err != nil {
			t.Error(err)
		}
	}
	c.expect(c.follow(c.post(path+"/rotate-secret", "overlap", "0s"), "/webhooks/secret"), 200, "The old secret is no longer valid.")

	c.expect(c.follow(c.post(path+"/delete"), "/webhooks"), 200, "The webhook has been deleted.", "No webhooks yet")
	c.expect(c.get(path), 404)
	h.expectAuditEvents(
		"webhook_subscription.created", "webhook_test_delivery.created", "webhook_subscription.updated",
		"webhook_subscription.secret_rotated", "webhook_subscription.deleted",
	)
	if log := h.auditLog() + h.log.String(); strings.Contains(log, "whsec_") {
		t.Error("a log contains a secret")
	}
}

// TestWebhooks_RefuseForm checks that a form follows the rules of the API. The message is
// shown at the field.
func TestWebhooks_RefuseForm(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	path, _ := c.subscribe("https://127.0.0.1/hooks", "description", "first", "paused", "true")
	if h.subscriptions()[0].Active {
		t.Error("the webhook was created paused, but is active")
	}
	for _, row := range []struct {
		about string
		form  []string
		want  string
	}{
		{"no url", nil, "URL"},
		{"http", []string{"url", "http://127.0.0.1/"}, "https URL"},
		{"a private address", []string{"url", "https://10.0.0.1/"}, "public address"},
		{"the metadata service", []string{"url", "https://169.254.169.254/latest"}, "public address"},
		{"a password", []string{"url", "https://a:b@example.com/"}, "user name or password"},
		{"an unknown event", []string{"url", "https://127.0.0.1/", "event_types", "risk.imagined"}, "event_types"},
		{"an event twice", []string{"url", "https://127.0.0.1/", "event_types", "risk.created", "event_types", "risk.created"}, "event_types"},
		{"a long text", []string{"url", "https://127.0.0.1/", "description", strings.Repeat("x", 20_001)}, "20000"},
		{"a NUL", []string{"url", "https://127.0.0.1/", "description", "a\x00b"}, "description"},
	} {
		for _, action := range []string{"/webhooks/new", path + "/change"} {
			r := c.post(action, row.form...)
			if c.expect(r, 422, row.want, `class="error"`); t.Failed() {
				t.Fatalf("%s at %s", row.about, action)
			}
		}
	}
	all := h.subscriptions()
	if len(all) != 1 || *all[0].Description != "first" {
		t.Errorf("a refused form changed the webhooks: %+v", all)
	}
	c.follow(c.post("/organisation", "name", "subsidiary"), "/")
	c.expect(c.get("/webhooks"), 200, "No webhooks yet")
	for _, action := range []string{"/change", "/pause", "/resume", "/test", "/rotate-secret", "/delete"} {
		c.expect(c.post(path+action, "url", "https://127.0.0.1/", "overlap", "1h"), 404)
	}
	if len(h.subscriptions()) != 1 {
		t.Error("a request from another organisation deleted the webhook")
	}
}

// TestWebhooks_TestOutcomes checks that each failed test is reported with its reason.
func TestWebhooks_TestOutcomes(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	failing := newReceiver(t, http.StatusTeapot, "")
	gone := newReceiver(t, http.StatusOK, "")
	gone.Close()
	for url, want := range map[string]string{
		failing.URL: "answered the test with 418, which is not a 2xx",
		gone.URL:    "did not answer the test. Check that it runs",
	} {
		path, _ := c.subscribe(url)
		r := c.post(path + "/test")
		at := r.header.Get("Location")
		c.expect(c.follow(r, path), 200, want, "tone-critical")
		c.expect(c.get(at), 200, "!the test")
	}
}

// TestWebhooks_TestIsSuccess checks that a test that arrives counts as the last success.
func TestWebhooks_TestIsSuccess(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	path, _ := c.subscribe(newReceiver(t, http.StatusNoContent, "").URL)
	c.expect(c.get(path), 200, `<p class="tile-text"><span class="muted">None yet</span></p>`)
	c.expect(c.follow(c.post(path+"/test"), path), 200, `<p class="tile-text"><time datetime="2026-10-01T12:00:00`)
	c.expect(c.get("/webhooks"), 200, "!None yet")
	failing, _ := c.subscribe(newReceiver(t, http.StatusTeapot, "").URL)
	c.expect(c.follow(c.post(failing+"/test"), failing), 200, "None yet")
}

// TestDeliveryLog checks the delivery log: one line per delivery, several pages, and a
// filter by state. Each delivery has a page with every attempt. Answers are escaped.
func TestDeliveryLog(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	receiver := newReceiver(t, http.StatusInternalServerError, "failed: "+hostile)
	path, secret := c.subscribe(receiver.URL+"/a?b=c", "description", hostile)
	h.emit("risk.created", 1)
	c.expect(c.get(path), 200, "Waiting", "!Retrying")
	if got := h.deliver(); got.Dead != 1 {
		t.Fatalf("%+v", got)
	}
	receiver.SetAnswer(answer(http.StatusOK, ""))
	h.clock.Advance(time.Minute)
	h.emit("verdict.changed", 55)
	h.deliver()
	r := c.get(path)
	c.expect(r, 200, "verdict.changed", "50 deliveries on this page", "Answered 200", "!whsec_")
	next := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(r.body)
	if next == nil {
		t.Fatalf("the log has no second page:\n%s", r.body)
	}
	older := c.get(strings.ReplaceAll(next[1], "&amp;", "&"))
	c.expect(older, 200, "risk.created", "6 deliveries on this page", "Back to the newest", "!rel=\"next\"")
	previous := regexp.MustCompile(`rel="prev" href="([^"]+)"`).FindStringSubmatch(older.body)
	if previous == nil {
		t.Fatalf("the second page has no link to the first:\n%s", older.body)
	}
	links := regexp.MustCompile(path + `/deliveries/\d+`)
	first := c.get(strings.ReplaceAll(previous[1], "&amp;", "&"))
	c.expect(first, 200, "50 deliveries on this page", "rel=\"next\"", "!rel=\"prev\"")
	if got, want := links.FindAllString(first.body, -1), links.FindAllString(r.body, -1); !slices.Equal(got, want) {
		t.Errorf("the previous page has %v, want %v", got, want)
	}
	c.expect(c.get(path+"?state=dead"), 200, "risk.created", "Dead letter", "!>verdict.changed</a>")
	c.expect(c.get(path+"?state=pending"), 200, "No matching deliveries")
	c.expect(c.get(path+"?state=asleep"), 400)
	c.expect(c.get(path+"?cursor=guessed"), 400)
	expectEscaped(t, "list", c.get("/webhooks"))
	expectEscaped(t, "subscription", r)

	page := regexp.MustCompile(path + `/deliveries/\d+`).FindString(c.get(path + "?state=dead").body)
	r = c.get(page)
	sent := receiver.Received()[0]
	c.expect(r, 200, "Attempt 3", "Attempt 2", "Attempt 1", "Answered 500", "POST /a?b=c HTTP/1.1", "!whsec_",
		"Webhook-Timestamp: "+sent.Header.Get("Webhook-Timestamp"), "User-Agent: "+sent.Header.Get("User-Agent"),
		"X-Service-Delivery: "+sent.Header.Get("X-Service-Delivery"), "Content-Length: "+sent.Header.Get("Content-Length"))
	if strings.Contains(r.body, sent.Header.Get("X-Service-Signature")) || strings.Contains(r.body, secret) {
		t.Error("the page shows a signature or the secret")
	}
	expectEscaped(t, "delivery", r)
	for _, wrong := range []string{path + "/deliveries/x", path + "/deliveries/999999", path + "/deliveries/99999999999999999999"} {
		c.expect(c.get(wrong), 404)
	}
	c.follow(c.post("/organisation", "name", "subsidiary"), "/")
	c.expect(c.get(page), 404)
}

// TestDeliveryLog_RequestAsSent checks that the page of a delivery shows the headers
// that were sent, without the signatures.
func TestDeliveryLog_RequestAsSent(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	receiver := newReceiver(t, http.StatusOK, "")
	path, _ := c.subscribe(receiver.URL)
	h.emit("risk.created", 1)
	h.deliver()
	page := c.get(regexp.MustCompile(path + `/deliveries/\d+`).FindString(c.get(path).body))
	sent := receiver.Received()[0]
	shown := http.Header{}
	for line := range strings.Lines(page.body) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && sent.Header.Get(name) != "" && !strings.Contains(value, "not stored") {
			shown.Set(name, value)
		}
	}
	for _, signature := range []string{webhook.HeaderSignature, webhook.HeaderStandardSignature} {
		sent.Header.Del(signature)
	}
	if diff := cmp.Diff(sent.Header, shown); diff != "" {
		t.Error(diff)
	}
	var body bool
	for _, text := range regexp.MustCompile(`(?s)<code>(\{.*?\})</code>`).FindAllStringSubmatch(page.body, -1) {
		body = body || unescaped(text[1]) == string(sent.Body)
	}
	if !body || !json.Valid(sent.Body) {
		t.Errorf("the page does not show the exact body: %s", sent.Body)
	}
}

// unescaped returns a page's text without the escaping of html/template.
func unescaped(text string) string {
	return strings.NewReplacer("&#34;", `"`, "&#39;", "'", "&#43;", "+", "&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(text)
}

// TestWebhooks_Limit checks that a webhook beyond the limit of an organisation is
// refused. The form keeps its values.
func TestWebhooks_Limit(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	h.execSQL(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 250)
		INSERT INTO webhook_subscriptions (org_id, id, url, created_via, secret, created_at, updated_at)
		SELECT 1, printf('01993e0a-52c0-7c3e-8d2b-%012d', i), 'https://example.com', 'api', 's', '', '' FROM n`)
	receiver := newReceiver(t, 200, "")
	c.expect(c.post("/webhooks/new", "url", receiver.URL, "description", "One more"), 422,
		"The organisation has 250 webhook subscriptions, which is the limit.", receiver.URL, `value="One more"`)
	if n := len(h.subscriptions()); n != 250 {
		t.Errorf("%d webhooks, want 250", n)
	}
}

// TestDeliveryLog_ExplainsFullQueue checks that the page explains why a full queue made
// a delivery a dead letter.
func TestDeliveryLog_ExplainsFullQueue(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	path, _ := c.subscribe(newReceiver(t, 200, "").URL)
	h.emit("risk.created", 1)
	if _, err := delivery.RunRound(t.Context(), h.store, delivery.Round{Expand: true}); err != nil {
		t.Fatal(err)
	}
	h.execSQL("UPDATE delivery_queues SET queued = 10000")
	h.emit("risk.created", 1)
	if _, err := delivery.RunRound(t.Context(), h.store, delivery.Round{Expand: true}); err != nil {
		t.Fatal(err)
	}
	const reason = "The queue of the subscription was full"
	c.expect(c.get("/webhooks/deadletters"), 200, reason)
	page := c.get(path + "?state=dead")
	c.expect(page, 200, reason)
	dead := regexp.MustCompile(path + `/deliveries/\d+`).FindString(page.body)
	c.expect(c.get(dead), 200, reason)
	c.expect(c.get(path), 200, "waiting")
	h.execSQL("UPDATE delivery_queues SET queued = 1")
	c.post("/webhooks/deadletters/replay", "only", h.deadLetter(), "next", dead)
	c.expect(c.get(dead), 200, "!"+reason)
}

// deadLetter returns the id of the only dead letter.
func (h *harness) deadLetter() (id string) {
	h.t.Helper()
	if err := delivery.EachDeadLetter(h.t.Context(), h.store, h.by().Org, func(l delivery.DeadLetter) error { id = l.ID; return nil }); err != nil {
		h.t.Fatal(err)
	}
	return id
}
