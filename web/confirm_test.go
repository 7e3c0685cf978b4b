package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"govsvc/db/auth"
)

// TestRoutes_Proof: every page that changes users, keys, roles, settings or a
// second factor takes a proof of identity, and so does each form for it that
// has a page of its own.
func TestRoutes_Proof(t *testing.T) {
	t.Parallel()
	without := map[string]bool{ // of the groups below
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
			t.Errorf("%s: takes a proof: %v, want %v", name, got, want)
		}
		if want {
			checked++
		}
	}
	if checked < 20 {
		t.Errorf("%d pages take a proof, want at least 20", checked)
	}
}

// TestConfirm_EveryPage: each page that takes a fresh proof asks for it after
// ten minutes, and does nothing before it is given.
func TestConfirm_EveryPage(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.clock.advance(auth.ConfirmedFor)
	g := s.as(auth.Admin)
	before := s.auditLog()
	for _, route := range routes() {
		if !route.Fresh {
			continue
		}
		r := g.ask(route)
		if route.Method == http.MethodPost {
			g.wants(r, 403, "<h1>Confirm it is you</h1>", `name="confirm-secret" type="password"`, `action="`+address(route)+`"`)
		} else {
			wantRedirect(t, route.Path, r, "/account/confirm")
		}
	}
	if s.auditLog() != before {
		t.Error("something was done without a fresh proof")
	}
}

// TestConfirm_KeepsWhatWasTyped: an action goes on with its values after the
// proof, secrets excepted.
func TestConfirm_KeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	g := s.as(auth.Admin)
	g.wants(g.get("/keys/new"), 200)
	s.clock.advance(auth.ConfirmedFor)
	mint := []string{"name", `a "key"`, "kind", "live", "scope", "read:risks", "scope", "read:kpis", "rpm", "", "rpd", "", "expires", ""}
	r := g.post("/keys/new", mint...)
	g.wants(r, 403, `<input type="hidden" name="name" value="a &#34;key&#34;">`,
		`name="scope" value="read:risks"`, `name="scope" value="read:kpis"`, `action="/keys/new"`, `href="/keys"`)
	g.wants(g.post("/keys/new", append(mint, "confirm-secret", "")...), 422, "Enter the password.", `name="scope" value="read:kpis"`)
	g.wants(g.post("/keys/new", append(mint, "confirm-secret", "not "+password)...), 422, "This is not your password.", "f-confirm-secret-error", "!not "+password)
	if keys, err := s.store.Keys.List(t.Context(), s.by().Org); err != nil || len(keys) != 0 {
		t.Fatalf("%d keys, %v", len(keys), err)
	}
	g.wants(g.leads(g.post("/keys/new", append(mint, "confirm-secret", password)...), "/keys/made"), 200, "gds_live_")
	g.wants(g.get("/keys/new"), 200) // the proof counts for the next page, too

	s.clock.advance(auth.ConfirmedFor)
	r = g.post("/users/new", "name", "grace", "role", "viewer", "password", "plain tulips at noon", "password-again", "plain tulips at noon")
	g.wants(r, 403, `name="name" value="grace"`, "!tulips")
	r = g.post("/users/new", "name", "grace", "role", "viewer", "confirm-secret", password)
	g.wants(r, 422, "<h1>Add a user</h1>", `value="grace"`, "A password is needed.")
	for _, action := range []string{"user.confirmed", "user.check_refused"} {
		if !s.audited(action, auth.Admin) {
			t.Errorf("the audit log has no %s", action)
		}
	}
	if log := s.auditLog(); !strings.Contains(log, `"address":"127.0.0.1"`) || strings.Contains(log, password) {
		t.Errorf("the audit log lacks the address, or has a password:\n%s", log)
	}
}

