package web_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/internal/testkit/testdb"
	"govsvc/web"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// unknownID is the id of no record.
const unknownID = "0190d6a1-0000-7000-8000-000000000000"

// pathWithID returns the path of a route. The id of a record that does not exist
// replaces each wildcard in braces.
func pathWithID(r web.PageRoute) string {
	parts := strings.Split(strings.TrimSuffix(r.Path, "{$}"), "/")
	for i, part := range parts {
		if strings.HasPrefix(part, "{") {
			parts[i] = unknownID
		}
	}
	return strings.Join(parts, "/")
}

// roles returns all roles, and "" for a client that has not signed in.
func roles() []auth.Role { return append(auth.Roles(), "") }

// request sends the request of a route, without the content of a form.
func (c *client) request(r web.PageRoute) response {
	c.t.Helper()
	if r.Method == http.MethodPost {
		return c.post(pathWithID(r))
	}
	return c.do(r.Method, pathWithID(r), "", "")
}

// TestRoutes_CheckRoles requests each page and action with each role. A role with the
// permission gets the page. Other roles get 403, and the audit log records it.
// A client that has not signed in is redirected to the sign-in.
func TestRoutes_CheckRoles(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for _, route := range routes() {
		over := false
		for _, role := range slices.Backward(roles()) {
			before := h.refusals()
			r := h.as(role).request(route)
			about := fmt.Sprintf("%s %s, %q", route.Method, route.Path, role)
			switch {
			case route.Needs != "" && role == "":
				expectRedirect(t, about, r, "/signin")
			case route.Needs != "" && route.Needs != page.SignedIn && !role.May(route.Needs):
				if r.status != 403 || !strings.Contains(r.body, "This page requires the ") {
					t.Errorf("%s: %d, want 403:\n%.1000s", about, r.status, r.body)
				}
				if now := h.refusals(); now != before+1 {
					t.Errorf("%s: %d refusals in the audit log, want %d", about, now, before+1)
				}
			case r.status == 403 || r.status >= 500 || route.Needs != "" && strings.HasPrefix(r.header.Get("Location"), "/signin?"):
				t.Errorf("%s: %d to %q:\n%.1000s", about, r.status, r.header.Get("Location"), r.body)
			}
			expectSecurityHeaders(t, r)
			over = over || strings.HasPrefix(r.header.Get("Set-Cookie"), "govsvc_session=;")
		}
		if over { // the request ended sessions
			h = newHarness(t)
		}
	}
}

func expectRedirect(t *testing.T, about string, r response, to string) {
	t.Helper()
	at := r.header.Get("Location")
	if path, _, _ := strings.Cut(at, "?"); r.status != 303 || path != to {
		t.Errorf("%s: %d to %q, want 303 to %s", about, r.status, at, to)
	}
}

// expectSecurityHeaders checks the headers that every page has.
func expectSecurityHeaders(t *testing.T, r response) {
	t.Helper()
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
			"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
		"X-Content-Type-Options":     "nosniff",
		"Referrer-Policy":            "same-origin",
		"Cross-Origin-Opener-Policy": "same-origin",
		"Cache-Control":              "no-store",
	} {
		if got := r.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if !strings.HasPrefix(r.header.Get("X-Request-Id"), "req_") {
		t.Errorf("X-Request-Id: %q", r.header.Get("X-Request-Id"))
	}
}

// refusals returns the number of refused pages in the audit log.
func (h *harness) refusals() int { return strings.Count(h.auditLog(), `"action":"page.refused"`) }

// auditLog returns the audit log of the default organisation.
func (h *harness) auditLog() string {
	h.t.Helper()
	page, err := h.store.Audit.Events(h.t.Context(), h.org(), db.AuditQuery{Limit: 1000})
	if err != nil {
		h.t.Fatal(err)
	}
	var log strings.Builder
	for _, event := range page.Events {
		log.Write(append(event, '\n'))
	}
	return log.String()
}

// TestRoutes_RefuseAnotherOrigin checks that an action that another site requests is
// refused, even in the browser of an admin.
func TestRoutes_RefuseAnotherOrigin(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for _, route := range routes() {
		if route.Method == http.MethodGet {
			continue
		}
		for about, header := range map[string]http.Header{
			"cross-site":       {"Sec-Fetch-Site": {"cross-site"}},
			"same-site":        {"Sec-Fetch-Site": {"same-site"}},
			"a foreign origin": {"Origin": {"https://evil.example"}},
			"a null origin":    {"Origin": {"null"}},
		} {
			c := h.as(auth.Admin)
			c.header = header
			r := c.request(route)
			if r.status != 403 || !strings.Contains(r.body, "The request came from another site") {
				t.Errorf("%s, %s: %d", route.Path, about, r.status)
			}
			expectSecurityHeaders(t, r)
		}
	}
	if got := h.as(auth.Admin).get("/"); got.status != 200 {
		t.Errorf("the session has ended: %d", got.status)
	}
	if !strings.Contains(h.auditLog(), `"page":"POST /signout","reason":"another origin"`) {
		t.Error("the audit log has no event for the refused sign-out")
	}
}

