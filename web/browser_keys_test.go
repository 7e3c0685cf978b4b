//go:build browser

package web_test

import (
	"testing"
	"time"

	"govsvc/db/auth"
)

// TestBrowserKeys: a key is minted, works, is rotated, revoked and refused.
func TestBrowserKeys(t *testing.T) {
	s := newScene(t)
	b := newBrowser(t, s).as(auth.Admin)
	b.open("/keys")
	b.wants("No API keys yet")
	b.look("keys-empty")
	b.press("Create API key")
	b.look("key-new")
	if status := b.press("Create API key"); status != 422 {
		t.Errorf("status %d", status)
	}
	b.wants("Enter a name, so that", "Choose at least one scope")
	b.look("key-new-refused")
	b.fill("Name", "Board report")
	b.toggle("read:risks")
	b.toggle("write:risks")
	b.fill("Expires on", "2026-10-09")
	b.press("Create API key")
	b.wants("It is shown once", s.url+"/api/v1/risks")
	b.look("key-created")
	key := evaluate[string](b, `document.querySelector(".copy code").textContent`)
	if r := s.call("GET", "/risks?limit=1", key, ""); r.status != 200 {
		t.Errorf("the new key: %d %s", r.status, r.body)
	}
	b.open(b.path())
	b.wants("A key is shown once", "!"+key)
	b.look("key-created-gone")

	s.manyKeys()
	b.open("/keys")
	b.wants("Board report", "!"+key)
	b.toggle("2 keys revoked or expired")
	b.look("keys")
	b.press("Board report")
	b.look("key")
	b.fill("The old key remains valid for", "1h")
	b.press("Create successor")
	b.wants("The old key is valid until")
	b.look("key-rotated")
	successor := evaluate[string](b, `document.querySelector(".copy code").textContent`)
	b.press("I have saved it")
	s.clock.advance(time.Hour)
	if r := s.call("GET", "/risks?limit=1", key, ""); r.status != 401 {
		t.Errorf("the old key after the overlap: %d %s", r.status, r.body)
	}
	if r := s.call("GET", "/risks?limit=1", successor, ""); r.status != 200 {
		t.Errorf("the successor: %d %s", r.status, r.body)
	}

	b.open("/keys")
	b.press("Board report")
	b.toggle("Revoke…")
	b.look("key-revoke")
	b.press("Revoke")
	b.fill("Password", password) // an hour has passed since the sign-in
	b.press("Confirm")
	b.wants("The key Board report has been revoked.")
	if r := s.call("GET", "/risks?limit=1", successor, ""); r.status != 401 {
		t.Errorf("the revoked key: %d %s", r.status, r.body)
	}
}
