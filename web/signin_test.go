package web_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/web/account"
	"govsvc/web/page"
)

func TestFirstAdmin(t *testing.T) {
	t.Parallel()
	s := newScene(t, setting{data: nobodyYet})
	_, token, _ := strings.Cut(s.link, "token=")
	g := s.guest()
	g.wants(g.leads(g.get("/"), "/signin"), 200, "There is no user yet")
	for _, path := range []string{"/setup", "/setup?token=", "/setup?token=" + token + "A", "/setup?token=" + strings.ToLower(token)} {
		g.wants(g.get(path), 410, "This link does not work", "govsvc users add NAME --role admin", "!<input")
	}
	g.wants(g.get(s.link), 200, "Create the first administrator")
	fill := func(name, first, second string) reply {
		return g.post("/setup", "token", token, "name", name, "password", first, "password-again", second)
	}
	g.wants(fill("", password, password), 422, "name has 1 to 200 characters", "!"+password)
	g.wants(fill("ada", "short", "short"), 422, "12", `value="ada"`)
	g.wants(fill("ada", password, "another password"), 422, "The two passwords differ.", "!"+password)
	g.wants(g.post("/setup", "token", "guessed", "name", "ada", "password", password, "password-again", password), 410)
	if made, err := s.auth.Users.Any(t.Context()); made || err != nil {
		t.Fatalf("a refused form made a user: %v", err)
	}
	g.wants(g.leads(fill("ada", password, password), "/"), 200, "Overview", "ada")
	if user, err := s.auth.Users.ByName(t.Context(), 0, "ada"); err != nil || user.Role != auth.Admin {
		t.Errorf("%v, %v", user, err)
	}
	// the link has done its work
	g = s.guest()
	g.wants(g.get(s.link), 410, "This link is used", "!<input")
	g.wants(fill("eve", password, password), 410)
}

// TestSignIn_AuditNamesRequest checks that the events of a sign-in, refused or
// not, and of the first administrator name the request that they belong to.
func TestSignIn_AuditNamesRequest(t *testing.T) {
	t.Parallel()
	s := newScene(t, setting{data: nobodyYet})
	_, token, _ := strings.Cut(s.link, "token=")
	g := s.guest()
	for _, test := range []struct {
		answer  reply
		actions []string
	}{
		{g.post("/setup", "token", token, "name", "ada", "password", password, "password-again", password), []string{"user.created", "user.signed_in"}},
		{g.post("/signin", "name", "ada", "password", "a wrong password"), []string{"user.sign_in_refused"}},
		{g.post("/signin", "name", "nobody", "password", "a wrong password"), []string{"user.sign_in_refused"}},
		{s.guest().post("/signin", "name", "ada", "password", password), []string{"user.signed_in"}},
	} {
		id := test.answer.header.Get("X-Request-Id")
		var named []string
		for event := range strings.Lines(s.auditLog()) {
			if strings.Contains(event, `"request_id":"`+id+`"`) {
				_, action, _ := strings.Cut(event, `"action":"`)
				action, _, _ = strings.Cut(action, `"`)
				named = append(named, action)
			}
		}
		if id == "" || !slices.Equal(named, test.actions) {
			t.Errorf("events of the request %q: %q, want %q", id, named, test.actions)
		}
	}
}

