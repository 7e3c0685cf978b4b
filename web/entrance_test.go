package web_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"govsvc/db/auth"
)

// TestFirstAdminRace: of several who have the link, one becomes the admin.
func TestFirstAdminRace(t *testing.T) {
	t.Parallel()
	s := newScene(t, setting{data: nobodyYet})
	_, token, _ := strings.Cut(s.link, "token=")
	replies := make([]reply, 4)
	var all sync.WaitGroup
	for i := range replies {
		g := s.guest()
		all.Go(func() {
			name := "eve " + string(rune('a'+i))
			replies[i] = g.post("/setup", "token", token, "name", name, "password", password, "password-again", password)
		})
	}
	all.Wait()
	in := 0
	for _, r := range replies {
		switch {
		case r.status == 303 && len(r.header.Values("Set-Cookie")) == 1:
			in++
		case r.status != 410 || len(r.header.Values("Set-Cookie")) > 0:
			t.Errorf("%d %q\n%.1000s", r.status, r.header["Set-Cookie"], r.body)
		}
	}
	users, err := s.auth.Users.ListAll(t.Context(), 0)
	if err != nil || in != 1 || len(users) != 1 {
		t.Errorf("%d got in, %d users, %v", in, len(users), err)
	}
	if strings.Contains(s.log.String(), token) {
		t.Error("the token stands in the log")
	}
}

// TestPlantedCookies: what was in the browser before counts for nothing after a
// sign-in, and a sign-in never takes a session's name from outside.
func TestPlantedCookies(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	planted := strings.Repeat("A", 43)
	g := s.guest()
	g.setCookie("govsvc_session", planted)
	g.setCookie("govsvc_signin", planted)
	g.leads(g.get("/signin/code"), "/signin")
	g.leads(g.post("/signin/code", "code", "123456"), "/signin")
	g.leads(g.post("/signin", "name", "viewer", "password", password), "/")
	if token := g.cookie("govsvc_session"); token == planted || len(token) != len(planted) {
		t.Errorf("the session is %q", token)
	}
	victim := s.guest()
	victim.setCookie("govsvc_session", planted)
	victim.wants(victim.get("/account"), 303)
}

// TestFirstStepAlone: the ticket of the first step opens nothing by itself,
// counts once, and is worth nothing after another password.
func TestFirstStepAlone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	g := s.as(auth.Viewer)
	secret, r := g.secondFactor(t)
	codes := strings.Fields(between(t, g.leads(r, "/account/recovery-codes").body, "<pre><code>", "</code>"))
	s.clock.advance(time.Minute)
	begin := func() *guest {
		g := s.guest()
		g.leads(g.post("/signin", "name", "viewer", "password", password), "/signin/code")
		g.wants(g.get("/account"), 303)
		return g
	}
	first, second, third := begin(), begin(), begin()
	ticket, code := first.cookie("govsvc_signin"), totp(t, secret, s.clock.Now())
	first.leads(first.post("/signin/code", "code", code), "/")
	second.wants(second.post("/signin/code", "code", code), 422, "was used before")
	second.wants(second.post("/account/password", "current", password), 303)
	second.leads(second.post("/signin/code", "code", codes[0]), "/")
	third.wants(third.post("/signin/code", "code", codes[0]), 422, "was used before")

	again := s.guest()
	again.setCookie("govsvc_signin", ticket)
	again.leads(again.post("/signin/code", "code", codes[1]), "/signin")

	if err := s.auth.Users.SetPassword(t.Context(), s.by(), s.user("viewer").ID, "another horse entirely"); err != nil {
		t.Fatal(err)
	}
	third.wants(third.post("/signin/code", "code", codes[1]), 422, "!govsvc_session")
	if third.cookie("govsvc_session") != "" {
		t.Error("the former password let in")
	}
	for _, each := range []*guest{first, second} {
		each.wants(each.get("/"), 303)
	}
	if log := s.auditLog() + s.log.String(); strings.Contains(log, secret) || strings.Contains(log, codes[0]) || strings.Contains(log, code) || strings.Contains(log, ticket) {
		t.Error("a secret stands in a log")
	}
}

// TestCodesRunOut: who has the password alone has few tries at the code, on
// whatever ticket and from wherever.
func TestCodesRunOut(t *testing.T) {
	t.Parallel()
	s := newScene(t, setting{trusted: "127.0.0.0/8"})
	g := s.as(auth.Viewer)
	secret, r := g.secondFactor(t)
	g.leads(r, "/account/recovery-codes")
	s.clock.advance(time.Minute)
	wrong := "000000"
	if totp(t, secret, s.clock.Now()) == wrong {
		wrong = "111111"
	}
	for i := range 6 {
		thief := s.guest()
		thief.header.Set("X-Forwarded-For", "198.51.100."+string(rune('1'+i)))
		thief.leads(thief.post("/signin", "name", "viewer", "password", password), "/signin/code")
		status := http.StatusUnprocessableEntity
		if i == 5 {
			status = http.StatusTooManyRequests
		}
		thief.wants(thief.post("/signin/code", "code", wrong), status)
	}
}

// TestRoleTaken: a role that was taken away is gone at the next request, in
// every session.
func TestRoleTaken(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	g, other := s.as(auth.Editor), s.guest()
	other.leads(other.post("/signin", "name", "editor", "password", password), "/")
	g.wants(g.get("/risks/new"), 200)
	if _, err := s.auth.Memberships.SetRole(t.Context(), s.by(), s.user("editor").ID, auth.Viewer); err != nil {
		t.Fatal(err)
	}
	before := string(s.export("risk"))
	for _, each := range []*guest{g, other} {
		each.wants(each.get("/risks/new"), 403)
		each.wants(each.post("/risks", "title", "Late", "description", "Late.", "severity", "LOW"), 403)
		each.wants(each.get("/risks"), 200, "!/risks/new")
	}
	if string(s.export("risk")) != before {
		t.Error("a viewer has written")
	}
}
