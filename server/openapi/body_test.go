package openapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/internal/testkit"
	"govsvc/server/openapi"
)

const (
	risk  = `"title":"T","description":"` + text20 + `","severity":"HIGH","likelihood":"LIKELY"`
	point = `"key_result_code":"KR-01","value":1`

	text20 = "twenty characters it" // 20 characters
)

// faultRow is an input and the expected errors, each "param: message".
type faultRow struct {
	schema, in string
	want       []string
}

func TestDecode_Bodies(t *testing.T) {
	t.Parallel()
	subscribable := strings.TrimSuffix(strings.Join(specifiedEvents, ", "), ", ping")
	for _, row := range []faultRow{
		{"CreateRisk", `{` + risk + `}`, nil},
		{"CreateRisk", ` {` + risk + `,"dimension":"DATA","owner_name":"","target_date":"2028-02-29"} `, nil},
		{"CreateRisk", `{}`, []string{
			"title: title is required", "description: description is required",
			"severity: severity is required", "likelihood: likelihood is required",
		}},
		{"CreateRisk", `{"title":" ","description":"   short` + strings.Repeat(" ", 20) + `","severity":"High","likelihood":1}`, []string{
			"title: title must not be empty",
			"description: description must have at least 20 characters",
			"severity: severity must be one of CRITICAL, HIGH, MEDIUM, LOW",
			"likelihood: likelihood must be one of RARE, UNLIKELY, POSSIBLE, LIKELY, ALMOST_CERTAIN",
		}},
		{"CreateRisk", `{` + risk + `,"zeta":1,"alpha":2}`, []string{
			"alpha: alpha is not a known member", "zeta: zeta is not a known member",
		}},
		{"CreateRisk", `{` + risk + `,"owner_name":null,"mitigation_action":7}`, []string{
			"mitigation_action: mitigation_action must be a string",
			"owner_name: owner_name must be a string, not null",
		}},
		{"CreateRisk", `{` + risk + `,"target_date":"2026-02-29"}`, []string{
			"target_date: target_date must be a date (YYYY-MM-DD)",
		}},
		{"CreateRisk", `{` + risk + `,"target_date":"2026-02-01T00:00:00Z"}`, []string{
			"target_date: target_date must be a date (YYYY-MM-DD)",
		}},
		{"CreateRisk", `{` + risk + `,"dimension":" DATA"}`, []string{
			"dimension: dimension must be text that is not empty, without white space around it",
		}},
		{"CreateRisk", strings.Replace(`{`+risk+`}`, `"T"`, `"`+strings.Repeat("ü", 2000)+`"`, 1), nil},
		{"CreateRisk", strings.Replace(`{`+risk+`}`, `"T"`, `"`+strings.Repeat("x", 2001)+`"`, 1), []string{
			"title: title must have at most 2000 characters",
		}},

		{"UpdateRisk", `{}`, nil},
		{"UpdateRisk", `{"title":null,"residual_severity":null,"owner_name":null,"mitigation_action":null,` +
			`"target_date":null,"residual_gap_reason":null,"severity_change_reason":null}`, nil},
		{"UpdateRisk", `{"description":"` + text20 + `"}`, []string{"description: description is not a known member"}},
		{"UpdateRisk", `{"severity":null}`, []string{"severity: severity must be one of CRITICAL, HIGH, MEDIUM, LOW, not null"}},
		{"UpdateRisk", `{"residual_severity":"x"}`, []string{
			"residual_severity: residual_severity must be one of CRITICAL, HIGH, MEDIUM, LOW or null",
		}},
		{"UpdateRisk", `{"owner_name":[]}`, []string{"owner_name: owner_name must be a string or null"}},
		{"UpdateRisk", `{"severity_change_reason":"` + text20[1:] + `"}`, []string{
			"severity_change_reason: severity_change_reason must have at least 20 characters",
		}},

		{"CreateIncident", `{"title":"T","notification_deadline":null}`, nil},
		{"CreateIncident", `{"title":"T","description":null}`, []string{"description: description must be a string, not null"}},
		{"CreateIncident", `{"title":"T","notification_required":"yes"}`, []string{
			"notification_required: notification_required must be true or false",
		}},
		{"CreateIncident", `{"title":"T","notification_deadline":"2026-09-12"}`, []string{
			"notification_deadline: notification_deadline must be an RFC 3339 timestamp such as 2026-09-12T08:30:00Z or null",
		}},
		{"UpdateIncident", `{"description":null,"affected_systems":null,"jurisdictions":null,"owner":null,"notification_deadline":null}`, nil},
		{"UpdateIncident", `{"title":null,"status":"Open"}`, []string{
			"title: title must be a string, not null",
			"status: status must be one of open, investigating, contained, resolved, post_review, closed",
		}},

		{"CreateKpiCheckins", `{"checkins":[{` + point + `,"period_start":"2026-09-12T23:30:00-02:00"},{` + point + `}]}`, nil},
		{"CreateKpiCheckins", `{"checkins":[]}`, []string{"checkins: checkins must not be empty"}},
		{"CreateKpiCheckins", `{"checkins":[` + strings.Repeat(`{`+point+`},`, 500) + `{` + point + `}]}`, []string{
			"checkins: checkins must have at most 500 items",
		}},
		{"CreateKpiCheckins", `{"checkins":[{` + point + `},{"value":"1","note":null},{"key_result_code":"A"}]}`, []string{
			"checkins[1].value: checkins[1].value must be a number",
			"checkins[1].note: checkins[1].note must be a string, not null",
			"checkins[1]: checkins[1] must have a key_result_id or a key_result_code",
			"checkins[2].value: checkins[2].value is required",
		}},
		{"CreateKpiCheckins", `{"checkins":[{"key_result_id":"abc","value":1e999}]}`, []string{
			"checkins[0].value: checkins[0].value must be a number in the range of a 64-bit float",
			"checkins[0].key_result_id: checkins[0].key_result_id must be a UUID",
		}},
		{"CreateKpiCheckins", `{"checkins":[{` + point + `,"source":" "}]}`, []string{
			"checkins[0].source: checkins[0].source must not be blank",
		}},
		{"CreateKpiCheckins", `{"checkins":{}}`, []string{"checkins: checkins must be an array"}},

		{"CreateVendor", `{"vendor_key":"k","vendor_name":"N","category":"C","initial_risk_band":"LOW","ai_role":null,` +
			`"initial_recommendation":null,"contract_start":null,"contract_end":null,"annual_cost_usd":0,"renewal_owner_role":null,"notes":null}`, nil},
		{"UpdateVendor", `{"annual_cost_usd":-0.01,"vendor_name":"x","status":null}`, []string{
			"status: status must be one of active, under_review, negotiating, sunsetting, exited, blocked, not null",
			"annual_cost_usd: annual_cost_usd must be a number of at least 0 or null",
			"vendor_name: vendor_name is not a known member",
		}},

		{"CreateWebhookSubscription", `{"url":"HTTPS://example.com/x","event_types":[],"description":null}`, nil},
		{"CreateWebhookSubscription", `{"url":"http://example.com","event_types":["ping"],"active":null}`, []string{
			"url: url must be an https URL",
			"event_types[0]: event_types[0] must be one of " + subscribable,
			"active: active must be true or false, not null",
		}},
		{"CreateWebhookSubscription", `{"url":"https://example.com","event_types":["risk.created","risk.created"]}`, []string{
			"event_types[1]: event_types[1] is given twice",
		}},
		{"CreateWebhookSubscription", `{"url":"https://e.com","event_types":[{},{}]}`, []string{
			"event_types[0]: event_types[0] must be one of " + subscribable,
			"event_types[1]: event_types[1] must be one of " + subscribable,
		}},
		{"TestWebhookSubscription", `{}`, nil},
		{"TestWebhookSubscription", `{"a":1}`, []string{"a: a is not a known member"}},
	} {
		t.Run(row.schema, func(t *testing.T) {
			t.Parallel()
			checkFaults(t, testkit.Document(t).Schema(row.schema), row)
		})
	}
}

