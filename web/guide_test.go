package web_test

import (
	"html"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"govsvc/db/auth"
	"govsvc/web/page"
)

// emphasized matches a label in the guide: *Label* or **Label**.
var emphasized = regexp.MustCompile(`\*{1,2}([A-Z][^*\n]*)\*{1,2}`)

// elementText matches the text of an element.
var elementText = regexp.MustCompile(`>\s*([^<>]*[^<>\s])\s*<`)

// TestGuide_QuotesRenderedLabels checks that the dashboard shows each label that
// doc/dashboard.md quotes, as the text of an element of a page.
func TestGuide_QuotesRenderedLabels(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../doc/dashboard.md")
	if err != nil {
		t.Fatal(err)
	}
	quoted := emphasized.FindAllStringSubmatch(string(guide), -1)
	if len(quoted) < 20 {
		t.Fatalf("got %d labels in the guide, want at least 20", len(quoted))
	}
	shown := newHarness(t).shownTexts()
	for _, label := range quoted {
		if !shown[label[1]] {
			t.Errorf("no page shows the label %q", label[1])
		}
	}
}

// shownTexts returns the texts of all elements of the pages that an admin can open, with
// one record of each resource.
func (h *harness) shownTexts() map[string]bool {
	h.t.Helper()
	c, texts := h.as(auth.Admin), map[string]bool{}
	record := regexp.MustCompile(`<th scope="row"[^>]*><a href="(/[^"]+)"`)
	add := func(path string) string {
		body := c.get(path).body
		for _, text := range elementText.FindAllStringSubmatch(body, -1) {
			texts[html.UnescapeString(text[1])] = true
		}
		return body
	}
	for _, route := range routes() {
		if route.Method != http.MethodGet || route.Needs == page.Public || strings.Contains(pathWithID(route), unknownID) {
			continue
		}
		if found := record.FindStringSubmatch(add(pathWithID(route))); found != nil {
			add(html.UnescapeString(found[1]))
		}
	}
	return texts
}
