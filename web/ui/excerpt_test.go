package ui_test

import (
	"strings"
	"testing"

	"govsvc/web/ui"
)

// TestExcerpt checks which part of a text is shown and which words are marked with
// brackets.
func TestExcerpt(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("before ", 20) + "the model drifts " + strings.Repeat("after ", 20)
	for _, row := range []struct {
		text, words string
		limit       int
		want        string
	}{
		{"Model drift", "model", 40, "[Model] drift"},
		{"Model drift", "drift model", 40, "[Model] [drift]"},
		{"Model drift", "vendor", 40, ""},
		{"Model drift", "", 40, ""},
		{"ÄRGER über Ärger", "ärger", 40, "[ÄRGER] über [Ärger]"},
		{"aaaa", "aa", 40, "[aaaa]"},
		{"", "model", 40, ""},
		{long, "MODEL", 30, "…the [model] drifts after after a…"},
		{"model " + long, "model", 12, "[model] before…"},
		{long + "end", "end", 12, "…after [end]"},
		{strings.Repeat("x", 50) + "y", "y", 10, "…xxxxxxxxx[y]"},
	} {
		var got strings.Builder
		for _, piece := range ui.Excerpt(row.text, strings.Fields(row.words), row.limit) {
			if piece.Match {
				got.WriteString("[" + piece.Text + "]")
			} else {
				got.WriteString(piece.Text)
			}
		}
		if got.String() != row.want {
			t.Errorf("%.20q, %q: got %q, want %q", row.text, row.words, got.String(), row.want)
		}
	}
}
