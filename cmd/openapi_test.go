package cmd_test

import (
	"encoding/json"
	"strings"
	"testing"

	"govsvc/internal/testkit"
)

// TestOpenAPI_PrintsOlderVersion checks that --3.0 prints a document of that version
// with the service that the flags name.
func TestOpenAPI_PrintsOlderVersion(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	var doc struct {
		OpenAPI string                 `json:"openapi"`
		Servers []struct{ URL string } `json:"servers"`
		Paths   map[string]any         `json:"paths"`
	}
	printed := c.must("openapi", "--3.0", "--base-url", "https://gov.example.com")
	must(t, json.Unmarshal([]byte(printed), &doc))
	paths := map[string]bool{}
	for _, op := range testkit.Document(t).Operations {
		paths[op.Path] = true
	}
	if doc.OpenAPI != "3.0.3" || len(doc.Servers) != 1 || doc.Servers[0].URL != "https://gov.example.com/api/v1" || len(doc.Paths) != len(paths) {
		t.Errorf("got version %s, servers %v and %d paths", doc.OpenAPI, doc.Servers, len(doc.Paths))
	}
	if strings.Contains(printed, `"null"`) {
		t.Error("a type of null is left")
	}
}

// TestImport_PrintsSchema checks that --schema prints the JSON Schema of one type,
// and that exported records have the form that it describes.
func TestImport_PrintsSchema(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	for _, object := range []string{"risk", "incident", "kpi_checkin"} {
		var schema struct {
			Title      string         `json:"title"`
			Required   []string       `json:"required"`
			Properties map[string]any `json:"properties"`
			Closed     *bool          `json:"additionalProperties"`
		}
		printed := c.must("import", "--schema", object)
		must(t, json.Unmarshal([]byte(printed), &schema))
		if schema.Title != object || schema.Required[0] != "object" || schema.Properties["object"] == nil || schema.Closed == nil || *schema.Closed {
			t.Errorf("%s: %+v", object, schema)
		}
		if again := c.must("import", "--schema", object, "--json"); again != printed {
			t.Errorf("%s: --json prints something else", object)
		}
	}
}