func TestFirstLinkEnds(t *testing.T) {
	t.Parallel()
	s := newScene(t, setting{data: nobodyYet})
	_, token, _ := strings.Cut(s.link, "token=")
	g := s.guest()
	s.clock.advance(account.FirstLinkLife - time.Second)
	g.wants(g.get(s.link), 200)
	s.clock.advance(time.Second)
	g.wants(g.get(s.link), 410, "This link does not work")
	g.wants(g.post("/setup", "token", token, "name", "ada", "password", password, "password-again", password), 410)

	// somebody else was faster, with the command line
	s = newScene(t, setting{data: nobodyYet})
	if _, err := s.auth.Users.Create(t.Context(), db.Actor{ID: "system"}, "ada", auth.Viewer, password); err != nil {
		t.Fatal(err)
	}
	_, token, _ = strings.Cut(s.link, "token=")
	g = s.guest()
	g.wants(g.get(s.link), 410, "The first administrator exists")
	g.wants(g.post("/setup", "token", token, "name", "eve", "password", password, "password-again", password), 410, "The first administrator exists")
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	g := s.guest()
	g.wants(g.get("/account?x=1"), 303)
	g.wants(g.leads(g.get("/account?x=1"), "/signin?next=%2Faccount%3Fx%3D1"), 200, `name="next" value="/account?x=1"`)
	unknown := g.post("/signin", "name", "nobody", "password", password)
	wrong := g.post("/signin", "name", "viewer", "password", "not "+password)
	g.wants(wrong, 422, "The name or the password is wrong.", "!"+password)
	if strings.ReplaceAll(wrong.body, "viewer", "nobody") != unknown.body {
		t.Errorf("the page tells who has an account:\n%s\n%s", wrong.body, unknown.body)
	}
	g.wants(g.leads(g.post("/signin", "name", "Viewer", "password", password, "next", "/account?x=1"), "/account?x=1"), 200, "<h1>Account</h1>")
	g.leads(g.get("/signin?next=%2Faccount"), "/account")
	first := g.cookie("govsvc_session")

	// another sign-in ends the session before
	g.leads(g.post("/signin", "name", "editor", "password", password), "/")
	if _, err := s.auth.Sessions.ByToken(t.Context(), first); !db.Is(err, db.Unauthenticated) {
		t.Errorf("the session before: %v", err)
	}

	before := g.cookie("govsvc_session")
	g.wants(g.leads(g.post("/signout"), "/signin"), 200, "You have signed out.")
	if g.cookie("govsvc_session") != "" {
		t.Error("the cookie is still there")
	}
	g.setCookie("govsvc_session", before)
	g.wants(g.get("/"), 303)
}

func TestNext(t *testing.T) {
	t.Parallel()
	for next, want := range map[string]string{
		"/risks?severity=HIGH&q=a%20b":  "/risks?severity=HIGH&q=a%20b",
		"/a/../b":                       "/a/../b",
		"":                              "/",
		"risks":                         "/",
		"//evil.example":                "/",
		"///evil.example":               "/",
		`/\evil.example`:                "/",
		`\\evil.example`:                "/",
		"/\t/evil.example":              "/",
		"/\n/evil.example":              "/",
		"https://evil.example/":         "/",
		"http:evil":                     "/",
		"javascript:alert(1)":           "/",
		"//user@evil.example/":          "/",
		"/%zz":                          "/",
		"/" + strings.Repeat("x", 2000): "/",
	} {
		if got := page.LocalPath(next); got != want {
			t.Errorf("%q leads to %q, want %q", next, got, want)
		}
	}
	s := newScene(t)
	g := s.guest()
	g.leads(g.post("/signin", "name", "viewer", "password", password, "next", "//evil.example/"), "/")
	g.leads(g.get("/signin?next=https%3A%2F%2Fevil.example%2F"), "/")
}

// TestCookies: no script reads them, no other site's form sends them, and over
// TLS nobody else sets them.
func TestCookies(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		setting setting
		proto   string
		secure  bool
	}{
		{"plain", setting{}, "", false},
		{"TLS", setting{tls: true}, "", true},
		{"behind a trusted proxy", setting{trusted: "127.0.0.0/8"}, "https", true},
		{"behind two", setting{trusted: "127.0.0.0/8"}, "https, http", true},
		{"behind a trusted proxy, plain", setting{trusted: "127.0.0.0/8"}, "http", false},
		{"what a client claims", setting{}, "https", false},
		{"another proxy is trusted", setting{trusted: "10.0.0.0/8"}, "https", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, test.setting)
			g := s.guest()
			if test.proto != "" {
				g.header.Set("X-Forwarded-Proto", test.proto)
			}
			r := g.post("/signin", "name", "viewer", "password", password)
			want := "govsvc_session="
			if test.secure {
				want = "__Host-govsvc_session="
			}
			set := r.header.Values("Set-Cookie")
			if len(set) != 1 || !strings.HasPrefix(set[0], want) || strings.Contains(set[0], "; Secure") != test.secure ||
				!strings.HasSuffix(set[0], "; SameSite=Lax") || !strings.Contains(set[0], "; Path=/; HttpOnly") ||
				strings.Contains(set[0], "Domain") {
				t.Errorf("%q", set)
			}
		})
	}
}

