package web_test

import (
	"testing"

	"govsvc/db/auth"
	"govsvc/db/resource"
	"govsvc/internal/testkit"
	"govsvc/server/openapi"
	"govsvc/web/records"
	"govsvc/web/ui"
)

// TestValueLabels checks that the dashboard has a label for every value that the OpenAPI
// document enumerates, and that histories and previews show it.
func TestValueLabels(t *testing.T) {
	t.Parallel()
	document := testkit.Document(t)
	values := 0
	var check func(of string, fields []openapi.Field)
	check = func(of string, fields []openapi.Field) {
		for _, field := range fields {
			check(of+"."+field.Name, field.Items)
			check(of+"."+field.Name, field.Members)
			for _, value := range field.Enum {
				if field.Name == "object" {
					continue // not shown
				}
				values++
				label, known := ui.ValueLabel(value)
				if !known || label == "" {
					t.Errorf("%s.%s: the value %q has no label", of, field.Name, value)
				}
				if got := records.ValueText(field.Name, value); got != label {
					t.Errorf("%s.%s: a history shows %q as %q, want %q", of, field.Name, value, got, label)
				}
			}
		}
	}
	for _, res := range resource.All() {
		if res.Page != nil {
			check(res.Type, document.Fields(res.Type))
		}
	}
	if values < 100 {
		t.Errorf("the document enumerates %d values, want at least 100", values)
	}
}

// TestValues_AsPeopleSayThem checks that pages show labels instead of stored codes.
func TestValues_AsPeopleSayThem(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Viewer)
	lists := map[string][]string{
		"/signals":         {">Open critical risks<", "<code class=\"under\">risk.open_critical</code>", ">Risk register<"},
		"/vendors":         {">Being phased out<", "!>Sunsetting<"},
		"/compliance?q=EU": {"!…</td>"},
	}
	for path, want := range lists {
		c.expect(c.get(path), 200, want...)
	}
	risk := h.find("risk", "transcription")
	c.expect(c.get("/risks/"+risk["id"].(string)), 200, "Added by hand", ">Security<", "!user_added", "!>SECURITY<")
	agent := h.find("risk", "second pair of eyes")
	c.expect(c.get("/risks/"+agent["id"].(string)), 200, ">Agentic AI<", "!>AGENTIC<")
}
