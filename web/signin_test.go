package web_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/internal/testkit"
	"govsvc/web/account"
	"govsvc/web/page"
)

func TestFirstAdmin(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: noData})
	_, token, _ := strings.Cut(h.setupLink, "token=")
	c := h.anonymous()
	c.expect(c.follow(c.get("/"), "/signin"), 200, "There is no user yet")
	for _, path := range []string{"/setup", "/setup?token=", "/setup?token=" + token + "A", "/setup?token=" + strings.ToLower(token)} {
		c.expect(c.get(path), 410, "This link does not work", "govsvc users add NAME --role admin", "!<input")
	}
	c.expect(c.get(h.setupLink), 200, "Create the first administrator")
	fill := func(name, first, second string) response {
		return c.post("/setup", "token", token, "name", name, "password", first, "password-again", second)
	}
	c.expect(fill("", password, password), 422, "name has 1 to 200 characters", "!"+password)
	c.expect(fill("ada", "short", "short"), 422, "12", `value="ada"`)
	c.expect(fill("ada", password, "another password"), 422, "The two passwords differ.", "!"+password)
	c.expect(c.post("/setup", "token", "guessed", "name", "ada", "password", password, "password-again", password), 410)
	if made, err := h.auth.Users.Any(t.Context()); made || err != nil {
		t.Fatalf("a refused form made a user: %v", err)
	}
	c.expect(c.follow(fill("ada", password, password), "/"), 200, "Overview", "ada")
	if user, err := h.auth.Users.ByName(t.Context(), 0, "ada"); err != nil || user.Role != auth.Admin {
		t.Errorf("%v, %v", user, err)
	}
	// The link is valid only once.
	c = h.anonymous()
	c.expect(c.get(h.setupLink), 410, "This link is used", "!<input")
	c.expect(fill("eve", password, password), 410)
}

// TestSignIn_AuditNamesRequest checks that audit events name their request. The events
// are those of accepted and refused sign-ins and of the first administrator.
func TestSignIn_AuditNamesRequest(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: noData})
	_, token, _ := strings.Cut(h.setupLink, "token=")
	c := h.anonymous()
	for _, test := range []struct {
		answer  response
		actions []string
	}{
		{c.post("/setup", "token", token, "name", "ada", "password", password, "password-again", password), []string{"user.created", "user.signed_in"}},
		{c.post("/signin", "name", "ada", "password", "a wrong password"), []string{"user.sign_in_refused"}},
		{c.post("/signin", "name", "nobody", "password", "a wrong password"), []string{"user.sign_in_refused"}},
		{h.anonymous().post("/signin", "name", "ada", "password", password), []string{"user.signed_in"}},
	} {
		id := test.answer.header.Get("X-Request-Id")
		var named []string
		for event := range strings.Lines(h.auditLog()) {
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

func TestFirstAdmin_LinkEnds(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: noData})
	_, token, _ := strings.Cut(h.setupLink, "token=")
	c := h.anonymous()
	h.clock.Advance(account.FirstLinkLife - time.Second)
	c.expect(c.get(h.setupLink), 200)
	h.clock.Advance(time.Second)
	c.expect(c.get(h.setupLink), 410, "This link does not work")
	c.expect(c.post("/setup", "token", token, "name", "ada", "password", password, "password-again", password), 410)

	// The command line created the first user before the form was sent.
	h = newHarness(t, options{data: noData})
	if _, err := h.auth.Users.Create(t.Context(), db.Actor{ID: "system"}, "ada", auth.Viewer, password); err != nil {
		t.Fatal(err)
	}
	_, token, _ = strings.Cut(h.setupLink, "token=")
	c = h.anonymous()
	c.expect(c.get(h.setupLink), 410, "The first administrator exists")
	c.expect(c.post("/setup", "token", token, "name", "eve", "password", password, "password-again", password), 410, "The first administrator exists")
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.anonymous()
	c.expect(c.get("/account?x=1"), 303)
	c.expect(c.follow(c.get("/account?x=1"), "/signin?next=%2Faccount%3Fx%3D1"), 200, `name="next" value="/account?x=1"`)
	unknown := c.post("/signin", "name", "nobody", "password", password)
	wrong := c.post("/signin", "name", "viewer", "password", "not "+password)
	c.expect(wrong, 422, "The name or the password is wrong.", "!"+password)
	if strings.ReplaceAll(wrong.body, "viewer", "nobody") != unknown.body {
		t.Errorf("the page discloses whether an account exists:\n%s\n%s", wrong.body, unknown.body)
	}
	c.expect(c.follow(c.post("/signin", "name", "Viewer", "password", password, "next", "/account?x=1"), "/account?x=1"), 200, "<h1>Account</h1>")
	c.follow(c.get("/signin?next=%2Faccount"), "/account")
	first := c.cookie("govsvc_session")

	// A second sign-in ends the previous session.
	c.follow(c.post("/signin", "name", "editor", "password", password), "/")
	if _, err := h.auth.Sessions.ByToken(t.Context(), first); !db.Is(err, db.Unauthenticated) {
		t.Errorf("the previous session: %v", err)
	}

	before := c.cookie("govsvc_session")
	c.expect(c.follow(c.post("/signout"), "/signin"), 200, "You have signed out.")
	if c.cookie("govsvc_session") != "" {
		t.Error("the cookie still exists")
	}
	c.setCookie("govsvc_session", before)
	c.expect(c.get("/"), 303)
}

