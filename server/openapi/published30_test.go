package openapi_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/internal/testkit"
	"govsvc/server/openapi"
)

// published30 returns the document in the form of OpenAPI 3.0.
func published30(t *testing.T, s openapi.Service) []byte {
	t.Helper()
	text, err := testkit.Document(t).Published30(s)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestPublished_Version30 checks each kind of change by JSON pointer. The gate checks
// the document with a validator and a code generator.
func TestPublished_Version30(t *testing.T) {
	t.Parallel()
	var doc map[string]any
	if err := json.Unmarshal(published30(t, openapi.Service{BaseURL: "https://gov.example.com"}), &doc); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ pointer, want string }{
		{"openapi", `"3.0.3"`},
		{"info/summary", `null`},
		{"info/license", `{"name":"Apache 2.0","url":"https://www.apache.org/licenses/LICENSE-2.0"}`},
		{"servers", `[{"description":"The service that serves this document.","url":"https://gov.example.com/api/v1"}]`},
		{"webhooks", `null`},
		{"x-webhooks/ping/post/operationId", `"receivePing"`},
		{"components/schemas/RiskEnvelope/properties/object", `{"description":"The type of the object in ` + "`data`" + `.","enum":["risk"],"type":"string"}`},
		{"components/schemas/Risk/properties/severity", `{"description":"Inherent severity, before mitigation.","enum":["CRITICAL","HIGH","MEDIUM","LOW",null],"nullable":true,"type":"string"}`},
		{"components/schemas/ScorecardEnvelope/properties/data/nullable", `true`},
		{"components/schemas/ScorecardEnvelope/properties/data/description", `"The object, or null if there is none yet."`},
		{"components/schemas/ScorecardEnvelope/properties/data/properties/id/type", `"string"`},
		{"components/schemas/CompliancePosture", `null`}, // only its envelope referred to it
		{"components/schemas/CreateRisk/examples", `null`},
		{"components/schemas/CreateRisk/example/severity", `"HIGH"`},
	} {
		got, err := json.Marshal(at(doc, row.pointer))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(row.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.pointer, diff)
		}
	}
	security, err := json.Marshal(doc["paths"].(map[string]any)["/risks"].(map[string]any)["get"].(map[string]any)["security"])
	if err != nil || string(security) != `[{"bearer":[]},{"apiKey":[]}]` {
		t.Errorf("security is %s", security)
	}
	for _, name := range []string{"const", "examples", "$defs"} {
		if slices.Contains(names(doc), name) {
			t.Errorf("%s is no keyword of OpenAPI 3.0", name)
		}
	}
	eachSchema(doc, func(schema map[string]any) {
		if kind, one := schema["type"].(string); kind == "null" || !one && schema["properties"] == nil {
			if _, property := schema["type"].(map[string]any); !property {
				t.Errorf("the type %v is none of OpenAPI 3.0", schema["type"])
			}
		}
	})
}

// names returns the names of all members of a document.
func names(v any) (all []string) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			all = append(append(all, name), names(member)...)
		}
	case []any:
		for _, item := range v {
			all = append(all, names(item)...)
		}
	}
	return all
}

// TestPublished30_Golden compares the changes for OpenAPI 3.0 with a golden file. The
// document of 3.1 must remain unchanged.
func TestPublished30_Golden(t *testing.T) {
	t.Parallel()
	before := testkit.Document(t).JSON()
	var got bytes.Buffer
	if err := json.Indent(&got, published30(t, openapi.Service{}), "", "  "); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "openapi-3.0.json", got.String()+"\n")
	if !bytes.Equal(before, testkit.Document(t).JSON()) {
		t.Error("making the rendition changed the document")
	}
}

// TestPublished30_Refuses checks that a keyword without a form in 3.0 is an error.
func TestPublished30_Refuses(t *testing.T) {
	t.Parallel()
	pieces := embedded(t)
	mcp := string(pieces["mcp.yaml"].Data)
	pieces["mcp.yaml"].Data = []byte(strings.Replace(mcp, "id: {description: 'The id", "id: {type: [string, integer], description: 'The id", 1))
	d, err := openapi.LoadFrom(pieces)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Published30(openapi.Service{}); err == nil || !strings.Contains(err.Error(), "several types, string and integer") {
		t.Errorf("got error %v", err)
	}
}
