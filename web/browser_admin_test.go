//go:build browser

package web_test

import (
	"net/http"
	"testing"
	"time"

	"govsvc/db/auth"
)

// TestBrowserUsers: a user is added, changed and removed.
func TestBrowserUsers(t *testing.T) {
	s := newScene(t)
	b := newBrowser(t, s).as(auth.Admin)
	b.open("/users")
	b.look("users")
	b.press("Add a user")
	b.look("user-new")
	b.fill("Name", "Grace Hopper")
	b.fill("Role", "editor")
	b.fill("First password", password)
	b.fill("Confirm password", password+"!")
	if status := b.press("Add user"); status != http.StatusUnprocessableEntity {
		t.Errorf("status %d", status)
	}
	b.wants("The two passwords differ.")
	b.look("user-new-refused")
	b.fill("First password", password)
	b.fill("Confirm password", password)
	b.press("Add user")
	b.wants("The user Grace Hopper has been added")
	b.press("Grace Hopper")
	b.look("user")
	b.fill("Role", "viewer")
	b.press("Change role")
	b.wants("Grace Hopper is now a viewer.")
	b.toggle("Remove… the user Grace Hopper")
	b.look("user-remove")
	b.press("Remove")
	b.wants("The user Grace Hopper has been removed.")
	b.open("/users/" + s.user("admin").ID)
	b.look("user-own")
	b.toggle("Remove… the user admin")
	if status := b.press("Remove"); status != http.StatusConflict {
		t.Errorf("status %d", status)
	}
	b.wants("is the last admin")
	b.look("user-last-admin")
}

// TestBrowserSettings changes the plan and adds an organisation.
func TestBrowserSettings(t *testing.T) {
	s := newScene(t)
	b := newBrowser(t, s).as(auth.Admin)
	b.open("/settings")
	b.look("settings")
	b.toggle("Add an organisation")
	b.look("settings-add")
	b.press("Add organisation")
	b.wants("Fix 1 field")
	b.look("settings-refused")
	b.fill("Name", "Nordic branch")
	b.press("Add organisation")
	b.wants("The organisation Nordic branch has been added, with you as its admin.")
	b.fill("Subscription", "past_due")
	b.press("Save changes")
	b.wants("The subscription is not active")
	b.look("settings-past-due")
	b.fill("Plan", "business")
	b.fill("Subscription", "active")
	b.press("Save changes")
	b.open("/audit")
	b.wants("The audit log is not part of this organisation's plan")
	b.look("audit-of-plan")
}

// TestBrowserAudit searches the log and verifies it, sound and forged.
func TestBrowserAudit(t *testing.T) {
	s, risk, _ := logged(t)
	b := newBrowser(t, s).as(auth.Admin)
	b.open("/audit")
	b.look("audit")
	b.fill("Actor", s.user("editor").ID)
	b.fill("Action (e.g. risk.*)", "risk.*")
	b.press("Apply")
	b.wants("risk.updated", "!key.minted")
	b.toggle("2 changes")
	b.wants("S4")
	b.look("audit-change")
	b.fill("Action (e.g. risk.*)", "vendor.*")
	b.press("Apply")
	b.wants("No matching events")
	b.look("audit-none")
	b.open("/audit")
	b.press("Verify the chain")
	b.look("audit-verify")
	b.press("Verify the chain")
	b.wants("The audit log is intact")
	b.look("audit-intact")
	s.fill("DROP TRIGGER audit_events_never_change")
	s.fill(`UPDATE audit_events SET event = replace(event, '"S2"', '"S9"') WHERE resource_id = ?`, risk)
	b.press("Verify the chain")
	b.wants("The audit log is broken")
	b.look("audit-broken")
}

// TestBrowserStatus looks at a service that has something to tell.
func TestBrowserStatus(t *testing.T) {
	s := newScene(t)
	b := newBrowser(t, s).as(auth.Admin)
	b.open("/status")
	b.look("status")
	receiver := newReceiver(t, http.StatusInternalServerError, "")
	s.as(auth.Admin).subscribe(receiver.URL)
	s.raise("risk.created", 3)
	s.clock.advance(10 * time.Minute)
	b.open("/status")
	b.wants("Webhook deliveries are late")
	b.look("status-late")
}

// TestBrowserConfirm: after ten minutes an action asks for the password and goes
// on with what was typed. The account lists the sessions.
func TestBrowserConfirm(t *testing.T) {
	s := newScene(t)
	b := newBrowser(t, s).as(auth.Admin)
	b.open("/settings")
	s.clock.advance(auth.ConfirmedFor)
	b.fill("Plan", "business")
	if status := b.press("Save changes"); status != http.StatusForbidden {
		t.Errorf("status %d", status)
	}
	b.wants("Confirm it is you")
	b.look("confirm")
	b.fill("Password", password+"!")
	if status := b.press("Confirm"); status != http.StatusUnprocessableEntity {
		t.Errorf("status %d", status)
	}
	b.wants("This is not your password.")
	b.look("confirm-refused")
	b.fill("Password", password)
	b.press("Confirm")
	b.wants("Plan and subscription have been changed.")

	other := s.guest()
	other.header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0")
	other.leads(other.post("/signin", "name", "admin", "password", password), "/")
	b.open("/account")
	b.wants("Firefox on Linux")
	b.look("account-sessions")
	b.press("End all other sessions")
	b.wants("All other sessions have ended.")
	other.wants(other.get("/account"), 303)
}