// TestRoutes_Render opens each page that has no record in its path, for an
// organisation with records and for an empty one.
func TestRoutes_Render(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]*testdb.Template[tokens]{"demo": demoData, "empty": usersOnly} {
		h := newHarness(t, options{data: data})
		c := h.as(auth.Admin)
		for _, route := range routes() {
			if route.Method != http.MethodGet || strings.Contains(route.Path, "{") && route.Path != "/{$}" || route.Needs == "" ||
				route.Path == "/account/confirm" { // redirects if nothing needs confirmation
				continue
			}
			r := c.get(pathWithID(route))
			if r.status != 200 || !strings.Contains(r.header.Get("Content-Type"), "text/html") && !strings.Contains(r.header.Get("Content-Disposition"), "attachment") {
				t.Errorf("%s, %s: %d %s:\n%.2000s", name, route.Path, r.status, r.header.Get("Location"), r.body)
			}
		}
		if log := h.log.String(); strings.Contains(log, "level=ERROR") {
			t.Errorf("%s:\n%s", name, log)
		}
	}
}

// hostile is a text with markup, which pages must escape.
const hostile = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>{{.}}javascript:alert(3)`

// TestRoutes_EscapeNames checks that every page escapes names.
func TestRoutes_EscapeNames(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	by := db.Actor{ID: "system"}
	if _, err := h.auth.Users.Create(t.Context(), by, hostile, auth.Admin, password); err != nil {
		t.Fatal(err)
	}
	by.ID = h.user(hostile).ID
	if _, err := h.auth.Memberships.CreateOrganisation(t.Context(), by, hostile, db.Enterprise); err != nil {
		t.Fatal(err)
	}
	c := h.anonymous()
	c.follow(c.post("/signin", "name", hostile, "password", password), "/")
	c.follow(c.post("/organisation", "name", hostile), "/")
	for _, route := range routes() {
		download := strings.HasSuffix(route.Path, ".csv") || strings.HasSuffix(route.Path, ".ndjson") // not markup
		if route.Method == http.MethodGet && route.Needs != "" && !download {
			expectEscaped(t, route.Path, c.get(pathWithID(route)))
		}
	}
	c = h.anonymous()
	expectEscaped(t, "sign-in", c.post("/signin", "name", hostile, "password", hostile, "next", hostile))
	expectEscaped(t, "sign-in", c.get("/signin?next="+ui.WithQuery("", "next", hostile)[len("?next="):]))
	expectEscaped(t, "nothing", c.get("/"+ui.Path(hostile)[1:]))
}

func expectEscaped(t *testing.T, what string, r response) {
	t.Helper()
	for _, bad := range []string{"<script>alert", "<img", `onerror=alert(2)>`, `href="javascript:`} {
		if strings.Contains(r.body, bad) {
			t.Errorf("%s: %q in\n%.3000s", what, bad, r.body)
		}
	}
}

// TestRoutes_UnknownPath checks that browsers get an error page, and programs the error
// envelope.
func TestRoutes_UnknownPath(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.anonymous()
	c.expect(c.get("/nothing"), 404, "Page not found", "!Sign out")
	c.expect(h.as(auth.Viewer).get("/nothing"), 404, "Page not found", "Sign out")
	c.expect(c.get("/static/style.css"), 404)
	c.expect(c.get("/signin/"), 404)
	c.expect(c.do(http.MethodPut, "/signin", "", ""), 405, "not possible here")
	if allow := c.do(http.MethodDelete, "/signout", "", "").header.Get("Allow"); allow != "POST" {
		t.Errorf("Allow: %q", allow)
	}
	c.expect(c.get("/api/v1/nothing"), 404, `"code":"not_found"`)
	c.expect(c.get("/.well-known/nothing"), 404, `"code":"not_found"`)
	c.expect(c.get("/healthz"), 200, "ok")
	c.header = http.Header{"Accept": {"application/json"}}
	c.expect(c.get("/nothing"), 404, `"code":"not_found"`)
	c.expect(c.get("/signin"), 200, "<h1>Sign in</h1>")
	c.header = http.Header{}
	c.expect(c.get("/nothing"), 404, `"code":"not_found"`)
}

