package server_test

import (
	"slices"
	"strings"

	"govsvc/db"
)

// permission is what the specification requires of a caller before an operation reads
// the request. It is written by hand from the tables of the specification, so that the
// test also checks the document.
type permission struct {
	scope    string // "" if any key is sufficient
	feature  string // of the plan: "incidents", "audit" or ""
	public   bool
	status   int    // of a success
	body     string // of a successful request; "" sends none
	sandbox  string // the body for the sandbox; equals body by default
	required bool   // whether an Idempotency-Key is required
}

// permissions are the operations of the specification (sections Endpoints and
// Authentication; contract, Plans).
var permissions = map[string]permission{
	"GET /":                       {public: true, status: 200},
	"GET /openapi.json":           {public: true, status: 200},
	"GET /scores":                 {scope: "read:scores", status: 200},
	"GET /scorecard":              {scope: "read:scorecard", status: 200},
	"GET /risks":                  {scope: "read:risks", status: 200},
	"GET /signals":                {scope: "read:signals", status: 200},
	"GET /roadmap":                {scope: "read:roadmap", status: 200},
	"GET /roadmap/milestones":     {scope: "read:roadmap", status: 200},
	"GET /compliance":             {scope: "read:compliance", status: 200},
	"GET /compliance/obligations": {scope: "read:compliance", status: 200},
	"GET /vendor":                 {scope: "read:vendor", status: 200},
	"GET /vendor/inventory":       {scope: "read:vendor", status: 200},
	"GET /talent":                 {scope: "read:talent", status: 200},
	"GET /talent/gaps":            {scope: "read:talent", status: 200},
	"GET /incidents":              {scope: "read:incidents", feature: "incidents", status: 200},
	"GET /kpis":                   {scope: "read:kpis", status: 200},
	"GET /audit":                  {scope: "read:audit", feature: "audit", status: 200},

	"POST /risks":       {scope: "write:risks", status: 201, required: true, body: goodRisk},
	"PATCH /risks/{id}": {scope: "write:risks", status: 200, body: `{"owner_name":"O"}`},
	"POST /incidents":   {scope: "write:incidents", feature: "incidents", status: 201, required: true, body: goodIncident},
	"PATCH /incidents/{id}": {
		scope: "write:incidents", feature: "incidents", status: 200, body: `{"owner":"O"}`,
	},
	"POST /kpis/checkins": {
		scope: "write:kpis", status: 201, required: true, body: `{"checkins":[{"key_result_code":"OWN kpi 1","value":1}]}`,
		sandbox: `{"checkins":[{"key_result_code":"KR-1.1","value":1}]}`,
	},
	"POST /vendor/inventory":       {scope: "write:vendor", status: 201, required: true, body: goodVendor},
	"PATCH /vendor/inventory/{id}": {scope: "write:vendor", status: 200, body: `{"notes":"N"}`},

	"GET /webhooks/subscriptions":            {scope: "manage:webhooks", status: 200},
	"POST /webhooks/subscriptions":           {scope: "manage:webhooks", status: 201, required: true, body: `{"url":"https://hook.example/"}`},
	"PATCH /webhooks/subscriptions/{id}":     {scope: "manage:webhooks", status: 200, body: `{"active":false}`},
	"DELETE /webhooks/subscriptions/{id}":    {scope: "manage:webhooks", status: 200},
	"POST /webhooks/subscriptions/{id}/test": {scope: "manage:webhooks", status: 200, required: true},

	"POST /mcp": {status: 200, body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`},
}

// toolReads maps each MCP tool to the read operation that it runs (contract, MCP
// tools).
var toolReads = map[string]string{
	"list_scores": "GET /scores", "get_scorecard": "GET /scorecard", "list_risks": "GET /risks",
	"list_signals": "GET /signals", "get_roadmap": "GET /roadmap", "list_milestones": "GET /roadmap/milestones",
	"get_compliance": "GET /compliance", "list_obligations": "GET /compliance/obligations",
	"get_vendor_portfolio": "GET /vendor", "list_vendors": "GET /vendor/inventory",
	"get_talent_readiness": "GET /talent", "list_talent_gaps": "GET /talent/gaps",
	"list_incidents": "GET /incidents", "list_kpis": "GET /kpis",
}

// planLimits is what a plan includes (contract, Plans).
type planLimits struct {
	api         bool
	features    []string
	minute, day string // limits
}

var plans = map[db.Plan]planLimits{
	db.Starter:      {false, nil, "60", "1000"},
	db.Professional: {true, nil, "120", "20000"},
	db.Business:     {true, []string{"incidents"}, "600", "200000"},
	db.Enterprise:   {true, []string{"incidents", "audit"}, "1200", "1000000"},
}

// callerState is what the key and the organisation of a caller may do.
type callerState struct {
	scopes       []string
	plan         db.Plan
	subscription db.Subscription
}

// admission returns the check of every authenticated request; "" lets it pass.
func (s callerState) admission() string {
	switch {
	case s.subscription != db.Active:
		return "subscription_inactive"
	case !plans[s.plan].api:
		return "tier_required"
	}
	return ""
}

// permit returns the check of an operation's feature and scope; "" lets it pass.
func (s callerState) permit(r permission) string {
	switch {
	case r.feature != "" && !slices.Contains(plans[s.plan].features, r.feature):
		return "tier_required"
	case r.scope == "" || slices.Contains(s.scopes, r.scope):
		return ""
	case strings.HasPrefix(r.scope, "read:") && r.scope != "read:audit" && slices.Contains(s.scopes, "read:all"):
		return ""
	}
	return "insufficient_scope"
}

// expected returns the status and the code of the response.
func (s callerState) expected(r permission, theirs bool) (status int, code string) {
	if r.public {
		return r.status, ""
	}
	if code := s.admission(); code != "" {
		return 403, code
	}
	if code := s.permit(r); code != "" {
		return 403, code
	}
	if theirs {
		return 404, "not_found"
	}
	return r.status, ""
}
