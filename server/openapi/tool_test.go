package openapi_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/internal/testkit"
)

func TestTool_List(t *testing.T) {
	t.Parallel()
	for _, op := range testkit.Document(t).Operations {
		if op.Tool == nil {
			continue
		}
		if op.Tool.Title == "" || len(op.Tool.Description) < 80 {
			t.Errorf("%s has no title or no description to speak of", op.Tool.Name)
		}
		var input struct {
			Type                 string
			AdditionalProperties *bool
			Properties           map[string]map[string]any
		}
		if err := json.Unmarshal(op.Tool.Input, &input); err != nil {
			t.Fatal(err)
		}
		if input.Type != "object" || input.AdditionalProperties == nil || *input.AdditionalProperties {
			t.Errorf("%s: the input is not a closed object", op.Tool.Name)
		}
		if len(input.Properties) != len(op.Parameters) {
			t.Errorf("%s: %d properties for %d parameters", op.Tool.Name, len(input.Properties), len(op.Parameters))
		}
		for _, forbidden := range []string{"$ref", "enum", "pattern", "format", "additionalProperties", "x-object"} {
			if bytes.Contains(op.Tool.Output, []byte(`"`+forbidden+`":`)) {
				t.Errorf("%s: the output has %s", op.Tool.Name, forbidden)
			}
		}
	}
}

func TestTool_Schemas(t *testing.T) {
	t.Parallel()
	tool := testkit.Document(t).Operation("listSignals").Tool
	want := `{"type":"object","properties":{` +
		`"cursor":{"type":"string","minLength":1,"description":"The ` + "`next_cursor`" + ` of the previous page. Without it, the first page is returned."},` +
		`"limit":{"type":"integer","minimum":1,"maximum":100,"default":25,"description":"The maximum number of objects on a page. A page ends early when it reaches 4 MB."},` +
		`"type":{"type":"string","pattern":"^[^\\s\\x00]([^\\x00]*[^\\s\\x00])?$","maxLength":200,"description":"Returns only the signal of this canonical type."},` +
		`"updated_since":{"type":"string","format":"instant","examples":["2026-09-12","2026-09-12T08:30:00Z"],` +
		`"description":"Returns only records that were created or changed at or after this instant: a date (` + "`2026-09-12`" + `, meaning midnight UTC) or an RFC 3339 timestamp."}},` +
		`"additionalProperties":false}`
	if diff := cmp.Diff(want, string(tool.Input)); diff != "" {
		t.Errorf("input (-want +got):\n%s", diff)
	}
	var output struct {
		Properties struct {
			Data struct {
				Items struct{ Properties map[string]any }
			}
		}
	}
	if err := json.Unmarshal(tool.Output, &output); err != nil {
		t.Fatal(err)
	}
	rag := map[string]any{
		"anyOf":       []any{map[string]any{"type": "string"}, map[string]any{"type": "null"}},
		"description": "The red, amber or green band of the value.",
	}
	if diff := cmp.Diff(rag, output.Properties.Data.Items.Properties["rag"]); diff != "" {
		t.Errorf("rag (-want +got):\n%s", diff)
	}
	names := []string{}
	for name := range output.Properties.Data.Items.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	if diff := cmp.Diff(testkit.Document(t).Schema("Signal").Members(), names); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}