// TestForeignCookie: over TLS a cookie without __Host-, which a neighbour could
// have set, counts for nothing.
func TestForeignCookie(t *testing.T) {
	t.Parallel()
	s := newScene(t, setting{tls: true})
	g := s.guest()
	g.setCookie("govsvc_session", s.tokens[auth.Admin])
	g.wants(g.get("/"), 303)
	g.header.Set("Cookie", "__Host-govsvc_session="+s.tokens[auth.Admin])
	g.wants(g.get("/"), 200)
}

// TestSessionEnds by itself, by a removed user, and everywhere at once.
func TestSessionEnds(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	idle := s.as(auth.Viewer)
	idle.wants(idle.get("/"), 200)
	s.clock.advance(auth.SessionIdle + time.Minute)
	r := idle.get("/account")
	idle.wants(idle.leads(r, "/signin"), 200)
	if set := r.header.Get("Set-Cookie"); !strings.Contains(set, "govsvc_session=;") || !strings.Contains(set, "Max-Age=0") {
		t.Errorf("the cookie of an ended session stays: %q", set)
	}

	s = newScene(t)
	g, other := s.as(auth.Editor), s.guest()
	other.leads(other.post("/signin", "name", "editor", "password", password), "/")
	g.wants(g.leads(g.post("/account/signout-everywhere"), "/signin"), 200, "You have signed out everywhere.")
	other.wants(other.get("/"), 303)
	g = s.as(auth.Viewer)
	g.wants(g.get("/"), 200)
	if err := s.auth.Users.Remove(t.Context(), db.Actor{ID: "system"}, s.user("viewer").ID); err != nil {
		t.Fatal(err)
	}
	g.wants(g.get("/"), 303)
}

// TestRoleChanges hold from the next request on.
func TestRoleChanges(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	g := s.as(auth.Viewer)
	if _, err := s.auth.Memberships.SetRole(t.Context(), db.Actor{ID: "system"}, s.user("viewer").ID, auth.Editor); err != nil {
		t.Fatal(err)
	}
	g.wants(g.get("/account"), 200, "<dd>Editor</dd>")
}

func TestThrottle(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	g := s.guest()
	var r reply
	for range 100 {
		if r = g.post("/signin", "name", "viewer", "password", "wrong password"); r.status != 422 {
			break
		}
	}
	g.wants(r, 429, `role="alert"`, `value="viewer"`)
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	g.wants(g.post("/signin", "name", "viewer", "password", password), 429)
	s.clock.advance(24 * time.Hour)
	g.leads(g.post("/signin", "name", "viewer", "password", password), "/")
}