// TestConfirm_ThenThePage: the page that was asked for follows the proof, and
// no other site does.
func TestConfirm_ThenThePage(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	g := s.as(auth.Admin)
	g.leads(g.get("/account/confirm?next=/users/new"), "/users/new") // nothing to prove yet
	s.clock.advance(auth.ConfirmedFor)
	g.wants(g.leads(g.get("/users/new?x=1"), "/account/confirm"), 200, `name="next" value="/users/new?x=1"`, `href="/users"`)
	g.wants(g.post("/account/confirm", "next", "/users/new?x=1", "confirm-secret", "wrong"), 422, `name="next" value="/users/new?x=1"`, "This is not your password.")
	g.wants(g.leads(g.post("/account/confirm", "next", "/users/new?x=1", "confirm-secret", password), "/users/new"), 200, "<h1>Add a user</h1>")
	s.clock.advance(auth.ConfirmedFor)
	g.leads(g.post("/account/confirm", "next", "//evil.example", "confirm-secret", password), "/")
	for range 4 { // and the one above
		g.wants(g.post("/account/confirm", "confirm-secret", "wrong"), 422)
	}
	r := g.post("/account/confirm", "confirm-secret", password)
	g.wants(r, 429, "Too many failed attempts")
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

// TestConfirm_Code: where a second factor is on, its code is the proof and the
// password is not.
func TestConfirm_Code(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	g := s.as(auth.Admin)
	before := g.cookie("govsvc_session")
	secret, r := g.secondFactor(t)
	g.wants(g.leads(r, "/account/recovery-codes"), 200, "Save these codes now")
	if after := g.cookie("govsvc_session"); after == before || after == "" {
		t.Error("the session has the same token after a second factor was turned on")
	}
	s.clock.advance(auth.ConfirmedFor)
	g.wants(g.post("/settings", "plan", "business", "subscription", "active"), 403, `<label for="f-confirm-secret">Code</label>`, `value="business"`)
	g.wants(g.post("/settings", "plan", "business", "subscription", "active", "confirm-secret", password), 422, "This code is wrong")
	code := totp(t, secret, s.clock.Now())
	g.wants(g.leads(g.post("/settings", "plan", "business", "subscription", "active", "confirm-secret", code), "/settings"), 200, "Plan and subscription have been changed.")
}

// TestSessions: the account lists the user's sessions, ends one or all others,
// and a new password renews the session and ends the others.
func TestSessions(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	firefox := "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
	var guests []*guest
	for i, browser := range []string{firefox, "<script>alert(1)</script>", strings.Repeat("x", 5000)} {
		s.clock.advance(time.Second)
		g := s.guest()
		g.header.Set("User-Agent", browser)
		g.leads(g.post("/signin", "name", "editor", "password", password), "/")
		guests = append(guests, g)
		if i == 0 {
			g.wants(g.get("/account"), 200, "Firefox on Linux", "this browser", "127.0.0.1")
		}
	}
	g := guests[0]
	r := g.get("/account")
	g.wants(r, 200, "Unknown browser", "End all other sessions", "!<script>alert")
	end := between(t, r.body, `action="/account/sessions/`, `"`)
	g.wants(g.leads(g.post("/account/sessions/"+end), "/account"), 200, "The session has ended.")
	g.wants(g.leads(g.post("/account/sessions/"+end), "/account"), 200, "This session has ended already.")
	if code := guests[2].get("/account").status; code != http.StatusSeeOther {
		t.Errorf("the ended session answers %d", code)
	}
	guests[1].wants(guests[1].get("/account"), 200)
	g.wants(g.leads(g.post("/account/sessions/end-others"), "/account"), 200, "All other sessions have ended.", "!End all other sessions")
	guests[1].wants(guests[1].get("/account"), 303)

	guests[1].leads(guests[1].post("/signin", "name", "editor", "password", password), "/")
	before := g.cookie("govsvc_session")
	g.wants(g.leads(g.post("/account/password", "current", password, "next", "plain tulips at noon", "next-again", "plain tulips at noon"), "/account"), 200, "other browsers have been signed out")
	if after := g.cookie("govsvc_session"); after == before || after == "" {
		t.Error("the session has the same token after a change of the password")
	}
	guests[1].wants(guests[1].get("/account"), 303)
	stolen := s.guest()
	stolen.setCookie("govsvc_session", before)
	stolen.wants(stolen.get("/account"), 303)
	log := s.auditLog()
	if n := strings.Count(log, `"action":"user.session_ended"`); n < 2 || strings.Contains(log, strings.Repeat("x", 301)) {
		t.Errorf("%d sessions were ended in the audit log:\n%.3000s", n, log)
	}

	admin := s.as(auth.Admin)
	admin.wants(admin.get("/users/"+s.user("editor").ID), 200, "Firefox on Linux", "Sessions", "Sign out everywhere")
}