func TestDecode_StrictJSON(t *testing.T) {
	t.Parallel()
	for _, row := range []faultRow{
		{"", ``, []string{": the body must not be empty"}},
		{"", `  `, []string{": the body must not be empty"}},
		{"", `[]`, []string{": the body must be an object"}},
		{"", `null`, []string{": the body must be an object, not null"}},
		{"", `{} {}`, []string{": the body must be one JSON value with nothing after it"}},
		{"", `{}x`, []string{": the body must be one JSON value with nothing after it"}},
		{"", `{"title":"a","title":"b"}`, []string{"title: title is given twice"}},
		{"", `{"title":"a","ti\u0074le":"b"}`, []string{"title: title is given twice"}},
		{"", "{\"title\":\"\xff\"}", []string{"title: title must be valid UTF-8"}},
		{"", "{\"\xff\":1}", []string{": the body must be valid UTF-8"}},
		{"", `{"title":"a\u0000b"}`, []string{"title: title must not contain the NUL character"}},
		{"", `{"title":"\ud800"}`, []string{"title: title is not valid JSON (at byte 10 of the input)"}},
		{"", `{"title":tru}`, []string{"title: title is not valid JSON (at byte 12 of the input)"}},
		{"", `{"title":`, []string{"title: title is not valid JSON (at byte 9 of the input)"}},
		{"", `{"title":"a",}`, []string{": the body is not valid JSON (at byte 12 of the input)"}},
		{"", "\ufeff{}", []string{": the body is not valid JSON (at byte 0 of the input)"}},
		{"", `{"` + strings.Repeat("x", 100) + `":1}`, []string{
			`"` + strings.Repeat("x", 40) + `…": "` + strings.Repeat("x", 40) + `…" is not a known member`,
		}},
		{"", `{"a b\n":1,"":2}`, []string{`"": "" is not a known member`, `"a b\n": "a b\n" is not a known member`}},
		{"", `{"title":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`, []string{
			"title" + strings.Repeat("[0]", 31) + ": title" + strings.Repeat("[0]", 31) + " must not be nested more than 32 levels deep",
		}},
		{"", `{"title":` + strings.Repeat("1", 65) + `}`, []string{
			"title: title must be a number of at most 64 characters", "title: title must be a string",
		}},
	} {
		t.Run(row.in, func(t *testing.T) {
			t.Parallel()
			// All members are optional, so that only the JSON can be invalid.
			checkFaults(t, testkit.Document(t).Schema("UpdateIncident"), row)
		})
	}
}

