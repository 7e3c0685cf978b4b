package web_test

import (
	"net/http"
	"strings"
	"testing"

	"govsvc/db/auth"
	"govsvc/db/resource"
)

// TestRouterRedirects checks that redirects of the router have the security headers
// and stay on the site.
func TestRouterRedirects(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for path, want := range map[string]string{
		"//signin":                         "/signin",
		"//evil.example/..//signin":        "/signin",
		"/static":                          "/static/",
		"/signin/..//evil.example/../keys": "/keys",
		"//evil.example":                   "",
	} {
		r := h.as(auth.Admin).get(path)
		if at := r.header.Get("Location"); at != want && (want != "" || strings.HasPrefix(at, "//")) {
			t.Errorf("%s leads to %q, want %q", path, at, want)
		}
		for _, name := range []string{"Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy", "Cache-Control"} {
			if r.header.Get(name) == "" {
				t.Errorf("%s: no %s", path, name)
			}
		}
	}
}

// TestRecords_OfAnotherOrganisation checks that records of another organisation can't
// be read or changed, with any role. The response is the same as for a record that does
// not exist.
func TestRecords_OfAnotherOrganisation(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	pack := c.upload("/evidence", nil, "title", "Review").header.Get("Location")
	before := string(h.export())
	c.follow(c.post("/organisation", "name", "subsidiary"), "/")
	for _, path := range []string{pack, pack + "/pack.zip"} {
		c.expect(c.get(path), 404, "!Review")
	}
	ids := map[string]string{}
	for _, res := range resource.Pages() {
		ids[res.Page.Base] = h.find(res.Type, "")["id"].(string)
	}
	requested := 0
	for _, route := range routes() {
		base, rest, isRecord := strings.Cut(route.Path, "/{id}")
		id, known := ids[base]
		if !isRecord || !known {
			continue
		}
		requested++
		path := base + "/" + id + rest
		r := c.get(path)
		if route.Method == http.MethodPost {
			r = c.post(path, "title", "Taken over", "description", "Taken over.", "name", "x", "value", "1")
		}
		if r.status != 404 {
			t.Errorf("%s %s: %d\n%.1000s", route.Method, route.Path, r.status, r.body)
		}
	}
	if requested < len(ids) {
		t.Errorf("got %d routes of %d resources, want at least one each", requested, len(ids))
	}
	if string(h.export()) != before {
		t.Error("a request from another organisation changed a record")
	}
}

// TestDownloads checks that downloads are saved and never shown as pages of this origin.
func TestDownloads(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin) // who may export the audit log
	paths := []string{c.upload("/evidence", nil, "title", "Review").header.Get("Location") + "/pack.zip", "/import/templates/risk.csv"}
	for _, route := range routes() {
		if strings.HasSuffix(route.Path, ".csv") {
			paths = append(paths, route.Path)
		}
	}
	for _, path := range paths {
		r := c.get(path)
		if r.status != 200 || !strings.HasPrefix(r.header.Get("Content-Disposition"), "attachment; filename=") || strings.Contains(r.header.Get("Content-Type"), "html") {
			t.Errorf("%s: %d %q", path, r.status, r.header)
		}
		expectSecurityHeaders(t, r)
	}
}

// TestRecordForm_EscapesEntries checks that names entered by admins and editors are
// escaped on every page and in the file names of downloads.
func TestRecordForm_EscapesEntries(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Admin)
	receiver := newReceiver(t, http.StatusOK, hostile)
	made := c.post("/keys/new", "name", hostile, "scope", "read:all", "kind", "live")
	expectEscaped(t, "key", c.follow(made, "/keys/made"))
	made = c.post("/webhooks/new", "url", receiver.URL+"/?a='&b=(c)", "description", hostile)
	expectEscaped(t, "secret", c.follow(made, "/webhooks/secret"))
	hook := "/webhooks/" + h.subscriptions()[0].ID
	expectEscaped(t, "test", c.follow(c.post(hook+"/test"), hook))
	attached := []uploadedFile{{"attachments", hostile + "\r\nX-Injected: 1\r\n.html", hostile}, {"attachments", "../../etc/passwd", "x"}}
	made = c.upload("/evidence", attached, "title", hostile)
	pack := made.header.Get("Location")
	expectEscaped(t, "pack", c.follow(made, pack))
	download := c.get(pack + "/pack.zip")
	if strings.Contains(download.header.Get("Content-Disposition"), "script") || download.header.Get("X-Injected") != "" || strings.Contains(download.body, "../") {
		t.Errorf("%q", download.header)
	}
	for _, path := range []string{"/", "/keys", "/webhooks", hook, hook + "/change", "/evidence", "/audit", "/settings", "/status", "/docs"} {
		expectEscaped(t, path, c.get(path))
	}
	c.setCookie("govsvc_flash", "PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg")
	r := c.get("/account")
	expectEscaped(t, "flash", r)
	c.expect(r, 200, "&lt;script&gt;alert(1)")
	c.expect(c.post("/settings/organisations", "name", "two\nlines", "plan", "starter"), 422, "no line breaks")
	for line := range strings.Lines(h.log.String()) {
		if !strings.HasPrefix(line, "time=") {
			t.Errorf("the log has an injected line: %s", line)
		}
	}
}

// TestRefusal_AuditFails checks that a request is still refused if the audit log can't
// store the event. The service log then reports the missing event.
func TestRefusal_AuditFails(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.execSQL("CREATE TRIGGER audit_full BEFORE INSERT ON audit_events BEGIN SELECT raise(ABORT, 'no room'); END")
	r := h.as(auth.Viewer).get("/users")
	h.anonymous().expect(r, 403, "This page requires the ", "!no room")
	if log := h.log.String(); !strings.Contains(log, "level=ERROR") || !strings.Contains(log, r.header.Get("X-Request-Id")) || !strings.Contains(log, "GET /users") {
		t.Errorf("the log does not report the missing event:\n%s", log)
	}
}
