package web_test

import (
	"net/http"
	"strings"
	"testing"

	"govsvc/db/auth"
	"govsvc/db/resource"
)

// TestRoutersRedirects are protected like pages, and lead nowhere else.
func TestRoutersRedirects(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for path, want := range map[string]string{
		"//signin":                         "/signin",
		"//evil.example/..//signin":        "/signin",
		"/static":                          "/static/",
		"/signin/..//evil.example/../keys": "/keys",
		"//evil.example":                   "",
	} {
		r := s.as(auth.Admin).get(path)
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

// TestElsewhere: what belongs to another organisation is not there, for reading
// and for changing, whatever the role.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	g := s.as(auth.Admin)
	pack := g.send("/evidence", nil, "title", "Review").header.Get("Location")
	before := string(s.export())
	g.leads(g.post("/organisation", "name", "subsidiary"), "/")
	for _, path := range []string{pack, pack + "/pack.zip"} {
		g.wants(g.get(path), 404, "!Review")
	}
	ids := map[string]string{}
	for _, res := range resource.Pages() {
		ids[res.Page.Base] = s.find(res.Type, "")["id"].(string)
	}
	asked := 0
	for _, route := range routes() {
		base, rest, isRecord := strings.Cut(route.Path, "/{id}")
		id, known := ids[base]
		if !isRecord || !known {
			continue
		}
		asked++
		path := base + "/" + id + rest
		r := g.get(path)
		if route.Method == http.MethodPost {
			r = g.post(path, "title", "Taken over", "description", "Taken over.", "name", "x", "value", "1")
		}
		if r.status != 404 {
			t.Errorf("%s %s: %d\n%.1000s", route.Method, route.Path, r.status, r.body)
		}
	}
	if asked < len(ids) {
		t.Errorf("%d routes of %d families", asked, len(ids))
	}
	if string(s.export()) != before {
		t.Error("written from another organisation")
	}
}

// TestDownloads are saved, never shown as pages of this origin.
func TestDownloads(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	g := s.as(auth.Editor)
	paths := []string{g.send("/evidence", nil, "title", "Review").header.Get("Location") + "/pack.zip", "/import/templates/risk.csv"}
	for _, route := range routes() {
		if strings.HasSuffix(route.Path, ".csv") {
			paths = append(paths, route.Path)
		}
	}
	for _, path := range paths {
		r := g.get(path)
		if r.status != 200 || !strings.HasPrefix(r.header.Get("Content-Disposition"), "attachment; filename=") || strings.Contains(r.header.Get("Content-Type"), "html") {
			t.Errorf("%s: %d %q", path, r.status, r.header)
		}
		wantProtected(t, r)
	}
}

// TestHostileEntries: what admins and editors name is text wherever it is
// shown, and in the names of downloads.
func TestHostileEntries(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	g := s.as(auth.Admin)
	receiver := newReceiver(t, http.StatusOK, hostile)
	made := g.post("/keys/new", "name", hostile, "scope", "read:all", "kind", "live")
	wantHarmless(t, "key", g.leads(made, "/keys/made"))
	made = g.post("/webhooks/new", "url", receiver.URL+"/?a='&b=(c)", "description", hostile)
	wantHarmless(t, "secret", g.leads(made, "/webhooks/secret"))
	hook := "/webhooks/" + s.subscriptionsNow()[0].ID
	wantHarmless(t, "test", g.leads(g.post(hook+"/test"), hook))
	attached := []upload{{"attachments", hostile + "\r\nX-Injected: 1\r\n.html", hostile}, {"attachments", "../../etc/passwd", "x"}}
	made = g.send("/evidence", attached, "title", hostile)
	pack := made.header.Get("Location")
	wantHarmless(t, "pack", g.leads(made, pack))
	download := g.get(pack + "/pack.zip")
	if strings.Contains(download.header.Get("Content-Disposition"), "script") || download.header.Get("X-Injected") != "" || strings.Contains(download.body, "../") {
		t.Errorf("%q", download.header)
	}
	for _, path := range []string{"/", "/keys", "/webhooks", hook, hook + "/change", "/evidence", "/audit", "/settings", "/status", "/docs"} {
		wantHarmless(t, path, g.get(path))
	}
	g.setCookie("govsvc_flash", "PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg")
	r := g.get("/account")
	wantHarmless(t, "flash", r)
	g.wants(r, 200, "&lt;script&gt;alert(1)")
	g.wants(g.post("/settings/organisations", "name", "two\nlines", "plan", "starter"), 422, "no line breaks")
	for line := range strings.Lines(s.log.String()) {
		if !strings.HasPrefix(line, "time=") {
			t.Errorf("a line of the log that is none: %s", line)
		}
	}
}

// TestRefusalUntold: who is refused stays so where the audit log can't take
// the event, and the service's own log tells that one is missing.
func TestRefusalUntold(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill("CREATE TRIGGER audit_full BEFORE INSERT ON audit_events BEGIN SELECT raise(ABORT, 'no room'); END")
	r := s.as(auth.Viewer).get("/users")
	s.guest().wants(r, 403, "Your role does not include this", "!no room")
	if log := s.log.String(); !strings.Contains(log, "level=ERROR") || !strings.Contains(log, r.header.Get("X-Request-Id")) || !strings.Contains(log, "GET /users") {
		t.Errorf("the log tells nothing of it:\n%s", log)
	}
}
