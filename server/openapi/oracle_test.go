package openapi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"govsvc/server/openapi"
)

// oracle compiles a component of the served document with a full JSON Schema
// implementation, which holds it against the metaschema too. The package's own
// rules are held against it: they are ten times faster and speak for
// themselves, but must mean the same.
type oracle struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
}

func newOracle(t testing.TB) *oracle {
	t.Helper()
	served, err := jsonschema.UnmarshalJSON(bytes.NewReader(document(t).JSON()))
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
	return &oracle{compiler: c}
}

func (o *oracle) schema(t testing.TB, name string) *jsonschema.Schema {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	schema, err := o.compiler.Compile("openapi.json#/components/schemas/" + name)
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
	if err := json.Unmarshal(document(t).JSON(), &doc); err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(doc.Components.Schemas))
}

// TestSchemasCompile holds every component schema against the metaschema.
func TestSchemasCompile(t *testing.T) {
	t.Parallel()
	o := newOracle(t)
	for _, name := range componentNames(t) {
		o.schema(t, name)
		if document(t).Schema(name) == nil {
			t.Errorf("%s is not compiled", name)
		}
	}
	for _, op := range document(t).Operations {
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

// FuzzDecode: the decoder never panics, what it accepts comes out the same
// after encoding, and its verdict is the oracle's but for what is stricter on
// purpose: lengths after trimming, white space of all scripts, time zones.
func FuzzDecode(f *testing.F) {
	names := slices.Concat(recordNames(), []string{
		"CreateRisk", "UpdateRisk", "CreateIncident", "UpdateIncident", "CreateKpiCheckins",
		"CreateVendor", "UpdateVendor", "CreateWebhookSubscription", "TestWebhookSubscription", "McpMessage",
	})
	o := newOracle(f)
	for i, name := range names {
		f.Add(uint8(i), []byte(minimal[strings.ToLower(name)]))
	}
	for i, object := range recordOrder {
		f.Add(uint8(i), []byte(minimal[object]))
	}
	f.Add(uint8(1), []byte(riskLine))
	f.Add(uint8(18), []byte(`{"checkins":[{"key_result_code":"A","value":1.0e2,"period_start":"2026-09-12T00:00:00Z"}]}`))
	f.Add(uint8(21), []byte(`{"url":"https://example.com","event_types":["risk.created"],"description":null}`))
	f.Fuzz(func(t *testing.T, choice uint8, data []byte) {
		name := names[int(choice)%len(names)]
		schema := document(t).Schema(name)
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

var recordOrder = []string{
	"assessment", "risk", "signal", "roadmap", "milestone", "compliance_posture", "obligation",
	"vendor_portfolio", "vendor", "talent_readiness", "talent_gap", "kpi", "kpi_checkin", "incident",
}

func recordNames() []string {
	var names []string
	for _, object := range recordOrder {
		var name strings.Builder
		for word := range strings.SplitSeq(object, "_") {
			name.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
		names = append(names, name.String()+"Record")
	}
	return names
}

// stricter are the messages of refusals that JSON or JSON Schema know nothing
// of, or see more loosely.
var stricter = []string{
	"given twice", "NUL", "valid UTF-8", "valid JSON", "nothing after it", "nested", "64 characters",
	"finite", "must not be empty", "at least", "white space", "not be blank", "timestamp", "a date",
	"https URL", "absolute URL", "an integer",
}

func checkRefusal(t *testing.T, schema *jsonschema.Schema, data []byte, faults []openapi.Fault) {
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

// FuzzQuery: binding never panics, refuses with a fault that names something,
// and what it accepts it accepts again.
func FuzzQuery(f *testing.F) {
	f.Add("limit=5&severity=HIGH")
	f.Add("limit=+5&updated_since=2026-09-12T00:00:00Z")
	f.Add("status=open&status=open&cursor=")
	f.Add("%A4=1") // no UTF-8
	f.Add("=1")
	f.Fuzz(func(t *testing.T, raw string) {
		query, err := url.ParseQuery(raw)
		if err != nil {
			return
		}
		for _, op := range document(t).Operations {
			values, err := op.Query(query)
			if err != nil {
				var fault *openapi.Fault
				nameless := query.Has("") // which is a name, too
				if !errors.As(err, &fault) || fault.Param == "" && !nameless || fault.Message == "" {
					t.Errorf("%s: error %v", op.ID, err)
				}
				continue
			}
			for name := range query {
				if values[name] == nil {
					t.Errorf("%s: %s is lost", op.ID, name)
				}
			}
		}
	})
}
