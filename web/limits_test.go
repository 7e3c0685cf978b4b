package web_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"govsvc/db/auth"
)

// TestLimits_OfAddress checks that an address has separate rate limits for pages, static
// files and downloads.
func TestLimits_OfAddress(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{trusted: "127.0.0.0/8", perMinute: 6})
	c := h.as(auth.Admin)
	style := regexp.MustCompile(`/static/[^"]+`).FindString(h.anonymous().get("/signin").body)
	for i, row := range []struct{ path, contentType, text string }{
		{"/risks", "text/html; charset=utf-8", "Too many requests"},
		{"/no-such-page", "text/html; charset=utf-8", "Too many requests"},
		{style, "text/plain; charset=utf-8", "Too many requests"},
		{"/risks.csv", "text/html; charset=utf-8", "too many downloads"},
	} {
		c.header.Set("X-Forwarded-For", "192.0.2."+string(rune('1'+i)))
		for request := range 6 {
			if r := c.get(row.path); r.status == 429 {
				t.Fatalf("%s: request %d of 6 got 429", row.path, request+1)
			}
		}
		refused := c.get(row.path)
		if refused.status != 429 || refused.header.Get("Content-Type") != row.contentType || !strings.Contains(refused.body, row.text) || refused.header.Get("Retry-After") != "10" {
			t.Errorf("%s: got status %d, header %v and body %.300s, want status 429", row.path, refused.status, refused.header, refused.body)
		}
		c.header.Set("X-Forwarded-For", "192.0.2.9")
		if other := c.get(row.path); other.status == 429 {
			t.Errorf("%s: another address got 429", row.path)
		}
	}
	c.header.Set("X-Forwarded-For", "192.0.2.1")
	if r := c.get(style); r.status != 200 {
		t.Errorf("got status %d for a static file after too many pages, want 200", r.status)
	}
	h.clock.Advance(10 * time.Second)
	if r := c.get("/risks"); r.status != 200 {
		t.Errorf("got status %d for a page after Retry-After, want 200", r.status)
	}
}
