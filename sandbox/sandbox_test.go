package sandbox_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
	"govsvc/sandbox"
	"govsvc/server/openapi"
	"govsvc/server/transfer"
)

// open opens a sandbox and closes it when the test ends.
func open(t *testing.T) *sandbox.Sandbox {
	t.Helper()
	s, err := sandbox.Open(t.Context(), testkit.Document(t))
	if err != nil {
		t.Fatal(err)
	}
	testkit.CloseAfter(t, s.Close)
	return s
}

// readAll returns all objects of the lists, the current objects and the audit log of a
// sandbox, by their type.
func readAll(t *testing.T, s *sandbox.Sandbox) map[string][]map[string]any {
	t.Helper()
	org := testdb.DefaultOrg(t, s.DB)
	all := map[string][]map[string]any{}
	add := func(what string, text []byte, err error) {
		if err != nil {
			t.Fatal(err)
		}
		var rows []map[string]any
		if text[0] != '[' {
			text = fmt.Appendf(nil, "[%s]", text)
		}
		if err := json.Unmarshal(text, &rows); err != nil {
			t.Fatal(err)
		}
		if len(rows) == 0 {
			t.Errorf("%s: there are no fixtures", what)
		}
		for _, row := range rows {
			object := row["object"].(string)
			all[object] = append(all[object], row)
		}
	}
	for _, r := range resource.All() {
		if r.List.Operation != "" {
			page, err := s.List(t.Context(), org, r, db.ListQuery{Limit: 100})
			add(r.Plural, page.Rows, err)
		}
		if r.Current.Operation != "" {
			text, err := s.Current(t.Context(), org, r)
			add(r.Plural, text, err)
		}
	}
	page, err := s.Audit.Events(t.Context(), org, db.AuditQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range page.Events {
		add("events", event, nil)
	}
	return all
}

// publishedSchemas returns the schemas of the published document by name, and the names
// of those that describe an object by the object's type.
func publishedSchemas(t *testing.T) (schemas map[string]any, nameOf map[string]string) {
	t.Helper()
	var published struct {
		Components struct {
			Schemas map[string]any `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(testkit.Document(t).JSON(), &published); err != nil {
		t.Fatal(err)
	}
	nameOf = map[string]string{}
	for name, schema := range published.Components.Schemas {
		properties, _ := schema.(map[string]any)["properties"].(map[string]any)
		object, _ := properties["object"].(map[string]any)
		if value, ok := object["const"].(string); ok && properties["data"] == nil { // an envelope has data
			nameOf[value] = name
		}
	}
	return published.Components.Schemas, nameOf
}

// TestOpen_Fixtures checks that each type has enough rows, which are valid and marked.
// Every value of an enumeration occurs, and every nullable member is null and set.
func TestOpen_Fixtures(t *testing.T) {
	t.Parallel()
	s, document := open(t), testkit.Document(t)
	least := map[string]int{"risk": 60, "scorecard": 1, "roadmap": 1, "compliance_posture": 1, "vendor_portfolio": 1, "talent_readiness": 1}
	_, nameOf := publishedSchemas(t)
	for object, rows := range readAll(t, s) {
		schema := document.Schema(nameOf[object])
		if want := max(3, least[object]); len(rows) < want && least[object] != 1 {
			t.Errorf("%s: got %d rows, want %d", object, len(rows), want)
		}
		for _, row := range rows {
			text, err := json.Marshal(row)
			if err != nil {
				t.Fatal(err)
			}
			value, faults := schema.Decode(text)
			if len(faults) > 0 {
				t.Errorf("%s: %v", text, faults)
				continue
			}
			marked, err := json.Marshal(schema.Mark(value, sandbox.Marker))
			if err != nil {
				t.Fatal(err)
			}
			if again, err := json.Marshal(decode(t, text)); err != nil || string(again) != string(marked) {
				t.Errorf("got %s, want the marker in each human-readable text:\n%s", again, marked)
			}
		}
		if least[object] != 1 && object != "audit_event" {
			checkValues(t, object, schema, rows)
		}
	}
}

// TestFixtures_CodesNotMarked checks that a string has no marker if the published document
// has an enumeration, a pattern or a format for it (contract, Sandbox).
func TestFixtures_CodesNotMarked(t *testing.T) {
	t.Parallel()
	s := open(t)
	schemas, nameOf := publishedSchemas(t)
	checked := map[string]bool{}
	for object, rows := range readAll(t, s) {
		for _, row := range rows {
			marked := codesMarked(object, schemas[nameOf[object]], row, checked)
			if len(marked) > 0 {
				t.Errorf("codes with the marker: %v", marked)
			}
		}
	}
	for _, place := range []string{
		"risk.source", "risk.dimension", "risk.risk_id", "kpi.unit", "kpi.code", "signal.signal_type", "signal.module_id",
		"signal.source_version", "score.methodology_version", "vendor_portfolio.recommended_actions.priority",
	} {
		if !checked[place] {
			t.Errorf("%s is not a code of the document", place)
		}
	}
}

// codesMarked returns the places of the codes in a value that have the marker. It adds each
// place to checked.
func codesMarked(place string, schema, value any, checked map[string]bool) (marked []string) {
	s, _ := schema.(map[string]any)
	switch value := value.(type) {
	case string:
		for _, keyword := range []string{"enum", "const", "pattern", "format"} {
			if s[keyword] != nil {
				checked[place] = true
				if strings.HasPrefix(value, sandbox.Marker) {
					return []string{place}
				}
			}
		}
	case []any:
		for _, item := range value {
			marked = append(marked, codesMarked(place, s["items"], item, checked)...)
		}
	case map[string]any:
		properties, _ := s["properties"].(map[string]any)
		for name, member := range value {
			marked = append(marked, codesMarked(place+"."+name, properties[name], member, checked)...)
		}
	}
	return marked
}

func decode(t *testing.T, text []byte) any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// checkValues checks that the rows have every value of an enumeration, and that each
// nullable member is null and set.
func checkValues(t *testing.T, object string, schema *openapi.Schema, rows []map[string]any) {
	t.Helper()
	for _, p := range schema.Properties() {
		if !p.Required || p.Name == "api_version" {
			continue
		}
		var null, set bool
		var values []string
		for _, row := range rows {
			null, set = null || row[p.Name] == nil, set || row[p.Name] != nil
			if text, ok := row[p.Name].(string); ok {
				values = append(values, text)
			}
		}
		if !set || p.Nullable && !null {
			t.Errorf("%s.%s: null %v, set %v, want both", object, p.Name, null, set)
		}
		for _, value := range p.Enum {
			if !slices.Contains(values, value) {
				t.Errorf("%s.%s: no row has the value %s", object, p.Name, value)
			}
		}
	}
}

// TestFixtures_ReservedRange checks that every UUID is in the range of zeros.
func TestFixtures_ReservedRange(t *testing.T) {
	t.Parallel()
	s := open(t)
	text, err := json.Marshal(readAll(t, s))
	if err != nil {
		t.Fatal(err)
	}
	uuid := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	reserved := regexp.MustCompile(`^00000000-0000-0000-0000-\d{12}$`)
	for _, id := range uuid.FindAllString(string(text), -1) {
		if !reserved.MatchString(id) {
			t.Errorf("%s is outside the reserved range", id)
		}
	}
}

// TestOpen_Deterministic checks that two sandboxes are equal to the byte, with their
// cursors.
func TestOpen_Deterministic(t *testing.T) {
	t.Parallel()
	one, two := open(t), open(t)
	for _, limit := range []int{1, 7, 100} {
		var pages [2]db.Page
		for i, s := range []*sandbox.Sandbox{one, two} {
			var err error
			if pages[i], err = s.List(t.Context(), testdb.DefaultOrg(t, s.DB), resource.Risk, db.ListQuery{Limit: limit}); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(pages[0].Rows, pages[1].Rows) || pages[0].Next != pages[1].Next {
			t.Errorf("two sandboxes differ at limit %d", limit)
		}
	}
	a, errA := json.Marshal(readAll(t, one))
	b, errB := json.Marshal(readAll(t, two))
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Error("two sandboxes differ")
	}
}

// TestOpen_KeepsNothing checks that a write gets its response and is rolled back.
func TestOpen_KeepsNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	before, err := json.Marshal(readAll(t, s))
	if err != nil {
		t.Fatal(err)
	}
	org := testdb.DefaultOrg(t, s.DB)
	for range 3 {
		var made db.Object
		err := s.Write(t.Context(), db.Actor{Org: org.Org, ID: "key:x", API: true}, func(tx *db.Tx) error {
			made, err = tx.Create(resource.Vendor, db.Record{"vendor_key": "k", "vendor_name": "n", "category": "c", "initial_risk_band": "LOW"})
			return err
		})
		if err != nil || !strings.Contains(string(made.JSON), `"vendor_key":"k"`) {
			t.Fatalf("got %s, %v, want the vendor", made.JSON, err)
		}
	}
	after, err := json.Marshal(readAll(t, s))
	if err != nil || string(before) != string(after) {
		t.Error("got a change of the data after writes")
	}
}

// TestDemo_Records checks that the demonstration data can be imported and has enough
// records.
func TestDemo_Records(t *testing.T) {
	t.Parallel()
	store := testdb.Open(t, db.Options{})
	report, err := transfer.Import(t.Context(), store, testkit.Document(t), testdb.Operator(t, store),
		[]transfer.Source{sandbox.Demo()}, transfer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if report.Records < 400 {
		t.Errorf("got %d records, want at least 400", report.Records)
	}
}
