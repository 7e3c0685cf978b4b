//go:build browser

package web_test

import (
	"net/http"
	"testing"
	"time"

	"govsvc/db/auth"
)

// TestBrowserUsers checks that a user is added, changed and removed.
func TestBrowserUsers(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	b := newBrowser(t, h).as(auth.Admin)
	b.open("/users")
	b.checkPage("users")
	b.press("Add a user")
	b.checkPage("user-new")
	b.fill("Name", "Grace Hopper")
	b.fill("Role", "editor")
	b.fill("First password", password)
	b.fill("Confirm password", password+"!")
	b.pressFor("Add user", http.StatusUnprocessableEntity)
	b.expect("The two passwords differ.")
	b.checkPage("user-new-refused")
	b.fill("First password", password)
	b.fill("Confirm password", password)
	b.press("Add user")
	b.expect("The user Grace Hopper has been added")
	b.press("Grace Hopper")
	b.checkPage("user")
	b.fill("Role", "viewer")
	b.press("Change role")
	b.expect("Grace Hopper is now a viewer.")
	b.toggle("Remove… the user Grace Hopper")
	b.checkPage("user-remove")
	b.press("Remove")
	b.expect("The user Grace Hopper has been removed.")
	b.open("/users/" + h.user("admin").ID)
	b.checkPage("user-own")
	b.toggle("Remove… the user admin")
	b.pressFor("Remove", http.StatusConflict)
	b.expect("is the last admin")
	b.checkPage("user-last-admin")
}

// TestBrowserSettings changes the plan and adds an organisation.
func TestBrowserSettings(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	b := newBrowser(t, h).as(auth.Admin)
	b.open("/settings")
	b.checkPage("settings")
	b.toggle("Add an organisation")
	b.checkPage("settings-add")
	b.press("Add organisation")
	b.expect("Fix 1 field")
	b.checkPage("settings-refused")
	b.fill("Name", "Nordic branch")
	b.press("Add organisation")
	b.expect("The organisation Nordic branch has been added, with you as its admin.")
	b.fill("Subscription", "past_due")
	b.press("Save changes")
	b.expect("The subscription is not active")
	b.checkPage("settings-past-due")
	b.fill("Plan", "business")
	b.fill("Subscription", "active")
	b.press("Save changes")
	b.open("/audit")
	b.expect("The audit log is not part of this organisation's plan")
	b.checkPage("audit-of-plan")
}

// TestBrowserAudit searches the log. It verifies the log before and after an event is
// altered.
func TestBrowserAudit(t *testing.T) {
	t.Parallel()
	h, risk, _ := harnessWithEvents(t)
	b := newBrowser(t, h).as(auth.Admin)
	b.open("/audit")
	b.checkPage("audit")
	b.fill("Actor", h.user("editor").ID)
	b.fill("Action (e.g. risk.*)", "risk.*")
	b.press("Apply")
	b.expect("Risk updated", "!API key created")
	b.toggle("2 changes")
	b.expect("S4")
	b.checkPage("audit-change")
	b.fill("Action (e.g. risk.*)", "vendor.*")
	b.press("Apply")
	b.expect("No matching events")
	b.checkPage("audit-none")
	b.open("/audit")
	b.press("Verify the chain")
	b.checkPage("audit-verify")
	b.press("Verify the chain")
	b.expect("The audit log is intact")
	b.checkPage("audit-intact")
	h.execSQL("DROP TRIGGER audit_events_never_change")
	h.execSQL(`UPDATE audit_events SET event = replace(event, '"S2"', '"S9"') WHERE resource_id = ?`, risk)
	b.press("Verify the chain")
	b.expect("The audit log is broken")
	b.checkPage("audit-broken")
}

// TestBrowserStatus opens the status page of a healthy service, and of one with late
// webhook deliveries.
func TestBrowserStatus(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	b := newBrowser(t, h).as(auth.Admin)
	b.open("/status")
	b.checkPage("status")
	receiver := newReceiver(t, http.StatusInternalServerError, "")
	h.as(auth.Admin).subscribe(receiver.URL)
	h.emit("risk.created", 3)
	h.clock.Advance(10 * time.Minute)
	b.open("/status")
	b.expect("Webhook deliveries are late")
	b.checkPage("status-late")
}

// TestBrowserConfirm checks that after ten minutes an action asks for the password,
// then continues with the values of its form. The account lists the sessions.
func TestBrowserConfirm(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	b := newBrowser(t, h).as(auth.Admin)
	b.open("/settings")
	h.clock.Advance(auth.ConfirmedFor)
	b.fill("Plan", "business")
	b.pressFor("Save changes", http.StatusForbidden)
	b.expect("Confirm it is you")
	b.checkPage("confirm")
	b.fill("Password", password+"!")
	b.pressFor("Confirm", http.StatusUnprocessableEntity)
	b.expect("This is not your password.")
	b.checkPage("confirm-refused")
	b.fill("Password", password)
	b.press("Confirm")
	b.expect("Plan and subscription have been changed.")

	other := h.anonymous()
	other.header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0")
	other.follow(other.post("/signin", "name", "admin", "password", password), "/")
	b.open("/account")
	b.expect("Firefox on Linux")
	b.checkPage("account-sessions")
	b.press("End all other sessions")
	b.expect("All other sessions have ended.")
	other.expect(other.get("/account"), 303)
}
