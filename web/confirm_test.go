package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"govsvc/db/auth"
)

// TestRoutes_Proof checks that every action that changes users, keys, roles, settings
// or a second factor requires a proof of identity. A separate page for the action's
// form requires it, too.
func TestRoutes_Proof(t *testing.T) {
	t.Parallel()
	without := map[string]bool{ // pages in the groups below that require no proof
		"GET /account": true, "GET /account/confirm": true, "POST /account/confirm": true, "GET /account/recovery-codes": true,
		"POST /account/signout-everywhere": true, "POST /account/sessions/{id}/end": true, "POST /account/sessions/end-others": true,
		"GET /keys": true, "GET /keys/made": true, "GET /keys/{id}": true, "GET /settings": true, "GET /users": true,
	}
	webhooks := map[string]bool{
		"GET /webhooks/new": true, "POST /webhooks/new": true, "GET /webhooks/{id}/change": true, "POST /webhooks/{id}/change": true,
		"POST /webhooks/{id}/rotate-secret": true,
	}
	checked := 0
	for _, route := range routes() {
		name := route.Method + " " + route.Path
		group, _, _ := strings.Cut(strings.TrimPrefix(route.Path, "/"), "/")
		want := webhooks[name]
		switch group {
		case "account", "keys", "settings", "users":
			want = !without[name]
		}
		if got := route.Fresh || route.Own; got != want {
			t.Errorf("%s: requires a proof: %v, want %v", name, got, want)
		}
		if want {
			checked++
		}
	}
	if checked < 20 {
		t.Errorf("%d pages require a proof, want at least 20", checked)
	}
}

// TestConfirm_EveryPage checks that each page that requires a fresh proof asks for it
// after ten minutes. It changes nothing before the user gives the proof.
func TestConfirm_EveryPage(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.clock.Advance(auth.ConfirmedFor)
	c := h.as(auth.Admin)
	before := h.auditLog()
	for _, route := range routes() {
		if !route.Fresh {
			continue
		}
		r := c.request(route)
		if route.Method == http.MethodPost {
			c.expect(r, 403, "<h1>Confirm it is you</h1>", `name="confirm-secret" type="password"`, `action="`+pathWithID(route)+`"`)
		} else {
			expectRedirect(t, route.Path, r, "/account/confirm")
		}
	}
	if h.auditLog() != before {
		t.Error("a page wrote to the audit log without a fresh proof")
	}
}

// TestConfirm_KeepsWhatWasTyped checks that after the proof an action continues with
// the values of its form, except secrets.
func TestConfirm_KeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	c.expect(c.get("/keys/new"), 200)
	h.clock.Advance(auth.ConfirmedFor)
	mint := []string{"name", `a "key"`, "kind", "live", "scope", "read:risks", "scope", "read:kpis", "rpm", "", "rpd", "", "expires", ""}
	r := c.post("/keys/new", mint...)
	c.expect(r, 403, `<input type="hidden" name="name" value="a &#34;key&#34;">`,
		`name="scope" value="read:risks"`, `name="scope" value="read:kpis"`, `action="/keys/new"`, `href="/keys"`)
	c.expect(c.post("/keys/new", append(mint, "confirm-secret", "")...), 422, "Enter the password.", `name="scope" value="read:kpis"`)
	c.expect(c.post("/keys/new", append(mint, "confirm-secret", "not "+password)...), 422, "This is not your password.", "f-confirm-secret-error", "!not "+password)
	if keys, err := h.store.Keys.List(t.Context(), h.by().Org); err != nil || len(keys) != 0 {
		t.Fatalf("got %d keys, want none; error %v", len(keys), err)
	}
	c.expect(c.follow(c.post("/keys/new", append(mint, "confirm-secret", password)...), "/keys/made"), 200, "gds_live_")
	c.expect(c.get("/keys/new"), 200) // the proof is valid for the next page, too

	h.clock.Advance(auth.ConfirmedFor)
	r = c.post("/users/new", "name", "grace", "role", "viewer", "password", "plain tulips at noon", "password-again", "plain tulips at noon")
	c.expect(r, 403, `name="name" value="grace"`, "!tulips")
	r = c.post("/users/new", "name", "grace", "role", "viewer", "confirm-secret", password)
	c.expect(r, 422, "<h1>Add a user</h1>", `value="grace"`, "A password is needed.")
	h.expectAuditEvents("user.confirmed", "user.check_refused")
	if log := h.auditLog(); !strings.Contains(log, `"address":"127.0.0.1"`) || strings.Contains(log, password) {
		t.Errorf("the audit log lacks the address, or contains a password:\n%s", log)
	}
}

