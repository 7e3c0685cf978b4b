package openapi_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"govsvc/internal/testkit"
	"govsvc/server/openapi"
)

// published returns the document of a service with default settings.
func published(t testing.TB) map[string]any {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(testkit.Document(t).JSON(), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestPublished_Members checks members that code generators and linters need. A JSON
// pointer names each.
func TestPublished_Members(t *testing.T) {
	t.Parallel()
	doc := published(t)
	for _, row := range []struct{ pointer, want string }{
		{"components/schemas/ServedVersion", `{"description":"A version of the API that this service serves.","enum":["2026-09-12"],"type":"string"}`},
		{"components/parameters/ServiceVersion/schema", `{"$ref":"#/components/schemas/ServedVersion"}`},
		{"components/headers/Service-Version/schema", `{"$ref":"#/components/schemas/ServedVersion"}`},
		{"components/schemas/RiskList/properties/api_version", `{"const":"2026-09-12","description":"The served version of the API.","type":"string"}`},
		{"components/schemas/RiskEnvelope/properties/has_more", `{"description":"Always false, because a single object has no pages.","type":"boolean"}`},
		{"components/schemas/RiskEnvelope/properties/next_cursor/type", `["string","null"]`},
		{"components/schemas/McpMessage/required", `["jsonrpc","method"]`},
		{"components/schemas/McpMessage/properties/id/oneOf", `[{"type":"string"},{"format":"int64","type":"integer"}]`},
		{"components/schemas/McpResponse/properties/id/type", `null`},
		{"components/schemas/CreateKpiCheckin/anyOf", `null`},
		{"components/schemas/CreateVendor/properties/annual_cost_usd/format", `"double"`},
		{"components/schemas/Roadmap/properties/framework_blend/additionalProperties/format", `"double"`},
		{"components/schemas/AuditEvent/properties/severity/format", `"int32"`},
		{"components/schemas/Roadmap/properties/version_number/format", `"int64"`},
		{"components/parameters/Limit/schema/format", `"int32"`},
		{"webhooks/risk.created/post/tags", `["events"]`},
		{"webhooks/risk.created/post/operationId", `"receiveRiskCreated"`},
		{"webhooks/risk.created/post/security", `[]`},
		{"info/license", `{"identifier":"Apache-2.0","name":"Apache 2.0"}`},
		{"info/contact", `null`},
		{"externalDocs/url", `"http://127.0.0.1:8080/docs"`},
		{"servers", `[{"description":"The service that serves this document.","url":"http://127.0.0.1:8080/api/v1"}]`},
	} {
		got, err := json.Marshal(at(doc, row.pointer))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(row.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.pointer, diff)
		}
	}
	schemas := doc["components"].(map[string]any)["schemas"].(map[string]any)
	for name := range schemas {
		if strings.HasSuffix(name, "Record") {
			t.Errorf("the schema %s of the data format is public", name)
		}
	}
}

// TestPublished_Service checks that servers, externalDocs and the contact are those of
// the service.
func TestPublished_Service(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ contact, want string }{
		{"api@example.com", `"contact":{"email":"api@example.com"},"license":`},
		{"https://example.com/help", `"contact":{"url":"https://example.com/help"},"license":`},
	} {
		got := string(testkit.Document(t).Published(openapi.Service{BaseURL: "https://gov.example.com", Contact: row.contact}))
		for _, want := range []string{row.want, `"servers":[{"url":"https://gov.example.com/api/v1",`, `"url":"https://gov.example.com/docs"`} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %s in the document", row.contact, want)
			}
		}
	}
	if strings.Contains(string(testkit.Document(t).JSON()), "example.com/help") {
		t.Error("the settings of one service show in the document of another")
	}
}

// TestPublished_Operations checks that every operation, including the webhooks, has a
// unique operationId. Code generators need it.
func TestPublished_Operations(t *testing.T) {
	t.Parallel()
	doc := published(t)
	seen := map[string]bool{}
	for _, part := range []string{"paths", "webhooks"} {
		for path, item := range doc[part].(map[string]any) {
			for method, op := range item.(map[string]any) {
				id, _ := op.(map[string]any)["operationId"].(string)
				if id == "" || seen[id] {
					t.Errorf("%s %s: operationId %q is missing or taken", method, path, id)
				}
				seen[id] = true
			}
		}
	}
	operations, webhooks := len(testkit.Document(t).Operations), len(testkit.Document(t).EventTypes())
	if len(seen) != operations+webhooks {
		t.Errorf("got %d operations, want %d and %d webhooks", len(seen), operations, webhooks)
	}
}

// TestPublished_Formats checks that every number has a format that states its width,
// and that each value that the evaluator accepts fits into it.
func TestPublished_Formats(t *testing.T) {
	t.Parallel()
	numbers := 0
	eachSchema(published(t), func(schema map[string]any) {
		kinds, _ := schema["type"].([]any)
		kinds = append(kinds, schema["type"])
		switch format, _ := schema["format"].(string); {
		case slices.Contains(kinds, any("number")):
			numbers++
			if format != "double" {
				t.Errorf("a number of format %q: %v", format, schema)
			}
		case slices.Contains(kinds, any("integer")):
			numbers++
			if format != "int32" && format != "int64" {
				t.Errorf("an integer of format %q: %v", format, schema)
			}
		}
	})
	if numbers < 40 {
		t.Errorf("only %d numbers were looked at", numbers)
	}
	for number, fits := range map[string]bool{"9223372036854775807": true, "9223372036854775808": false, "1e300": false} {
		line := strings.Replace(minimal["roadmap"], `"version_number":1`, `"version_number":`+number, 1)
		if _, faults := testkit.Document(t).Record("roadmap").Decode([]byte(line)); (len(faults) == 0) != fits {
			t.Errorf("int64 %s: got faults %v, want accepted %v", number, faults, fits)
		}
	}
	for number, fits := range map[string]bool{"1.7976931348623157e308": true, "1e309": false} {
		body := `{"checkins":[{"key_result_code":"A","value":` + number + `}]}`
		if _, faults := testkit.Document(t).Schema("CreateKpiCheckins").Decode([]byte(body)); (len(faults) == 0) != fits {
			t.Errorf("double %s: got faults %v, want accepted %v", number, faults, fits)
		}
	}
}

