package openapi_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"govsvc/db/resource"
	"govsvc/internal/testkit"
	"govsvc/server/openapi"
)

// oracle compiles a component of the served document with a complete JSON Schema
// implementation, which also validates it with the metaschema. The tests compare its
// verdicts with those of this package's evaluator. That is ten times faster and has its
// own messages, but must accept the same values.
type oracle struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
}

func newOracle(t testing.TB) *oracle {
	t.Helper()
	served, err := jsonschema.UnmarshalJSON(bytes.NewReader(testkit.Document(t).JSON()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	instant := func(v any) error {
		s, ok := v.(string)
		if !ok {
			return nil
		}
		_, err := openapi.ParseInstant(s)
		return err
	}
	c.RegisterFormat(&jsonschema.Format{Name: "instant", Validate: instant})
	c.RegisterFormat(&jsonschema.Format{Name: "date-or-date-time", Validate: instant})
	if err := c.AddResource("openapi.json", served); err != nil {
		t.Fatal(err)
	}
	for i, object := range resource.Types() {
		record, err := jsonschema.UnmarshalJSON(bytes.NewReader(testkit.Document(t).RecordSchema(object)))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource(recordNames()[i]+".json", record); err != nil {
			t.Fatal(err)
		}
	}
	return &oracle{compiler: c}
}

func (o *oracle) schema(t testing.TB, name string) *jsonschema.Schema {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	location := "openapi.json#/components/schemas/" + name
	if strings.HasSuffix(name, "Record") {
		location = name + ".json"
	}
	schema, err := o.compiler.Compile(location)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func componentNames(t testing.TB) []string {
	t.Helper()
	var doc struct {
		Components struct {
			Schemas map[string]any
		}
	}
	if err := json.Unmarshal(testkit.Document(t).JSON(), &doc); err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(doc.Components.Schemas))
}

// TestPublished_SchemasCompile validates every component schema with the metaschema.
func TestPublished_SchemasCompile(t *testing.T) {
	t.Parallel()
	o := newOracle(t)
	for _, name := range append(componentNames(t), recordNames()...) {
		o.schema(t, name)
		if testkit.Document(t).Schema(name) == nil {
			t.Errorf("%s is not compiled", name)
		}
	}
	for _, op := range testkit.Document(t).Operations {
		if op.Tool == nil {
			continue
		}
		for kind, raw := range map[string][]byte{"input": op.Tool.Input, "output": op.Tool.Output} {
			schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
			if err != nil {
				t.Fatal(err)
			}
			c := jsonschema.NewCompiler()
			if err := c.AddResource("tool.json", schema); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Compile("tool.json"); err != nil {
				t.Errorf("%s of %s: %v", kind, op.Tool.Name, err)
			}
		}
	}
}

// FuzzDecode checks that the decoder never panics, and that what it accepts does not
// change when encoded. It must agree with the reference evaluator, except where it is
// stricter: lengths after trimming, white space of all scripts, time zones.
func FuzzDecode(f *testing.F) {
	names := slices.Concat(recordNames(), slices.Sorted(maps.Keys(bodies)))
	o := newOracle(f)
	for i, object := range resource.Types() {
		f.Add(uint8(i), []byte(minimal[object]))
	}
	for i, name := range names {
		f.Add(uint8(i), []byte(bodies[name]))
	}
	f.Add(uint8(1), []byte(riskLine))
	f.Fuzz(func(t *testing.T, choice uint8, data []byte) {
		name := names[int(choice)%len(names)]
		schema := testkit.Document(t).Schema(name)
		v, faults := schema.Decode(data)
		if faults != nil {
			checkRefusal(t, o.schema(t, name), data, faults)
			return
		}
		if err := o.schema(t, name).Validate(v); err != nil {
			t.Errorf("%s accepts %s: %v", name, data, err)
		}
		encoded, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		again, faults := schema.Decode(encoded)
		if faults != nil || !reflect.DeepEqual(v, again) {
			t.Errorf("%s: %s became %v, %v", name, encoded, again, faults)
		}
	})
}

// bodies has one operation for each schema of a body.
var bodies = map[string]string{
	"CreateRisk":     `{"title":"T","description":"Decisions drift with the season.","severity":"HIGH","likelihood":"RARE","target_date":"2026-12-31"}`,
	"UpdateRisk":     `{"status":"Closed","residual_severity":null,"severity_change_reason":"The model was withdrawn."}`,
	"CreateIncident": `{"title":"T","incident_type":"bias_harm","notification_required":true,"notification_deadline":"2026-10-01T12:00:00+02:00"}`,
	"UpdateIncident": `{"status":"contained","description":null}`,
	"CreateKpiCheckins": `{"checkins":[{"key_result_code":"A","value":1.0e2,"period_start":"2026-09-12T00:00:00Z"},` +
		`{"key_result_id":"01990000-0000-7000-8000-000000000001","value":-0.5}]}`,
	"CreateVendor":              `{"vendor_key":"v","vendor_name":"V","category":"LLM","initial_risk_band":"HIGH","annual_cost_usd":0,"contract_end":null}`,
	"UpdateVendor":              `{"status":"exited","contract_start":"2026-09-12","notes":"N"}`,
	"CreateWebhookSubscription": `{"url":"https://example.com","event_types":["risk.created"],"description":null}`,
	"UpdateWebhookSubscription": `{"active":false,"event_types":[]}`,
	"TestWebhookSubscription":   `{}`,
	"McpMessage":                `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_risks"}}`,
}

// TestFuzzDecode_CoversBodies checks that FuzzDecode covers the schema of every request
// body.
func TestFuzzDecode_CoversBodies(t *testing.T) {
	t.Parallel()
	var served struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(testkit.Document(t).JSON(), &served); err != nil {
		t.Fatal(err)
	}
	const component = `"$ref":"#/components/schemas/`
	seen := 0
	for path, methods := range served.Paths {
		for method, text := range methods {
			var op struct{ RequestBody json.RawMessage }
			if method == "parameters" || json.Unmarshal(text, &op) != nil || op.RequestBody == nil {
				continue
			}
			_, after, _ := strings.Cut(string(op.RequestBody), component)
			name, _, _ := strings.Cut(after, `"`)
			if seen++; bodies[name] == "" {
				t.Errorf("%s %s: FuzzDecode does not know its body %q", method, path, name)
			}
		}
	}
	if seen < len(bodies) {
		t.Errorf("%d operations with a body, want %d or more", seen, len(bodies))
	}
}

func recordNames() []string {
	var names []string
	for _, object := range resource.Types() {
		var name strings.Builder
		for word := range strings.SplitSeq(object, "_") {
			name.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
		names = append(names, name.String()+"Record")
	}
	return names
}

// stricter lists the messages of errors that JSON and JSON Schema do not define, or
// define less strictly.
var stricter = []string{
	"given twice", "NUL", "valid UTF-8", "valid JSON", "nothing after it", "nested", "64 characters",
	"finite", "must not be empty", "at least", "white space", "not be blank", "timestamp", "a date",
	"https URL", "absolute URL", "an integer", "have a key_result_id",
}

func checkRefusal(t *testing.T, schema *jsonschema.Schema, data []byte, faults []openapi.ValidationError) {
	t.Helper()
	for _, fault := range faults {
		for _, text := range stricter {
			if strings.Contains(fault.Message, text) {
				return
			}
		}
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err == nil && schema.Validate(v) == nil {
		t.Errorf("%s is refused: %v", data, faults)
	}
}

// FuzzQuery checks that the binding of a query never panics, and that each refusal
// names a parameter. It must accept what the reference evaluator accepts for the same
// values as arguments of a tool.
func FuzzQuery(f *testing.F) {
	f.Add("limit=5&severity=HIGH")
	f.Add("limit=+5&updated_since=2026-09-12T00:00:00Z")
	f.Add("limit=100&status=Open&updated_since=2026-09-12")
	f.Add("type=drift&limit=101")
	f.Add("status=open&status=open&cursor=")
	f.Add("%A4=1") // invalid UTF-8
	f.Add("=1")
	tools := toolSchemas(f)
	f.Fuzz(func(t *testing.T, raw string) {
		query, err := url.ParseQuery(raw)
		if err != nil {
			return
		}
		for _, op := range testkit.Document(t).Operations {
			values, err := op.Query(query)
			given, single := argumentsOf(op, query)
			if schema := tools[op.ID]; schema != nil && (err == nil) != (single && schema.Validate(given) == nil) {
				t.Errorf("%s: %q is answered %v, which is not the oracle's verdict", op.ID, raw, err)
			}
			if err != nil {
				var fault *openapi.ValidationError
				nameless := query.Has("") // the empty name
				if !errors.As(err, &fault) || fault.Param == "" && !nameless || fault.Message == "" {
					t.Errorf("%s: error %v", op.ID, err)
				}
				continue
			}
			for name := range query {
				if values[name] == nil || fmt.Sprint(values[name]) != query.Get(name) {
					t.Errorf("%s: %s is bound as %v", op.ID, name, values[name])
				}
			}
		}
	})
}

// argumentsOf returns the values of a query as JSON values. It returns false for values
// that JSON does not allow: a repeated name, an empty value, bytes that are not UTF-8.
func argumentsOf(op *openapi.Operation, query url.Values) (given map[string]any, single bool) {
	given = map[string]any{}
	for name, all := range query {
		if len(all) != 1 || all[0] == "" || !utf8.ValidString(name+all[0]) || strings.Contains(all[0], "\x00") {
			return nil, false
		}
		given[name] = all[0]
		if p := op.Parameter(name); p != nil && p.Integer && plainNumber.MatchString(all[0]) {
			given[name] = json.Number(all[0])
		}
	}
	return given, true
}

var plainNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,17})$`)

// toolSchemas returns the compiled schemas of the arguments of tools, by operation.
func toolSchemas(t testing.TB) map[string]*jsonschema.Schema {
	t.Helper()
	o, schemas := newOracle(t), map[string]*jsonschema.Schema{}
	for _, op := range testkit.Document(t).Operations {
		if op.Tool == nil {
			continue
		}
		input, err := jsonschema.UnmarshalJSON(bytes.NewReader(op.Tool.Input))
		if err != nil {
			t.Fatal(err)
		}
		if err := o.compiler.AddResource(op.ID+".json", input); err != nil {
			t.Fatal(err)
		}
		if schemas[op.ID], err = o.compiler.Compile(op.ID + ".json"); err != nil {
			t.Fatal(err)
		}
	}
	return schemas
}

// FuzzArguments sends any arguments to an MCP tool. The tool accepts the arguments that
// the reference evaluator accepts with the schema of tools/list.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{
		"", "{}", `{"limit":25,"cursor":"x"}`, `{"severity":"HIGH","status":"Open","updated_since":"2026-09-12"}`, `{"limit":1e1}`, `{"limit":"5"}`,
		`{"limit":null}`, `{"page":2}`, "[]", "null", `{"limit":5,"limit":6}`, `{"regime_id":"gdpr"}`, `{"type":"\ud800"}`,
	} {
		f.Add(uint8(2), []byte(seed))
		f.Add(uint8(7), []byte(seed))
	}
	schemas := toolSchemas(f)
	f.Fuzz(func(t *testing.T, which uint8, raw []byte) {
		var tools []*openapi.Operation
		for _, op := range testkit.Document(t).Operations {
			if op.Tool != nil {
				tools = append(tools, op)
			}
		}
		op := tools[int(which)%len(tools)]
		values, err := op.Arguments(raw)
		if err != nil {
			var fault *openapi.ValidationError
			if !errors.As(err, &fault) {
				t.Fatalf("%s: %v is no fault", op.ID, err)
			}
			checkRefusal(t, schemas[op.ID], raw, []openapi.ValidationError{*fault})
			return
		}
		given, err := jsonschema.UnmarshalJSON(strings.NewReader(cmp.Or(string(raw), "{}")))
		if err != nil {
			t.Fatalf("%s takes %q: %v", op.ID, raw, err)
		}
		if err := schemas[op.ID].Validate(given); err != nil {
			t.Errorf("%s takes %s: %v", op.ID, raw, err)
		}
		for _, p := range op.Parameters {
			if _, there := given.(map[string]any)[p.Name]; there != (values[p.Name] != nil) && p.Default == nil {
				t.Errorf("%s: %s of %s is bound as %v", op.ID, p.Name, raw, values[p.Name])
			}
		}
	})
}
