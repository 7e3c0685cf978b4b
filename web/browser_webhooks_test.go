//go:build browser

package web_test

import (
	"net/http"
	"testing"

	"govsvc/db/auth"
	"govsvc/server/webhook"
)

// TestBrowserWebhooks: a webhook is made and tested, its receiver fails until
// there are dead letters, mends, and gets them by a replay.
func TestBrowserWebhooks(t *testing.T) {
	s := newScene(t)
	r := newReceiver(t, http.StatusServiceUnavailable, "<h1>Down for maintenance</h1>\nBack at noon. "+hostile)
	b := newBrowser(t, s).as(auth.Admin)
	b.open("/webhooks")
	b.wants("No webhooks yet")
	b.look("webhooks-empty")
	b.press("Add webhook")
	b.look("webhook-new")
	b.fill("Receiver URL", "https://10.0.0.1/hooks")
	if status := b.press("Add webhook"); status != 422 {
		t.Errorf("status %d", status)
	}
	b.look("webhook-new-refused")
	b.fill("Receiver URL", r.URL+"/hooks/risks?team=governance")
	b.fill("Description", "Risk desk")
	b.toggle("risk.created")
	b.toggle("risk.severity_changed")
	b.press("Add webhook")
	b.wants("It is shown once")
	b.look("webhook-secret")
	secret := evaluate[string](b, `document.querySelector(".copy code").textContent`)
	b.press("I have saved it")
	b.wants("No deliveries yet", "!"+secret)
	b.look("webhook-quiet")
	b.press("Send test")
	b.wants("The receiver answered the test with 503")
	b.look("webhook-test-rejected")

	s.raise("risk.created", 3)
	b.open(b.path())
	b.wants("Waiting")
	b.look("webhook-waiting")
	if got := s.deliver(); got.Dead != 3 {
		t.Fatalf("%+v, want three dead letters", got)
	}
	b.open("/webhooks")
	b.wants("Failing", "Dead letters (3)")
	b.look("webhooks-failing")
	b.press("Risk desk")
	b.wants("3 deliveries ran out of attempts", "Answered 503")
	b.look("webhook-failing")
	b.press("risk.created")
	b.wants("Attempt 3", "Down for maintenance", "!"+secret)
	evaluate[bool](b, `(document.querySelectorAll(".attempt")[2].open = true)`)
	b.look("delivery-dead")

	b.open("/webhooks/deadletters")
	b.look("deadletters")
	b.toggle("Discard selected…")
	b.look("deadletters-discard")
	if status := b.press("Discard"); status != 422 {
		t.Errorf("status %d", status)
	}
	b.wants("Select at least one dead letter.")
	b.look("deadletters-refused")
	r.say(http.StatusNoContent, "")
	evaluate[bool](b, `document.querySelectorAll("[name=id]")[1].click() ?? true`)
	b.press("Replay selected")
	b.wants("1 dead letter will be sent again.", "2 dead letters")
	before := len(r.got())
	if got := s.deliver(); got.Delivered != 1 || len(r.got()) != before+1 {
		t.Errorf("%+v, %d arrivals after the replay", got, len(r.got())-before)
	}
	last := r.got()[before]
	if err := webhook.Verify(secret, last.header, []byte(last.body), s.clock.Now()); err != nil {
		t.Error(err)
	}
	b.toggle("Replay all…")
	b.look("deadletters-all")
	b.press("Replay all")
	b.wants("2 dead letters will be sent again.", "No dead letters")
	b.look("deadletters-none")
	if got := s.deliver(); got.Delivered != 2 {
		t.Errorf("%+v", got)
	}
	b.open("/webhooks")
	b.wants("Active")
	b.look("webhooks")
	b.press("Risk desk")
	b.press("Send test")
	b.wants("acknowledged the test with 204")
	b.look("webhook")
	b.press("risk.created")
	b.look("delivery")
	b.press(r.URL + "/hooks/risks?team=governance")
	b.press("Edit")
	b.look("webhook-change")
	b.press("Cancel")
	b.toggle("Rotate the secret")
	b.look("webhook-rotate")
	b.press("Create new secret")
	b.wants("The old secret is valid until")
	b.look("webhook-rotated")
	b.press("I have saved it")
	b.press("Pause")
	b.wants("The webhook is paused.")
	b.look("webhook-paused")
	b.toggle("Delete…")
	b.look("webhook-delete")
	b.press("Delete")
	b.wants("No webhooks yet")
}
