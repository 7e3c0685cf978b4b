package records_test

import (
	"testing"

	"govsvc/web/records"
)

// TestValueText checks how changes show objects and lists of them.
func TestValueText(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		member string
		value  any
		want   string
	}{
		{"build_buy_borrow", map[string]any{"build": 0.55, "buy": 0.25, "borrow": 0.2}, "Borrow: 20\u00a0%, Build: 55\u00a0%, Buy: 25\u00a0%"},
		{"framework_blend", map[string]any{"NIST AI RMF": 0.6}, "NIST AI RMF: 60\u00a0%"},
		{"phases", []any{map[string]any{"phase": "Embed", "objective": "Work"}, map[string]any{"phase": "Settle"}}, "Objective: Work, Phase: Embed; Phase: Settle"},
		{"affected_systems", []any{"Nora", "Ravn"}, "Nora, Ravn"},
		{"phases", []any{}, ""},
		{"description", map[string]any{"length": 300, "sha256": "ab"}, "Long text, 300 bytes, SHA-256 ab"},
	} {
		if got := records.ValueText(row.member, row.value); got != row.want {
			t.Errorf("%s: got %q, want %q", row.member, got, row.want)
		}
	}
}
