package ui_test

import (
	"net/url"
	"testing"

	"govsvc/web/ui"
)

// TestFormFill keeps what was typed, except passwords and files.
func TestFormFill(t *testing.T) {
	t.Parallel()
	form := &ui.Form{Fields: []*ui.Field{
		{Name: "title"}, {Name: "events", Type: "checks"}, {Name: "password", Type: "password"}, {Name: "file", Type: "file"},
	}}
	form.Fill(url.Values{"title": {"T"}, "events": {"a", "b"}, "password": {"secret"}, "file": {"x"}, "other": {"y"}})
	if form.Field("title").Value != "T" || !form.Field("events").Chosen("b") || form.Field("events").Chosen("c") {
		t.Errorf("got %+v and %+v, want what was sent", form.Field("title"), form.Field("events"))
	}
	for _, name := range []string{"password", "file"} {
		if got := form.Field(name).Value; got != "" {
			t.Errorf("got the value %q in %s, want none", got, name)
		}
	}
}

// TestFormErrors puts an error at its field, or at the form.
func TestFormErrors(t *testing.T) {
	t.Parallel()
	form := &ui.Form{Fields: []*ui.Field{{Prefix: "new-", Name: "title", Hint: "Short."}}}
	form.SetError("title", "Enter a title.")
	form.SetError("elsewhere", "Try again.")
	field := form.Field("title")
	if field.Error != "Enter a title." || form.Error != "Try again." || form.FieldErrors() != 1 {
		t.Errorf("got %q at the field, %q at the form, %d errors", field.Error, form.Error, form.FieldErrors())
	}
	if got, want := field.DescribedBy(), "f-new-title-hint f-new-title-error"; got != want {
		t.Errorf("described by %q, want %q", got, want)
	}
}