// TestConfirm_ThenThePage checks that after the proof the user gets the requested page.
// An address of another site is ignored.
func TestConfirm_ThenThePage(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	c.follow(c.get("/account/confirm?next=/users/new"), "/users/new") // the proof of the sign-in is still fresh
	h.clock.Advance(auth.ConfirmedFor)
	c.expect(c.follow(c.get("/users/new?x=1"), "/account/confirm"), 200, `name="next" value="/users/new?x=1"`, `href="/users"`)
	c.expect(c.post("/account/confirm", "next", "/users/new?x=1", "confirm-secret", "wrong"), 422, `name="next" value="/users/new?x=1"`, "This is not your password.")
	c.expect(c.follow(c.post("/account/confirm", "next", "/users/new?x=1", "confirm-secret", password), "/users/new"), 200, "<h1>Add a user</h1>")
	h.clock.Advance(auth.ConfirmedFor)
	c.follow(c.post("/account/confirm", "next", "//evil.example", "confirm-secret", password), "/")
	for range 4 { // plus the failed attempt above
		c.expect(c.post("/account/confirm", "confirm-secret", "wrong"), 422)
	}
	r := c.post("/account/confirm", "confirm-secret", password)
	c.expect(r, 429, "Too many failed attempts")
	if r.header.Get("Retry-After") == "" {
		t.Error("the response has no Retry-After header")
	}
}

// TestConfirm_Code checks that for a user with a second factor, a code is the proof.
// The password is refused.
func TestConfirm_Code(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	before := c.cookie("govsvc_session")
	secret, r := c.secondFactor(t)
	c.expect(c.follow(r, "/account/recovery-codes"), 200, "Save these codes now")
	if after := c.cookie("govsvc_session"); after == before || after == "" {
		t.Error("got the same or no session token after a second factor was turned on")
	}
	h.clock.Advance(auth.ConfirmedFor)
	c.expect(c.post("/settings", "plan", "business", "subscription", "active"), 403, `<label for="f-confirm-secret">Code</label>`, `value="business"`)
	c.expect(c.post("/settings", "plan", "business", "subscription", "active", "confirm-secret", password), 422, "This code is wrong")
	code := totp(t, secret, h.clock.Now())
	c.expect(c.follow(c.post("/settings", "plan", "business", "subscription", "active", "confirm-secret", code), "/settings"), 200, "Plan and subscription have been changed.")
}

// TestSessions checks that the account lists the user's sessions, and can end one of
// them or all others. A new password renews the current session and ends the others.
func TestSessions(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	firefox := "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
	var guests []*client
	for i, browser := range []string{firefox, "<script>alert(1)</script>", strings.Repeat("x", 5000)} {
		h.clock.Advance(time.Second)
		c := h.anonymous()
		c.header.Set("User-Agent", browser)
		c.follow(c.post("/signin", "name", "editor", "password", password), "/")
		guests = append(guests, c)
		if i == 0 {
			c.expect(c.get("/account"), 200, "Firefox on Linux", "this browser", "127.0.0.1")
		}
	}
	c := guests[0]
	r := c.get("/account")
	c.expect(r, 200, "Unknown browser", "End all other sessions", "!<script>alert")
	end := between(t, r.body, `action="/account/sessions/`, `"`)
	c.expect(c.follow(c.post("/account/sessions/"+end), "/account"), 200, "The session has ended.")
	c.expect(c.follow(c.post("/account/sessions/"+end), "/account"), 200, "This session has ended already.")
	if code := guests[2].get("/account").status; code != http.StatusSeeOther {
		t.Errorf("the ended session got status %d, want 303", code)
	}
	guests[1].expect(guests[1].get("/account"), 200)
	c.expect(c.follow(c.post("/account/sessions/end-others"), "/account"), 200, "All other sessions have ended.", "!End all other sessions")
	guests[1].expect(guests[1].get("/account"), 303)

	guests[1].follow(guests[1].post("/signin", "name", "editor", "password", password), "/")
	before := c.cookie("govsvc_session")
	c.expect(c.follow(c.post("/account/password", "current", password, "next", "plain tulips at noon", "next-again", "plain tulips at noon"), "/account"), 200, "other browsers have been signed out")
	if after := c.cookie("govsvc_session"); after == before || after == "" {
		t.Error("got the same or no session token after a change of the password")
	}
	guests[1].expect(guests[1].get("/account"), 303)
	stolen := h.anonymous()
	stolen.setCookie("govsvc_session", before)
	stolen.expect(stolen.get("/account"), 303)
	log := h.auditLog()
	if n := strings.Count(log, `"action":"user.session_ended"`); n < 2 || strings.Contains(log, strings.Repeat("x", 301)) {
		t.Errorf("the audit log has %d user.session_ended events, or a value longer than 300 characters:\n%.3000s", n, log)
	}

	admin := h.as(auth.Admin)
	admin.expect(admin.get("/users/"+h.user("editor").ID), 200, "Firefox on Linux", "Sessions", "Sign out everywhere")
}