func checkFaults(t *testing.T, schema *openapi.Schema, row faultRow) {
	t.Helper()
	v, faults := schema.Decode([]byte(row.in))
	var got []string
	for _, f := range faults {
		got = append(got, f.Param+": "+f.Message)
	}
	if diff := cmp.Diff(row.want, got); diff != "" {
		t.Errorf("%s: faults (-want +got):\n%s", row.in, diff)
	}
	if (v == nil) != (faults != nil) {
		t.Errorf("value %v with faults %v", v, faults)
	}
}

// TestDocument_Examples sends the examples of the bodies through their schemas.
func TestDocument_Examples(t *testing.T) {
	t.Parallel()
	var doc struct {
		Components struct {
			Schemas map[string]struct{ Examples []json.RawMessage }
		}
	}
	if err := json.Unmarshal(testkit.Document(t).JSON(), &doc); err != nil {
		t.Fatal(err)
	}
	for _, op := range testkit.Document(t).Operations {
		if op.Body == nil {
			continue
		}
		name := strings.ToUpper(op.ID[:1]) + op.ID[1:]
		for _, example := range doc.Components.Schemas[name].Examples {
			if _, faults := op.Body.Decode(example); faults != nil {
				t.Errorf("example of %s: %v", name, faults)
			}
		}
	}
}

func TestDecode_Members(t *testing.T) {
	t.Parallel()
	want := []string{"annual_cost_usd", "contract_end", "contract_start", "notes", "renewal_owner_role", "status"}
	if diff := cmp.Diff(want, testkit.Document(t).Operation("updateVendor").Body.Members()); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}

func TestSchema_Properties(t *testing.T) {
	t.Parallel()
	want := []openapi.Property{
		{Name: "object", Type: "string", Required: true},
		{Name: "id", Type: "string"},
		{Name: "version_number", Type: "integer", Required: true},
		{
			Name: "overall_posture", Type: "string", Required: true,
			Enum: []string{"COMPLIANT", "PARTIALLY_COMPLIANT", "NON_COMPLIANT", "NOT_ASSESSED"},
		},
		{Name: "primary_jurisdictions", Type: "array"},
		{Name: "regimes", Type: "array"},
		{Name: "executive_summary", Type: "string", Required: true},
		{Name: "generated_at", Type: "string", Required: true},
		{Name: "created_at", Type: "string"},
		{Name: "updated_at", Type: "string"},
		{Name: "api_version", Type: "string"},
	}
	if diff := cmp.Diff(want, testkit.Document(t).Record("compliance_posture").Properties()); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
}
