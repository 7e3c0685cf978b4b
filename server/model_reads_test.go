package server_test

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// expectation describes the response that the model requires.
type expectation struct {
	status      int
	code, param string
	object      string // of the envelope
	data        any    // of the envelope
	more        bool
	replayed    bool
	// learn stores the values that the service chose, such as ids, and returns the
	// expected data. It is nil if the service chooses no value.
	learn func(data any, next string) (any, error)
	// commit is called if the response is as expected; it can be nil.
	commit func(requestID string)
}

func refuse(status int, code, param string) *expectation {
	return &expectation{status: status, code: code, param: param}
}

// catalogue is a list of the specification.
type catalogue struct {
	object, stored string            // the type in responses and in the store
	order          string            // the member that orders the list: newest first, signals by type
	filters        map[string]string // parameter → member
	values         map[string]string // parameter → its values; a parameter without an entry allows any value
	since          bool
}

const (
	riskLevels       = "CRITICAL HIGH MEDIUM LOW"
	riskStatuses     = "Open InProgress Mitigated Accepted Closed"
	incidentLevels   = "low medium high critical"
	incidentStatuses = "open investigating contained resolved post_review closed"
	reviewStates     = "active under_review negotiating sunsetting exited blocked"
)

var catalogues = map[string]catalogue{
	"/scores":  {"score", "assessment", "completed_at", nil, nil, true},
	"/signals": {"signal", "signal", "signal_type", map[string]string{"type": "signal_type"}, nil, true},
	"/risks": {
		"risk", "risk", "created_at",
		map[string]string{"severity": "severity", "status": "status"},
		map[string]string{"severity": riskLevels, "status": riskStatuses},
		true,
	},
	"/roadmap/milestones": {
		"milestone", "milestone", "created_at",
		map[string]string{"status": "status"},
		map[string]string{"status": "not_started in_progress blocked completed cancelled"},
		true,
	},
	"/compliance/obligations": {
		"obligation", "obligation", "created_at",
		map[string]string{"regime_id": "regime_id", "status": "status"},
		map[string]string{"status": "not_started in_progress compliant at_risk non_compliant not_applicable"},
		true,
	},
	"/vendor/inventory": {
		"vendor", "vendor", "created_at", map[string]string{"status": "status"}, map[string]string{"status": reviewStates}, true,
	},
	"/talent/gaps": {
		"talent_gap", "talent_gap", "created_at",
		map[string]string{"status": "status"},
		map[string]string{"status": "open in_progress filled deferred closed"},
		true,
	},
	"/incidents": {
		"incident", "incident", "created_at",
		map[string]string{"severity": "severity", "status": "status"},
		map[string]string{"severity": incidentLevels, "status": incidentStatuses},
		true,
	},
	"/kpis": {
		"kpi", "kpi", "created_at",
		map[string]string{"code": "code", "status": "status"},
		map[string]string{"status": "draft active achieved missed retired"},
		true,
	},
	"/webhooks/subscriptions": {"webhook_subscription", "webhook_subscription", "created_at", nil, nil, false},
}

// currentOf maps the path of each current object to its type in responses and in the store.
var currentOf = map[string][2]string{
	"/scorecard": {"scorecard", "assessment"}, "/roadmap": {"roadmap", "roadmap"},
	"/compliance": {"compliance_posture", "compliance_posture"},
	"/vendor":     {"vendor_portfolio", "vendor_portfolio"}, "/talent": {"talent_readiness", "talent_readiness"},
}

// read returns the response to a GET of a caller with access.
func (m *model) read(d *dataset, k *modelKey, path string, query url.Values) *expectation {
	if c, isCurrent := currentOf[path]; isCurrent {
		for name := range query {
			return refuse(400, "invalid_parameter", name)
		}
		e := &expectation{status: 200, object: c[0]}
		if now := d.active(c[1]); now != nil {
			e.data = now.show(c[0])
		}
		return e
	}
	if path == "/audit" {
		return m.pull(d, k, query)
	}
	return m.list(d, path, query)
}

