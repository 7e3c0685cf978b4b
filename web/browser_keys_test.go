//go:build browser

package web_test

import (
	"testing"
	"time"

	"govsvc/db/auth"
)

// TestBrowserKeys checks that a key is minted, works, is rotated, revoked and refused.
func TestBrowserKeys(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	b := newBrowser(t, h).as(auth.Admin)
	b.open("/keys")
	b.expect("No API keys yet")
	b.checkPage("keys-empty")
	b.press("Create API key")
	b.checkPage("key-new")
	b.pressFor("Create API key", 422)
	b.expect("Enter a name, so that", "Choose at least one scope")
	b.checkPage("key-new-refused")
	b.fill("Name", "Board report")
	b.toggle("read:risks")
	b.toggle("write:risks")
	b.fill("Expires on", "2026-10-09")
	b.press("Create API key")
	b.expect("It is shown once", h.url+"/api/v1/risks")
	b.checkPage("key-created")
	key := evaluate[string](b, `document.querySelector(".copy code").textContent`)
	if r := h.callAPI("GET", "/risks?limit=1", key, ""); r.status != 200 {
		t.Errorf("the new key: got status %d: %s", r.status, r.body)
	}
	b.open(b.path())
	b.expect("A key is shown once", "!"+key)
	b.checkPage("key-created-gone")

	h.createManyKeys()
	b.open("/keys")
	b.expect("Board report", "!"+key)
	b.toggle("2 keys revoked or expired")
	b.checkPage("keys")
	b.press("Board report")
	b.checkPage("key")
	b.fill("The old key remains valid for", "1h")
	b.press("Create successor")
	b.expect("The old key is valid until")
	b.checkPage("key-rotated")
	successor := evaluate[string](b, `document.querySelector(".copy code").textContent`)
	b.press("I have saved it")
	h.clock.Advance(time.Hour)
	if r := h.callAPI("GET", "/risks?limit=1", key, ""); r.status != 401 {
		t.Errorf("the old key after the overlap: got status %d: %s", r.status, r.body)
	}
	if r := h.callAPI("GET", "/risks?limit=1", successor, ""); r.status != 200 {
		t.Errorf("the successor: got status %d: %s", r.status, r.body)
	}

	b.open("/keys")
	b.press("Board report")
	b.toggle("Revoke…")
	b.checkPage("key-revoke")
	b.press("Revoke")
	b.fill("Password", password) // an hour has passed since the sign-in
	b.press("Confirm")
	b.expect("The key Board report has been revoked.")
	if r := h.callAPI("GET", "/risks?limit=1", successor, ""); r.status != 401 {
		t.Errorf("the revoked key: got status %d: %s", r.status, r.body)
	}
}
