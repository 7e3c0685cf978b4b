package web_test

import (
	"regexp"
	"strings"
	"testing"

	"govsvc/db/auth"
	"govsvc/web"
)

// TestStatic checks that assets are cached permanently, under a name that changes with
// their content.
func TestStatic(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.anonymous()
	paths := regexp.MustCompile(`(?:href|src)="(/static/[^"]+)"`).FindAllStringSubmatch(h.as(auth.Viewer).get("/").body, -1)
	if len(paths) < 3 {
		t.Fatalf("found only %v", paths)
	}
	for _, match := range paths {
		path := match[1]
		r := c.get(path)
		if r.status != 200 || r.header.Get("Cache-Control") != "public, max-age=31536000, immutable" || r.header.Get("X-Content-Type-Options") != "nosniff" ||
			!regexp.MustCompile(`^/static/\w+\.[0-9a-f]{12}\.(css|js|svg)$`).MatchString(path) {
			t.Errorf("%s: %d %v", path, r.status, r.header)
		}
		c.expect(c.get(strings.Replace(path, ".", ".0", 1)), 404, "Page not found")
	}
	c.header.Set("Accept-Encoding", "gzip")
	if r := c.get(paths[1][1]); r.header.Get("Content-Encoding") != "gzip" || !strings.HasPrefix(r.body, "\x1f\x8b") || len(r.body) > 16_000 {
		t.Errorf("%v, %d bytes", r.header, len(r.body))
	}
	c.header.Set("Accept-Encoding", "identity")
	if r := c.get(paths[1][1]); r.header.Get("Content-Encoding") != "" || !strings.Contains(r.body, ":root") {
		t.Errorf("%v, %.100s", r.header, r.body)
	}
}

// TestStatic_NothingInline checks that templates contain no inline script or style,
// which the content security policy would block.
func TestStatic_NothingInline(t *testing.T) {
	t.Parallel()
	files, err := web.Files()
	if err != nil {
		t.Fatal(err)
	}
	bad := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|javascript:|<script(?:>|[^>]*>[^<])|https?://`)
	for name, text := range files {
		if !strings.HasSuffix(name, ".html") {
			continue
		}
		for _, hit := range bad.FindAllString(text, -1) {
			t.Errorf("%s: %q", name, hit)
		}
	}
	for name, text := range files {
		if strings.HasSuffix(name, ".css") && (strings.Contains(text, "url(") || strings.Contains(text, "@import")) {
			t.Errorf("%s loads something", name)
		}
	}
}
