package openapi_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/internal/testkit"
	"govsvc/server/openapi"
)

// TestFields checks that the fields of a form have the rules of the document.
func TestFields(t *testing.T) {
	t.Parallel()
	d := testkit.Document(t)
	for _, row := range []struct {
		of   string
		want openapi.Field
	}{
		{"createRisk", openapi.Field{
			Name: "description", Type: "string", MinLength: 20, MaxLength: 20000, Required: true,
			Description: "What may happen and why, in at least 20 characters.",
		}},
		{"createRisk", openapi.Field{Name: "dimension", Type: "string", MaxLength: 200, Default: "OTHER", Description: "The dimension of governance that the risk belongs to."}},
		{"updateRisk", openapi.Field{
			Name: "residual_severity", Type: "string", Enum: []string{"CRITICAL", "HIGH", "MEDIUM", "LOW"}, Nullable: true,
			Description: "Residual severity, after mitigation; null clears it.",
		}},
		{"createVendor", openapi.Field{Name: "contract_end", Type: "string", Format: "date", Nullable: true, Description: "When the contract ends."}},
		{"createVendor", openapi.Field{Name: "annual_cost_usd", Type: "number", Minimum: new(0.0), Nullable: true, Description: "The cost a year, in USD."}},
		{"createIncident", openapi.Field{Name: "notification_required", Type: "boolean", Description: "Whether an authority must be notified."}},
		{"milestone", openapi.Field{Name: "progress_pct", Type: "number", Minimum: new(0.0), Maximum: new(100.0), Description: "How far it is, in percent."}},
		{"milestone", openapi.Field{Name: "roadmap_version", Type: "integer", Minimum: new(0.0), Description: "The version of its roadmap; the active one by default."}},
		{"signal", openapi.Field{Name: "as_of", Type: "string", Format: "date-time", Required: true, Description: "When the value was computed."}},
	} {
		fields := d.Fields(row.of)
		at := slices.IndexFunc(fields, func(f openapi.Field) bool { return f.Name == row.want.Name })
		if at < 0 {
			t.Errorf("%s has no %s", row.of, row.want.Name)
			continue
		}
		got := fields[at]
		if row.of == "milestone" || row.of == "signal" {
			row.want.Description = got.Description // of another file
		}
		if diff := cmp.Diff(row.want, got); diff != "" || got.Description == "" {
			t.Errorf("%s (-want +got):\n%s", row.of, diff)
		}
	}
	batch := d.Fields("createKpiCheckins")
	var names []string
	for _, f := range batch[0].Items {
		names = append(names, f.Name)
	}
	want := []string{"key_result_id", "key_result_code", "value", "period_start", "source", "evidence_ref", "note"}
	if diff := cmp.Diff(want, names); diff != "" || len(batch) != 1 || batch[0].Type != "array" || !batch[0].Items[2].Required {
		t.Errorf("%+v (-want +got):\n%s", batch, diff)
	}
	for _, of := range []string{"listRisks", "deleteWebhookSubscription", "nothing", ""} {
		if fields := d.Fields(of); fields != nil {
			t.Errorf("%s has fields: %+v", of, fields)
		}
	}
}