// list returns a page of a list, newest first.
func (m *model) list(d *dataset, path string, query url.Values) *expectation {
	c := catalogues[path]
	limit, since, bad := m.bounds(c, query)
	if bad != "" {
		return refuse(400, "invalid_parameter", bad)
	}
	after, known := m.mark(query, path, d)
	if !known {
		return refuse(400, "invalid_cursor", "cursor")
	}
	var rows []modelRecord
	for _, r := range d.records[c.stored] {
		if r.fits(c, query) && r.text("updated_at") >= since && (after == nil || c.behind(r, after)) && d.listed(c, r) {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, c.compare)
	e := &expectation{status: 200, object: "list", more: len(rows) > limit}
	page := rows[:min(limit, len(rows))]
	data := []any{}
	for _, r := range page {
		data = append(data, r.show(c.object))
	}
	e.data = data
	e.learn = func(_ any, next string) (any, error) {
		if e.more {
			last := page[len(page)-1]
			m.cursors = append(m.cursors, issuedCursor{token: next, list: path, set: d.name, order: last.text(c.order), id: last.text("id")})
		}
		return data, nil
	}
	return e
}

// listed removes the milestones of roadmaps that are not active.
func (d *dataset) listed(c catalogue, r modelRecord) bool {
	return c.object != "milestone" || r["roadmap_id"] == d.active("roadmap")["id"]
}

func (c catalogue) compare(a, b modelRecord) int {
	if c.object == "signal" {
		return cmp.Compare(a.text(c.order), b.text(c.order))
	}
	return -cmp.Compare(a.text(c.order)+a.text("id"), b.text(c.order)+b.text("id"))
}

func (c catalogue) behind(r modelRecord, m *issuedCursor) bool {
	return c.compare(r, modelRecord{c.order: m.order, "id": m.id}) > 0
}

func (r modelRecord) fits(c catalogue, query url.Values) bool {
	for parameter, member := range c.filters {
		if query.Has(parameter) && r[member] != query.Get(parameter) {
			return false
		}
	}
	return true
}

// bounds reads the parameters of a list. bad is the name of an invalid one.
func (m *model) bounds(c catalogue, query url.Values) (limit int, since, bad string) {
	limit = 25
	var faults []string
	for name, values := range query {
		value, good := values[0], true
		_, filter := c.filters[name]
		switch {
		case value == "":
			good = false
		case name == "limit":
			n, err := strconv.Atoi(value)
			limit, good = n, err == nil && n >= 1 && n <= 100
		case name == "updated_since" && c.since:
			since, good = instantOf(value)
		case name == "cursor":
		default:
			good = filter && (c.values[name] == "" || slices.Contains(strings.Fields(c.values[name]), value))
		}
		if !good {
			faults = append(faults, name)
		}
	}
	return limit, since, anyOf(faults)
}

// anyOf returns the parameter that an error names. If several are invalid, the error
// may name any of them.
func anyOf(faults []string) string {
	switch len(faults) {
	case 0:
		return ""
	case 1:
		return faults[0]
	}
	return anyParam
}

// instantOf parses a date, meaning midnight UTC, or a timestamp.
func instantOf(text string) (string, bool) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		at, err = time.Parse(time.DateOnly, text)
	}
	return stamp(at), err == nil
}

// mark returns the position of a query's cursor; nil means the start.
func (m *model) mark(query url.Values, list string, d *dataset) (*issuedCursor, bool) {
	token := query.Get("cursor")
	if token == "" {
		return nil, true
	}
	for _, m := range m.cursors {
		if m.token == token && m.list == list && m.set == d.name {
			return &m, true
		}
	}
	return nil, false
}

// pull returns a page of the audit log, oldest first. The pull itself is audited.
func (m *model) pull(d *dataset, k *modelKey, query url.Values) *expectation {
	limit, format := 100, "json"
	bounds, faults := map[string]string{"since": "", "until": "~"}, []string{}
	for name, values := range query {
		value, good := values[0], false
		switch name {
		case "limit":
			n, err := strconv.Atoi(value)
			limit, good = n, err == nil && n >= 1 && n <= 1000
		case "format":
			format, good = value, value == "json" || value == "ndjson"
		case "since", "until":
			bounds[name], good = instantOf(value)
		case "cursor":
			good = value != ""
		}
		if !good {
			faults = append(faults, name)
		}
	}
	if len(faults) > 0 {
		return refuse(400, "invalid_parameter", anyOf(faults))
	}
	after, known := m.mark(query, "/audit", d)
	if !known {
		return refuse(400, "invalid_cursor", "cursor")
	}
	first := 0
	if after != nil {
		first, bounds["since"] = after.seq, ""
	}
	return m.pulled(d, k, format, first, limit, bounds, query.Get("cursor"))
}

func (m *model) pulled(d *dataset, k *modelKey, format string, first, limit int, bounds map[string]string, from string) *expectation {
	rows, last, more := []any{}, first, false
	for i, event := range d.log {
		if at := event.text("time"); i < first || at < bounds["since"] || at >= bounds["until"] {
			continue
		}
		if more = len(rows) == limit; more {
			break
		}
		rows, last = append(rows, map[string]any(event)), i+1
	}
	e := &expectation{status: 200, object: "list", data: rows, more: more}
	if format == "ndjson" {
		e.object = "ndjson"
	}
	e.learn = func(data any, next string) (any, error) {
		if len(rows) == 0 {
			if next != from {
				return nil, fmt.Errorf("an empty page gives the cursor %q, not the %q it was called with", next, from)
			}
			return rows, nil
		}
		if next == "" {
			return nil, fmt.Errorf("no cursor after %d events", len(rows))
		}
		m.cursors = append(m.cursors, issuedCursor{token: next, list: "/audit", set: d.name, seq: last})
		got, _ := data.([]any)
		for i := range min(len(rows), len(got)) {
			rows[i] = m.learnEvent(rows[i].(map[string]any), got[i].(map[string]any))
		}
		return rows, nil
	}
	e.commit = func(request string) {
		d.audit(modelRecord{
			"time": m.stamp(), "actor": "key:" + k.id, "action": "api.read.audit", "category": "data_access",
			"resource_type": nil, "resource_id": nil, "severity": 1.0, "request": request,
		})
	}
	return e
}

// learnEvent returns an audit event as the API must show it. The service chooses an id
// that it never uses again. The event's metadata must describe the request and the
// changes.
func (m *model) learnEvent(event modelRecord, shown map[string]any) map[string]any {
	if id, _ := shown["id"].(string); event["id"] == nil && !m.seen[id] {
		event["id"], m.seen[id] = id, true
	}
	out := modelRecord{"object": "audit_event"}
	if metadata, has := event["metadata"]; has {
		out["metadata"] = metadata
	}
	for _, member := range strings.Fields("id time actor action category resource_type resource_id severity") {
		out[member] = event[member]
	}
	metadata, _ := shown["metadata"].(map[string]any)
	if request, made := event["request"]; made && metadata["request_id"] == request {
		out["metadata"] = metadata
		if changes, has := event["changes"]; has && plainJSON(changes) != plainJSON(metadata["changes"]) {
			out["metadata"] = map[string]any{"changes": changes}
		}
	}
	return out
}
