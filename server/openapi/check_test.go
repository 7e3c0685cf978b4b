package openapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/internal/testkit"
)

// TestCheck compares the validation of a value with that of its JSON.
func TestCheck(t *testing.T) {
	t.Parallel()
	schema := testkit.Document(t).Operation("createIncident").Body
	nested := any("x")
	for range 40 {
		nested = []any{nested}
	}
	for name, body := range map[string]any{
		"a body":              map[string]any{"title": "t", "notification_required": true, "owner": nil},
		"no body":             nil,
		"an array":            []any{"x"},
		"a NUL":               map[string]any{"title": "a\x00b"},
		"two lines":           map[string]any{"title": " a\nb "},
		"lines around it":     map[string]any{"title": "\n a \u2028"},
		"an unknown member":   map[string]any{"title": "t", "titel": "t"},
		"several errors":      map[string]any{"severity": "x", "title": "", "status": json.Number("1")},
		"a long number":       map[string]any{"title": json.Number("1" + strings.Repeat("0", 70))},
		"an infinite number":  map[string]any{"title": json.Number("1e999")},
		"deeply nested":       map[string]any{"title": nested},
		"an object in a text": map[string]any{"title": map[string]any{"a": "\x00"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			wantValue, wantErrs := schema.Decode(text)
			gotValue, gotErrs := schema.Check(body)
			if diff := cmp.Diff(wantErrs, gotErrs); diff != "" {
				t.Errorf("errors (-Decode +Check):\n%s", diff)
			}
			if diff := cmp.Diff(wantValue, gotValue); diff != "" {
				t.Errorf("value (-Decode +Check):\n%s", diff)
			}
		})
	}
}

// TestCheck_Copies checks that Check does not change the given value.
func TestCheck_Copies(t *testing.T) {
	t.Parallel()
	given := map[string]any{
		"object": "milestone", "milestone_key": "m", "title": "t", "phase": "p", "sequence": json.Number("1.0"),
		"status": "blocked", "rag_status": "RED", "owner_role": "o",
	}
	got, errs := testkit.Document(t).Record("milestone").Check(given)
	if errs != nil {
		t.Fatal(errs)
	}
	if got.(map[string]any)["sequence"] != json.Number("1") || given["sequence"] != json.Number("1.0") {
		t.Errorf("got %v of %v", got, given)
	}
}