// eachSchema calls a function for every part of a document that has a type.
func eachSchema(v any, look func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		if v["type"] != nil {
			look(v)
		}
		for name, member := range v {
			if name != "examples" {
				eachSchema(member, look)
			}
		}
	case []any:
		for _, item := range v {
			eachSchema(item, look)
		}
	}
}

// TestPublished_Texts checks that the published patterns of texts and the evaluator
// accept the same texts.
func TestPublished_Texts(t *testing.T) {
	t.Parallel()
	o := newOracle(t)
	twenty := strings.Repeat("x", 20)
	for _, row := range []struct {
		schema, member, value string
		want                  bool
	}{
		{"CreateRisk", "title", "T", true},
		{"CreateRisk", "title", " T ", true},
		{"CreateRisk", "title", "", false},
		{"CreateRisk", "title", " \t\n", false},
		{"CreateRisk", "title", "T\x00", false},
		{"CreateRisk", "description", twenty, true},
		{"CreateRisk", "description", "  " + twenty + "\n", true},
		{"CreateRisk", "description", twenty[1:] + "  ", false},
		{"CreateRisk", "description", strings.Repeat(" ", 40), false},
		{"CreateRisk", "description", twenty + "\x00", false},
		{"CreateRisk", "mitigation_action", "", true},
		{"CreateRisk", "mitigation_action", "a\x00b", false},
		{"CreateRisk", "dimension", "D", true},
		{"CreateRisk", "dimension", "D\x00D", false},
		{"CreateRisk", "dimension", " D", false},
		{"UpdateRisk", "severity_change_reason", twenty, true},
		{"UpdateRisk", "severity_change_reason", " " + twenty[1:], false},
		{"CreateVendor", "category", " ", false},
	} {
		body := map[string]any{}
		if err := json.Unmarshal([]byte(bodies[row.schema]), &body); err != nil {
			t.Fatal(err)
		}
		body[row.member] = row.value
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		_, faults := testkit.Document(t).Schema(row.schema).Decode(text)
		said := o.schema(t, row.schema).Validate(body)
		if (faults == nil) != row.want || (said == nil) != row.want {
			t.Errorf("%s.%s %q: evaluator %v, published schema %v, want accepted %v", row.schema, row.member, row.value, faults, said, row.want)
		}
	}
}

// TestPublished_OneLine checks that the document describes the title of an incident as
// one line. The operation checks this rule, not the evaluator.
func TestPublished_OneLine(t *testing.T) {
	t.Parallel()
	o := newOracle(t)
	for title, want := range map[string]bool{
		"T": true, "A title": true, " A title\n": true, "": false, " ": false, "two\nlines": false, "two\vlines": false,
		"two\u0085lines": false, "two\u2028lines": false, "NUL\x00": false,
	} {
		for _, name := range []string{"CreateIncident", "UpdateIncident"} {
			if got := o.schema(t, name).Validate(map[string]any{"title": title}) == nil; got != want {
				t.Errorf("%s %q: accepted %v, want %v", name, title, got, want)
			}
		}
	}
}

// TestPublished_IdempotencyKey checks that the pattern of the header allows no white
// space at its ends, because HTTP removes it.
func TestPublished_IdempotencyKey(t *testing.T) {
	t.Parallel()
	doc := published(t)
	for _, name := range []string{"IdempotencyKey", "IdempotencyKeyOptional"} {
		pattern, _ := at(doc, "components/parameters/"+name+"/schema/pattern").(string)
		re := regexp.MustCompile(pattern)
		for value, want := range map[string]bool{
			"k": true, "a b": true, strings.Repeat("k", 255): true, "": false, " ": false, "k ": false, strings.Repeat("k", 256): false, "é": false,
		} {
			if re.MatchString(value) != want {
				t.Errorf("%s: %q matches %v, want %v", name, value, !want, want)
			}
		}
	}
}

// TestRecord_Schemas checks that each schema needs no other one, and names its type and
// natural key.
func TestRecord_Schemas(t *testing.T) {
	t.Parallel()
	for object, line := range minimal {
		raw := testkit.Document(t).RecordSchema(object)
		var schema struct {
			Schema string   `json:"$schema"`
			Title  string   `json:"title"`
			Key    []string `json:"x-natural-key"`
		}
		if err := json.Unmarshal(raw, &schema); err != nil {
			t.Fatal(err)
		}
		if schema.Schema != "https://json-schema.org/draft/2020-12/schema" || schema.Title != object || len(schema.Key) == 0 || strings.Contains(string(raw), `"$ref"`) {
			t.Errorf("%s: %+v", object, schema)
		}
		c := jsonschema.NewCompiler()
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource("record.json", value); err != nil {
			t.Fatal(err)
		}
		compiled, err := c.Compile("record.json")
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range map[string]bool{line: true, strings.Replace(line, `"object"`, `"objects"`, 1): false, `{"object":"incident","title":"T"}`: false} {
			record, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if got := compiled.Validate(record) == nil; got != want {
				t.Errorf("%s: %s accepted %v, want %v", object, text, got, want)
			}
		}
	}
	if testkit.Document(t).RecordSchema("list") != nil {
		t.Error("there is a schema of no type")
	}
}