func TestSecondFactor(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	g := s.as(auth.Viewer)
	g.wants(g.get("/account"), 200, "Set up a second factor")
	page := g.get("/account/second-factor")
	g.wants(page, 200, `role="img"`)
	secret := between(t, page.body, `<div class="copy"><pre><code>`, "</code>")
	g.wants(g.post("/account/second-factor", "code", "000000"), 422, "not the current code", secret)
	r := g.post("/account/second-factor", "code", totp(t, secret, s.clock.Now()))
	at := r.header.Get("Location")
	stolen := s.as(auth.Editor)
	stolen.wants(stolen.get(at), 200, "shown once, when they are created")
	r = s.again(t, g, secret)
	codes := strings.Fields(between(t, g.leads(r, "/account/recovery-codes").body, "<pre><code>", "</code>"))
	if len(codes) != 10 {
		t.Fatalf("%d codes", len(codes))
	}
	g.wants(g.get(r.header.Get("Location")), 200, "shown once, when they are created", "!"+codes[0])
	g.leads(g.get("/account/second-factor"), "/account")

	// two steps now
	g = s.guest()
	g.leads(g.get("/signin/code"), "/signin")
	g.wants(g.leads(g.post("/signin", "name", "viewer", "password", password, "next", "/account"), "/signin/code"), 200,
		"one-time-code", "!"+password, "!govsvc_session")
	if g.cookie("govsvc_session") != "" {
		t.Error("a session before the second step")
	}
	g.wants(g.get("/account"), 303)
	g.wants(g.post("/signin/code"), 422, "Enter a code.")
	g.wants(g.post("/signin/code", "code", "000000"), 422, "This code is wrong")
	s.clock.advance(time.Minute)
	g.wants(g.leads(g.post("/signin/code", "code", totp(t, secret, s.clock.Now())), "/account"), 200, "10 recovery codes left")
	if g.cookie("govsvc_signin") != "" {
		t.Error("the ticket of the first step is still there")
	}

	// a first step is good for five minutes
	g = s.guest()
	g.leads(g.post("/signin", "name", "viewer", "password", password), "/signin/code")
	s.clock.advance(5 * time.Minute)
	g.wants(g.leads(g.post("/signin/code", "code", codes[0]), "/signin"), 200, "The sign-in took too long")

	g.leads(g.post("/signin", "name", "viewer", "password", password), "/signin/code")
	g.leads(g.post("/signin/code", "code", codes[0]), "/")
	g.wants(g.post("/account/second-factor/remove", "code", codes[0]), 422, "<details class=\"more\" open><summary>Turn off")
	g.wants(g.leads(g.post("/account/second-factor/remove", "code", codes[1]), "/account"), 200, "The second factor is off")
}

// secondFactor turns the user's on. It returns the secret, and the answer that
// leads to the recovery codes.
func (g *guest) secondFactor(t *testing.T) (secret string, codes reply) {
	t.Helper()
	secret = between(t, g.get("/account/second-factor").body, `<div class="copy"><pre><code>`, "</code>")
	return secret, g.post("/account/second-factor", "code", totp(t, secret, g.clock.Now()))
}

// again makes new recovery codes: those that were made before were lost to
// somebody else's look at them.
func (s *scene) again(t *testing.T, g *guest, secret string) reply {
	t.Helper()
	s.clock.advance(30 * time.Second)
	g.wants(g.post("/account/recovery-codes", "code", "000000"), 422, "<details class=\"more\" open><summary>Create new recovery codes")
	return g.post("/account/recovery-codes", "code", totp(t, secret, s.clock.Now()))
}

func between(t *testing.T, text, before, after string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, before)
	found, _, closed := strings.Cut(rest, after)
	if !ok || !closed {
		t.Fatalf("no %s in\n%s", before, text)
	}
	return found
}

func TestOwnPassword(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	g, other := s.as(auth.Viewer), s.guest()
	other.leads(other.post("/signin", "name", "viewer", "password", password), "/")
	change := func(current, next, again string) reply {
		return g.post("/account/password", "current", current, "next", next, "next-again", again)
	}
	const next = "another horse entirely"
	g.wants(change("wrong password", next, next), 422, "f-current-error", "!"+next)
	g.wants(change(password, "short", "short"), 422, "f-next-error")
	g.wants(change(password, next, next+"!"), 422, "The two passwords differ.")
	other.wants(other.get("/"), 200)
	g.wants(g.leads(change(password, next, next), "/account"), 200, "Your password has been changed")
	other.wants(other.get("/"), 303)
	g.leads(g.post("/signin", "name", "viewer", "password", next), "/")
}

// TestMethodsOfSignOut: a link or a picture signs nobody out.
func TestMethodsOfSignOut(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	g := s.as(auth.Viewer)
	g.wants(g.get("/signout"), 405)
	g.wants(g.do(http.MethodHead, "/signout", "", ""), 405)
	g.wants(g.get("/"), 200)
}
