//go:build browser

package web_test

import (
	"net/http"
	"testing"

	"govsvc/db/auth"
	"govsvc/server/webhook"
)

// TestBrowserWebhooks creates and tests a webhook. Its receiver fails until there are
// dead letters. Then the receiver recovers, and a replay delivers them.
func TestBrowserWebhooks(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	r := newReceiver(t, http.StatusServiceUnavailable, "<h1>Down for maintenance</h1>\nBack at noon. "+hostile)
	b := newBrowser(t, h).as(auth.Admin)
	b.open("/webhooks")
	b.expect("No webhooks yet")
	b.checkPage("webhooks-empty")
	b.press("Add webhook")
	b.checkPage("webhook-new")
	b.fill("Receiver URL", "https://10.0.0.1/hooks")
	b.pressFor("Add webhook", 422)
	b.checkPage("webhook-new-refused")
	b.fill("Receiver URL", r.URL+"/hooks/risks?team=governance")
	b.fill("Description", "Risk desk")
	b.toggle("risk.created")
	b.toggle("risk.severity_changed")
	b.press("Add webhook")
	b.expect("It is shown once")
	b.checkPage("webhook-secret")
	secret := evaluate[string](b, `document.querySelector(".copy code").textContent`)
	b.press("I have saved it")
	b.expect("No deliveries yet", "!"+secret)
	b.checkPage("webhook-quiet")
	b.press("Send test")
	b.expect("The receiver answered the test with 503")
	b.checkPage("webhook-test-rejected")

	h.emit("risk.created", 3)
	b.open(b.path())
	b.expect("Waiting")
	b.checkPage("webhook-waiting")
	if got := h.deliver(); got.Dead != 3 {
		t.Fatalf("got %+v, want three dead letters", got)
	}
	b.open("/webhooks")
	b.expect("Failing", "Dead letters (3)")
	b.checkPage("webhooks-failing")
	b.press("Risk desk")
	b.expect("3 deliveries ran out of attempts", "Answered 503")
	b.checkPage("webhook-failing")
	b.press("risk.created")
	b.expect("Attempt 3", "Down for maintenance", "!"+secret)
	evaluate[bool](b, `(document.querySelectorAll(".attempt")[2].open = true)`)
	b.checkPage("delivery-dead")

	b.open("/webhooks/deadletters")
	b.checkPage("deadletters")
	b.toggle("Discard selected…")
	b.checkPage("deadletters-discard")
	b.pressFor("Discard", 422)
	b.expect("Select at least one dead letter.")
	b.checkPage("deadletters-refused")
	r.SetAnswer(answer(http.StatusNoContent, ""))
	evaluate[bool](b, `document.querySelectorAll("[name=id]")[1].click() ?? true`)
	b.press("Replay selected")
	b.expect("1 dead letter will be sent again.", "2 dead letters")
	before := len(r.Received())
	if got := h.deliver(); got.Delivered != 1 || len(r.Received()) != before+1 {
		t.Errorf("got %+v and %d requests after the replay, want one delivery", got, len(r.Received())-before)
	}
	last := r.Received()[before]
	if err := webhook.Verify(secret, last.Header, last.Body, h.clock.Now()); err != nil {
		t.Error(err)
	}
	b.toggle("Replay all…")
	b.checkPage("deadletters-all")
	b.press("Replay all")
	b.expect("2 dead letters will be sent again.", "No dead letters")
	b.checkPage("deadletters-none")
	if got := h.deliver(); got.Delivered != 2 {
		t.Errorf("%+v", got)
	}
	b.open("/webhooks")
	b.expect("Active")
	b.checkPage("webhooks")
	b.press("Risk desk")
	b.press("Send test")
	b.expect("acknowledged the test with 204")
	b.checkPage("webhook")
	b.press("risk.created")
	b.checkPage("delivery")
	b.press(r.URL + "/hooks/risks?team=governance")
	b.press("Edit")
	b.checkPage("webhook-change")
	b.press("Cancel")
	b.toggle("Rotate the secret")
	b.checkPage("webhook-rotate")
	b.press("Create new secret")
	b.expect("The old secret is valid until")
	b.checkPage("webhook-rotated")
	b.press("I have saved it")
	b.press("Pause")
	b.expect("The webhook is paused.")
	b.checkPage("webhook-paused")
	b.toggle("Delete…")
	b.checkPage("webhook-delete")
	b.press("Delete")
	b.expect("No webhooks yet")
}
