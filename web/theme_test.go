package web_test

import (
	"net/http"
	"testing"

	"govsvc/db/auth"
)

// TestTheme chooses each theme with the form of the user menu, and opens pages in it.
func TestTheme(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{data: usersOnly})
	c := h.as(auth.Viewer)
	c.expect(c.get("/risks?q=x"), http.StatusOK, `<html lang="en">`, `content="light dark"`, `name="next" value="/risks?q=x"`, `value="" aria-pressed="true"`)
	for _, row := range []struct{ theme, html, pressed string }{
		{"dark", `<html lang="en" data-theme="dark">`, `value="dark" aria-pressed="true"`},
		{"light", `<html lang="en" data-theme="light">`, `value="light" aria-pressed="true"`},
		{"", `<html lang="en">`, `value="" aria-pressed="true"`},
		{"light\"><script>", `<html lang="en">`, `value="" aria-pressed="true"`},
	} {
		c.expect(c.follow(c.post("/theme", "theme", row.theme, "next", "/risks"), "/risks"), http.StatusOK, row.html, row.pressed)
	}
	c.follow(c.post("/theme", "theme", "dark", "next", "https://example.com/"), "/")
	c.follow(c.post("/signout"), "/signin")
	c.expect(c.get("/signin"), http.StatusOK, `data-theme="dark"`, `name="color-scheme" content="dark"`)
	c.setCookie("govsvc_theme", "purple")
	c.expect(c.get("/signin"), http.StatusOK, `<html lang="en">`)
}