// TestHead checks that HEAD gets the same headers as GET, without the body.
func TestHead(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	for _, path := range []string{"/", "/account", "/signin", "/nothing"} {
		get, head := c.get(path), c.do(http.MethodHead, path, "", "")
		if head.status != get.status || head.body != "" || head.header.Get("Content-Type") != get.header.Get("Content-Type") {
			t.Errorf("%s: %d %q, want %d without a body", path, head.status, head.header, get.status)
		}
		if length := head.header.Get("Content-Length"); get.status != http.StatusSeeOther && length != strconv.Itoa(len(get.body)) {
			t.Errorf("%s: %q bytes, want %d", path, length, len(get.body))
		}
	}
}

// TestForms checks that invalid and oversized forms are refused.
func TestForms(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	const form = "application/x-www-form-urlencoded"
	for _, test := range []struct {
		about, contentType, body string
		status                   int
	}{
		{"JSON", "application/json", `{"name":"x"}`, 415},
		{"no type", "", "name=x", 415},
		{"text", "text/plain", "name=x", 415},
		{"an upload", "multipart/form-data; boundary=x", "--x--", 415},
		{"damaged", form, "name=%zz", 400},
		{"not UTF-8", form, "name=%ff", 400},
		{"large", form, "name=" + strings.Repeat("x", 64<<10), 413},
		{"as large as may be", form, "name=" + strings.Repeat("x", 64<<10-len("name=")), 422},
		{"with a charset", form + "; charset=utf-8", "name=x", 422},
		{"empty", form, "", 422},
	} {
		if r := h.anonymous().do(http.MethodPost, "/signin", test.contentType, test.body); r.status != test.status {
			t.Errorf("%s: %d, want %d", test.about, r.status, test.status)
		}
	}
}

// TestInternalError_IsLogged checks that an internal error is logged. The page shows
// only the request's id.
func TestInternalError_IsLogged(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.site.Handle(page.Route{Pattern: "GET /panic", Needs: page.Public, Handle: func(*page.Request) error { panic("a secret") }})
	h.server.Config.Handler = h.site
	r := h.as(auth.Admin).get("/panic")
	h.anonymous().expect(r, 500, "Something went wrong on our side", r.header.Get("X-Request-Id"), "!a secret")
	expectSecurityHeaders(t, r)
	for _, want := range []string{"a secret", r.header.Get("X-Request-Id"), "pages_test.go"} {
		if !strings.Contains(h.log.String(), want) {
			t.Errorf("want %q in the log:\n%s", want, h.log)
		}
	}

	h = newHarness(t)
	c := h.as(auth.Admin)
	if err := h.store.Close(); err != nil {
		t.Fatal(err)
	}
	misplaced := "gds_live_" + strings.Repeat("A", 52)
	for _, path := range []string{"/", "/keys/" + misplaced, "/" + misplaced} {
		r = c.get(path)
		c.expect(r, 500, r.header.Get("X-Request-Id"), "!sql")
		if !strings.Contains(h.log.String(), fmt.Sprintf("request_id=%s", r.header.Get("X-Request-Id"))) {
			t.Errorf("%s: log:\n%s", path, h.log)
		}
	}
	if log := h.log.String(); strings.Contains(log, misplaced) || !strings.Contains(log, "GET /keys/{id}") {
		t.Errorf("the log contains the key from the path, or lacks the pattern of the route:\n%s", log)
	}
}

// TestNavigation checks that the navigation links exactly the pages that a role may open.
func TestNavigation(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for _, role := range auth.Roles() {
		page := h.as(role).get("/account").body
		for _, path := range web.Navigation() {
			want := slices.ContainsFunc(routes(), func(r web.PageRoute) bool {
				return r.Method == "GET" && pathWithID(r) == path && (r.Needs == "" || role.May(r.Needs))
			})
			if got := strings.Contains(page, `<li><a href="`+path+`"`); got != want {
				t.Errorf("%s: a link to %s: %v, want %v", role, path, got, want)
			}
		}
	}
}

// TestOrganisations checks that a session works on one organisation at a time.
func TestOrganisations(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Viewer)
	c.expect(c.get("/"), 200, `value="subsidiary"`)
	r := c.follow(c.post("/organisation", "name", "subsidiary", "next", "//evil.example"), "/")
	c.expect(r, 200, "You are now working on subsidiary.")
	c.expect(c.get("/"), 200, "!You are now working on")
	c.expect(c.post("/organisation", "name", "another"), 404)
}