func TestNext(t *testing.T) {
	t.Parallel()
	testkit.CompareCalls(t, page.LocalPath, map[string]string{
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
	})
	h := newHarness(t)
	c := h.anonymous()
	c.follow(c.post("/signin", "name", "viewer", "password", password, "next", "//evil.example/"), "/")
	c.follow(c.get("/signin?next=https%3A%2F%2Fevil.example%2F"), "/")
}

// TestCookies checks that scripts can't read the cookies and that forms of other sites
// don't send them. Over TLS, no other host can set them.
func TestCookies(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		setting options
		proto   string
		secure  bool
	}{
		{"plain", options{}, "", false},
		{"TLS", options{tls: true}, "", true},
		{"behind a trusted proxy", options{trusted: "127.0.0.0/8"}, "https", true},
		{"behind two", options{trusted: "127.0.0.0/8"}, "https, http", true},
		{"behind a trusted proxy, plain", options{trusted: "127.0.0.0/8"}, "http", false},
		{"what a client claims", options{}, "https", false},
		{"another proxy is trusted", options{trusted: "10.0.0.0/8"}, "https", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, test.setting)
			c := h.anonymous()
			if test.proto != "" {
				c.header.Set("X-Forwarded-Proto", test.proto)
			}
			r := c.post("/signin", "name", "viewer", "password", password)
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

// TestCookies_NeedPrefix checks that over TLS a cookie without the prefix __Host- has no
// effect, because another host of the domain could have set it.
func TestCookies_NeedPrefix(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{tls: true})
	c := h.anonymous()
	c.setCookie("govsvc_session", h.tokens[auth.Admin])
	c.expect(c.get("/"), 303)
	c.header.Set("Cookie", "__Host-govsvc_session="+h.tokens[auth.Admin])
	c.expect(c.get("/"), 200)
}

// TestSessions_End checks that a session ends by expiry, by the removal of its user, and
// by a sign-out of all sessions.
func TestSessions_End(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	idle := h.as(auth.Viewer)
	idle.expect(idle.get("/"), 200)
	h.clock.Advance(auth.SessionIdle + time.Minute)
	r := idle.get("/account")
	idle.expect(idle.follow(r, "/signin"), 200)
	if set := r.header.Get("Set-Cookie"); !strings.Contains(set, "govsvc_session=;") || !strings.Contains(set, "Max-Age=0") {
		t.Errorf("the cookie of an ended session stays: %q", set)
	}

	h = newHarness(t)
	c, other := h.as(auth.Editor), h.anonymous()
	other.follow(other.post("/signin", "name", "editor", "password", password), "/")
	c.expect(c.follow(c.post("/account/signout-everywhere"), "/signin"), 200, "You have signed out everywhere.")
	other.expect(other.get("/"), 303)
	c = h.as(auth.Viewer)
	c.expect(c.get("/"), 200)
	if err := h.auth.Users.Remove(t.Context(), db.Actor{ID: "system"}, h.user("viewer").ID); err != nil {
		t.Fatal(err)
	}
	c.expect(c.get("/"), 303)
}

// TestRoles_ChangeAtOnce checks that a new role applies from the next request on.
func TestRoles_ChangeAtOnce(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Viewer)
	if _, err := h.auth.Memberships.SetRole(t.Context(), db.Actor{ID: "system"}, h.user("viewer").ID, auth.Editor); err != nil {
		t.Fatal(err)
	}
	c.expect(c.get("/account"), 200, "<dd>Editor</dd>")
}

func TestSignIn_IsThrottled(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.anonymous()
	var r response
	for range 100 {
		if r = c.post("/signin", "name", "viewer", "password", "wrong password"); r.status != 422 {
			break
		}
	}
	c.expect(r, 429, `role="alert"`, `value="viewer"`)
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	c.expect(c.post("/signin", "name", "viewer", "password", password), 429)
	h.clock.Advance(24 * time.Hour)
	c.follow(c.post("/signin", "name", "viewer", "password", password), "/")
}

