package web_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"govsvc/db/auth"
)

// TestFirstAdmin_OnlyOne checks that only one of several clients with the setup link
// becomes the admin.
func TestFirstAdmin_OnlyOne(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: noData})
	_, token, _ := strings.Cut(h.setupLink, "token=")
	replies := make([]response, 4)
	var all sync.WaitGroup
	for i := range replies {
		c := h.anonymous()
		all.Go(func() {
			name := "eve " + string(rune('a'+i))
			replies[i] = c.post("/setup", "token", token, "name", name, "password", password, "password-again", password)
		})
	}
	all.Wait()
	signedIn := 0
	for _, r := range replies {
		switch {
		case r.status == 303 && len(r.header.Values("Set-Cookie")) == 1:
			signedIn++
		case r.status != 410 || len(r.header.Values("Set-Cookie")) > 0:
			t.Errorf("got status %d and cookies %q, want 303 with a cookie or 410 without one\n%.1000s", r.status, r.header["Set-Cookie"], r.body)
		}
	}
	users, err := h.auth.Users.ListAll(t.Context(), 0)
	if err != nil || signedIn != 1 || len(users) != 1 {
		t.Errorf("%d clients signed in and %d users exist, want 1 and 1: %v", signedIn, len(users), err)
	}
	if strings.Contains(h.log.String(), token) {
		t.Error("the log contains the token")
	}
}

// TestCookies_PlantedAreReplaced checks that cookies planted before a sign-in have no
// effect. A sign-in always creates a new session token.
func TestCookies_PlantedAreReplaced(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	planted := strings.Repeat("A", 43)
	c := h.anonymous()
	c.setCookie("govsvc_session", planted)
	c.setCookie("govsvc_signin", planted)
	c.follow(c.get("/signin/code"), "/signin")
	c.follow(c.post("/signin/code", "code", "123456"), "/signin")
	c.follow(c.post("/signin", "name", "viewer", "password", password), "/")
	if token := c.cookie("govsvc_session"); token == planted || len(token) != len(planted) {
		t.Errorf("got session token %q, want a new one of the same length", token)
	}
	victim := h.anonymous()
	victim.setCookie("govsvc_session", planted)
	victim.expect(victim.get("/account"), 303)
}

// TestSignIn_FirstStepAlone checks that the ticket of the first sign-in step gives
// access to no page. The ticket is valid once, and a change of the password invalidates
// it.
func TestSignIn_FirstStepAlone(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Viewer)
	secret, r := c.secondFactor(t)
	codes := strings.Fields(between(t, c.follow(r, "/account/recovery-codes").body, "<pre><code>", "</code>"))
	h.clock.Advance(time.Minute)
	begin := func() *client {
		c := h.anonymous()
		c.follow(c.post("/signin", "name", "viewer", "password", password), "/signin/code")
		c.expect(c.get("/account"), 303)
		return c
	}
	first, second, third := begin(), begin(), begin()
	ticket, code := first.cookie("govsvc_signin"), totp(t, secret, h.clock.Now())
	first.follow(first.post("/signin/code", "code", code), "/")
	second.expect(second.post("/signin/code", "code", code), 422, "was used before")
	second.expect(second.post("/account/password", "current", password), 303)
	second.follow(second.post("/signin/code", "code", codes[0]), "/")
	third.expect(third.post("/signin/code", "code", codes[0]), 422, "was used before")

	again := h.anonymous()
	again.setCookie("govsvc_signin", ticket)
	again.follow(again.post("/signin/code", "code", codes[1]), "/signin")

	if err := h.auth.Users.SetPassword(t.Context(), h.by(), h.user("viewer").ID, "another horse entirely"); err != nil {
		t.Fatal(err)
	}
	third.expect(third.post("/signin/code", "code", codes[1]), 422, "!govsvc_session")
	if third.cookie("govsvc_session") != "" {
		t.Error("a sign-in that began with the former password succeeded")
	}
	for _, each := range []*client{first, second} {
		each.expect(each.get("/"), 303)
	}
	if log := h.auditLog() + h.log.String(); strings.Contains(log, secret) || strings.Contains(log, codes[0]) || strings.Contains(log, code) || strings.Contains(log, ticket) {
		t.Error("a log contains a secret")
	}
}

// TestSignIn_CodesRunOut checks that a client that knows only the password has few
// attempts at the code. All tickets and addresses share one limit.
func TestSignIn_CodesRunOut(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{trusted: "127.0.0.0/8"})
	c := h.as(auth.Viewer)
	secret, r := c.secondFactor(t)
	c.follow(r, "/account/recovery-codes")
	h.clock.Advance(time.Minute)
	wrong := "000000"
	if totp(t, secret, h.clock.Now()) == wrong {
		wrong = "111111"
	}
	for i := range 6 {
		thief := h.anonymous()
		thief.header.Set("X-Forwarded-For", "198.51.100."+string(rune('1'+i)))
		thief.follow(thief.post("/signin", "name", "viewer", "password", password), "/signin/code")
		status := http.StatusUnprocessableEntity
		if i == 5 {
			status = http.StatusTooManyRequests
		}
		thief.expect(thief.post("/signin/code", "code", wrong), status)
	}
}

// TestRoles_LostInEverySession checks that a user loses the rights of a role with the
// next request after the role was changed, in every session.
func TestRoles_LostInEverySession(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c, other := h.as(auth.Editor), h.anonymous()
	other.follow(other.post("/signin", "name", "editor", "password", password), "/")
	c.expect(c.get("/risks/new"), 200)
	if _, err := h.auth.Memberships.SetRole(t.Context(), h.by(), h.user("editor").ID, auth.Viewer); err != nil {
		t.Fatal(err)
	}
	before := string(h.export("risk"))
	for _, each := range []*client{c, other} {
		each.expect(each.get("/risks/new"), 403)
		each.expect(each.post("/risks", "title", "Late", "description", "Late.", "severity", "LOW"), 403)
		each.expect(each.get("/risks"), 200, "!/risks/new")
	}
	if string(h.export("risk")) != before {
		t.Error("a viewer changed a record")
	}
}
