package openapi_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/internal/testkit"
	"govsvc/server/openapi"
)

// TestDocument_Operations compares the document with the tables of the specification.
func TestDocument_Operations(t *testing.T) {
	t.Parallel()
	want := []string{
		"getIndex GET /  200",
		"getDocument GET /openapi.json  200",
		"listScores GET /scores read:scores 200 list_scores",
		"getScorecard GET /scorecard read:scorecard 200 get_scorecard",
		"listRisks GET /risks read:risks 200 list_risks",
		"createRisk POST /risks write:risks 201",
		"updateRisk PATCH /risks/{id} write:risks 200",
		"listSignals GET /signals read:signals 200 list_signals",
		"getRoadmap GET /roadmap read:roadmap 200 get_roadmap",
		"listMilestones GET /roadmap/milestones read:roadmap 200 list_milestones",
		"getCompliance GET /compliance read:compliance 200 get_compliance",
		"listObligations GET /compliance/obligations read:compliance 200 list_obligations",
		"getVendorPortfolio GET /vendor read:vendor 200 get_vendor_portfolio",
		"listVendors GET /vendor/inventory read:vendor 200 list_vendors",
		"createVendor POST /vendor/inventory write:vendor 201",
		"updateVendor PATCH /vendor/inventory/{id} write:vendor 200",
		"getTalentReadiness GET /talent read:talent 200 get_talent_readiness",
		"listTalentGaps GET /talent/gaps read:talent 200 list_talent_gaps",
		"listIncidents GET /incidents read:incidents 200 list_incidents",
		"createIncident POST /incidents write:incidents 201",
		"updateIncident PATCH /incidents/{id} write:incidents 200",
		"listKpis GET /kpis read:kpis 200 list_kpis",
		"createKpiCheckins POST /kpis/checkins write:kpis 201",
		"listAuditEvents GET /audit read:audit 200",
		"listWebhookSubscriptions GET /webhooks/subscriptions manage:webhooks 200",
		"createWebhookSubscription POST /webhooks/subscriptions manage:webhooks 201",
		"updateWebhookSubscription PATCH /webhooks/subscriptions/{id} manage:webhooks 200",
		"deleteWebhookSubscription DELETE /webhooks/subscriptions/{id} manage:webhooks 200",
		"testWebhookSubscription POST /webhooks/subscriptions/{id}/test manage:webhooks 200",
		"callMcp POST /mcp  200",
	}
	var got []string
	for _, op := range testkit.Document(t).Operations {
		status, _ := json.Marshal(op.Status)
		line := strings.Join([]string{op.ID, op.Method, op.Path, op.Scope, string(status)}, " ")
		if op.Tool != nil {
			line += " " + op.Tool.Name
		}
		got = append(got, line)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
}

// TestScopes checks that the scopes have the order of the specification.
func TestScopes(t *testing.T) {
	t.Parallel()
	want := []string{
		"read:scores", "read:scorecard", "read:risks", "read:signals", "read:roadmap",
		"read:compliance", "read:vendor", "read:talent", "read:incidents", "read:kpis",
		"read:audit", "write:risks", "write:incidents", "write:kpis", "write:vendor",
		"manage:webhooks", "read:all",
	}
	if diff := cmp.Diff(want, openapi.Scopes()); diff != "" {
		t.Error(diff)
	}
}

func TestOperation_Attributes(t *testing.T) {
	t.Parallel()
	for _, op := range testkit.Document(t).Operations {
		var feature string
		if strings.HasPrefix(op.Path, "/incidents") {
			feature = "incidents"
		} else if op.Path == "/audit" {
			feature = "audit"
		}
		if op.Feature != feature {
			t.Errorf("%s: feature %q, want %q", op.ID, op.Feature, feature)
		}
		if public := op.Path == "/" || op.Path == "/openapi.json"; op.Public != public {
			t.Errorf("%s: public %v, want %v", op.ID, op.Public, public)
		}
		size := map[string]int64{"POST": 65536, "PATCH": 65536}[op.Method]
		if op.ID == "createKpiCheckins" {
			size = 524288
		}
		if op.MaxBody != size {
			t.Errorf("%s: max body %d, want %d", op.ID, op.MaxBody, size)
		}
		if (op.Body != nil) != (size > 0) || op.BodyOptional != (op.ID == "testWebhookSubscription") {
			t.Errorf("%s: body %v, optional %v", op.ID, op.Body != nil, op.BodyOptional)
		}
		if op.Response == nil {
			t.Errorf("%s has no response schema", op.ID)
		}
	}
}

func TestOperation_Idempotency(t *testing.T) {
	t.Parallel()
	want := map[string]openapi.Idempotency{
		"POST": openapi.RequiredIdempotency, "PATCH": openapi.OptionalIdempotency, "DELETE": openapi.OptionalIdempotency,
	}
	for _, op := range testkit.Document(t).Operations {
		expected := want[op.Method]
		if op.ID == "callMcp" {
			expected = openapi.NoIdempotency
		}
		if op.Idempotency != expected {
			t.Errorf("%s: idempotency %v, want %v", op.ID, op.Idempotency, expected)
		}
	}
}

func TestOperation_Returns(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]openapi.Returns{
		"listRisks":                 {List: "Risk", Object: "risk"},
		"createRisk":                {One: "Risk", Object: "risk"},
		"getScorecard":              {Current: "Scorecard", Object: "scorecard"},
		"getVendorPortfolio":        {Current: "VendorPortfolio", Object: "vendor_portfolio"},
		"createKpiCheckins":         {One: "KpiCheckinBatch", Object: "kpi_checkin_batch"},
		"deleteWebhookSubscription": {One: "WebhookSubscriptionDeleted", Object: "webhook_subscription_deleted"},
		"listAuditEvents":           {List: "AuditEvent", Object: "audit_event"},
		"getIndex":                  {},
		"callMcp":                   {},
	} {
		if diff := cmp.Diff(want, testkit.Document(t).Operation(id).Returns); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
}

// TestPublished_EqualsServed checks the document that is served: its members, its
// references and its tags, and that it has none of the extensions that the pieces use.
// Load checks the pieces.
func TestPublished_EqualsServed(t *testing.T) {
	t.Parallel()
	var doc map[string]any
	if err := json.Unmarshal(testkit.Document(t).JSON(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc["openapi"] != "3.1.0" || testkit.Document(t).Version != "2026-09-12" {
		t.Errorf("openapi %v, version %v", doc["openapi"], testkit.Document(t).Version)
	}
	for key := range doc {
		if !slices.Contains([]string{"openapi", "info", "externalDocs", "servers", "tags", "paths", "components", "webhooks"}, key) {
			t.Errorf("unexpected member %s", key)
		}
	}
	for _, shorthand := range []string{"x-type", "x-returns", "x-body", "x-optional", "x-must", "x-error", "x-public", "x-one-line"} {
		if bytes.Contains(testkit.Document(t).JSON(), []byte(`"`+shorthand+`"`)) {
			t.Errorf("%s is left in the document", shorthand)
		}
	}
	for _, ref := range regexp.MustCompile(`"\$ref":"([^"]+)"`).FindAllSubmatch(testkit.Document(t).JSON(), -1) {
		if at(doc, string(ref[1])) == nil {
			t.Errorf("the reference %s has no target", ref[1])
		}
	}
	tags := map[string]bool{}
	for _, tag := range doc["tags"].([]any) {
		tags[tag.(map[string]any)["name"].(string)] = true
	}
	for path, item := range doc["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			for _, tag := range op.(map[string]any)["tags"].([]any) {
				if !tags[tag.(string)] {
					t.Errorf("%s %s: no tag %s", method, path, tag)
				}
			}
		}
	}
}

// at follows a JSON pointer.
func at(v any, ref string) any {
	for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

func TestPublished_Golden(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	if err := json.Indent(&got, testkit.Document(t).JSON(), "", "  "); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "openapi.json", got.String()+"\n")
}

// TestPublished_Deterministic checks that two loads produce the same document. The
// random order of Go's maps must have no effect.
func TestPublished_Deterministic(t *testing.T) {
	t.Parallel()
	again, err := openapi.Load()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(testkit.Document(t).JSON(), again.JSON()) {
		t.Error("two loads produce different documents")
	}
}