func TestSecondFactor(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Viewer)
	c.expect(c.get("/account"), 200, "Set up a second factor")
	page := c.get("/account/second-factor")
	c.expect(page, 200, `role="img"`)
	secret := between(t, page.body, `<div class="copy"><pre><code>`, "</code>")
	c.expect(c.post("/account/second-factor", "code", "000000"), 422, "not the current code", secret)
	r := c.post("/account/second-factor", "code", totp(t, secret, h.clock.Now()))
	at := r.header.Get("Location")
	stolen := h.as(auth.Editor)
	stolen.expect(stolen.get(at), 200, "shown once, when they are created")
	r = h.signInWithCode(t, c, secret)
	codes := strings.Fields(between(t, c.follow(r, "/account/recovery-codes").body, "<pre><code>", "</code>"))
	if len(codes) != 10 {
		t.Fatalf("%d codes", len(codes))
	}
	c.expect(c.get(r.header.Get("Location")), 200, "shown once, when they are created", "!"+codes[0])
	c.follow(c.get("/account/second-factor"), "/account")

	// The sign-in now has two steps.
	c = h.anonymous()
	c.follow(c.get("/signin/code"), "/signin")
	c.expect(c.follow(c.post("/signin", "name", "viewer", "password", password, "next", "/account"), "/signin/code"), 200,
		"one-time-code", "!"+password, "!govsvc_session")
	if c.cookie("govsvc_session") != "" {
		t.Error("the client has a session before the second step")
	}
	c.expect(c.get("/account"), 303)
	c.expect(c.post("/signin/code"), 422, "Enter a code.")
	c.expect(c.post("/signin/code", "code", "000000"), 422, "This code is wrong")
	h.clock.Advance(time.Minute)
	c.expect(c.follow(c.post("/signin/code", "code", totp(t, secret, h.clock.Now())), "/account"), 200, "10 recovery codes left")
	if c.cookie("govsvc_signin") != "" {
		t.Error("the ticket of the first step still exists")
	}

	// The first step is valid for five minutes.
	c = h.anonymous()
	c.follow(c.post("/signin", "name", "viewer", "password", password), "/signin/code")
	h.clock.Advance(5 * time.Minute)
	c.expect(c.follow(c.post("/signin/code", "code", codes[0]), "/signin"), 200, "The sign-in took too long")

	c.follow(c.post("/signin", "name", "viewer", "password", password), "/signin/code")
	c.follow(c.post("/signin/code", "code", codes[0]), "/")
	c.expect(c.post("/account/second-factor/remove", "code", codes[0]), 422, "<details class=\"more\" open><summary>Turn off")
	c.expect(c.follow(c.post("/account/second-factor/remove", "code", codes[1]), "/account"), 200, "The second factor is off")
}

// secondFactor turns on the second factor of the user. It returns the secret and the
// response that redirects to the recovery codes.
func (c *client) secondFactor(t *testing.T) (secret string, codes response) {
	t.Helper()
	secret = between(t, c.get("/account/second-factor").body, `<div class="copy"><pre><code>`, "</code>")
	return secret, c.post("/account/second-factor", "code", totp(t, secret, c.clock.Now()))
}

// signInWithCode creates new recovery codes with a code of the authenticator app. A
// wrong code is refused first.
func (h *harness) signInWithCode(t *testing.T, c *client, secret string) response {
	t.Helper()
	h.clock.Advance(30 * time.Second)
	c.expect(c.post("/account/recovery-codes", "code", "000000"), 422, "<details class=\"more\" open><summary>Create new recovery codes")
	return c.post("/account/recovery-codes", "code", totp(t, secret, h.clock.Now()))
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
	h := newHarness(t)
	c, other := h.as(auth.Viewer), h.anonymous()
	other.follow(other.post("/signin", "name", "viewer", "password", password), "/")
	change := func(current, next, again string) response {
		return c.post("/account/password", "current", current, "next", next, "next-again", again)
	}
	const next = "another horse entirely"
	c.expect(change("wrong password", next, next), 422, "f-current-error", "!"+next)
	c.expect(change(password, "short", "short"), 422, "f-next-error")
	c.expect(change(password, next, next+"!"), 422, "The two passwords differ.")
	other.expect(other.get("/"), 200)
	c.expect(c.follow(change(password, next, next), "/account"), 200, "Your password has been changed")
	other.expect(other.get("/"), 303)
	c.follow(c.post("/signin", "name", "viewer", "password", next), "/")
}

// TestSignOut_NeedsPost checks that a GET request, such as a link or an image, does not
// sign out.
func TestSignOut_NeedsPost(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Viewer)
	c.expect(c.get("/signout"), 405)
	c.expect(c.do(http.MethodHead, "/signout", "", ""), 405)
	c.expect(c.get("/"), 200)
}
