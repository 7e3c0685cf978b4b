package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"govsvc/db"
)

// member describes one member, as the specification and the contract define it.
type member struct {
	name     string
	kind     string // text, key, date, instant, number, bool or enum
	needed   bool
	nullable bool
	least    int // characters, after trimming
	most     int
	options  string // of an enum, separated by spaces
	minimum  bool   // a number: at least 0
}

// form is the body of one operation.
type form struct {
	method, path string
	good         map[string]any
	within       string // the prefix of the members' paths: "checkins[0]." in a batch
	members      []member
}

const (
	severities   = "CRITICAL HIGH MEDIUM LOW"
	likelihoods  = "RARE UNLIKELY POSSIBLE LIKELY ALMOST_CERTAIN"
	incidents    = "model_failure bias_harm data_exposure agent_failure regulatory_inquiry shadow_ai_breach other"
	levels       = "low medium high critical"
	incidentSeq  = "open investigating contained resolved post_review closed"
	vendorStates = "active under_review negotiating sunsetting exited blocked"
)

// forms returns the forms of the bodies of all writes, as the specification defines
// them.
func forms(t testing.TB, d *writeService) []form {
	t.Helper()
	risk, incident := d.id(t, "/risks", goodRisk), d.id(t, "/incidents", goodIncident)
	vendor := d.id(t, "/vendor/inventory", vendorBody("one"))
	load(t, d.store, db.DefaultOrganisation, []db.Record{sample("kpi", "K", 1, start)})
	return []form{
		{"POST", "/risks", fields("title", "T", "description", strings.Repeat("d", 20), "severity", "LOW", "likelihood", "RARE"), "", []member{
			{name: "title", kind: "text", needed: true, least: 1, most: 2000},
			{name: "description", kind: "text", needed: true, least: 20, most: 20000},
			{name: "severity", kind: "enum", needed: true, options: severities},
			{name: "likelihood", kind: "enum", needed: true, options: likelihoods},
			{name: "dimension", kind: "key", most: 200},
			{name: "mitigation_action", kind: "text", most: 20000},
			{name: "owner_name", kind: "text", most: 2000},
			{name: "target_date", kind: "date"},
		}},
		{"PATCH", "/risks/" + risk, fields("severity_change_reason", "It is a reason long enough"), "", []member{
			{name: "title", kind: "text", nullable: true, most: 2000},
			{name: "severity", kind: "enum", options: severities},
			{name: "residual_severity", kind: "enum", nullable: true, options: severities},
			{name: "likelihood", kind: "enum", options: likelihoods},
			{name: "status", kind: "enum", options: "Open InProgress Mitigated Accepted Closed"},
			{name: "owner_name", kind: "text", nullable: true, most: 2000},
			{name: "mitigation_action", kind: "text", nullable: true, most: 20000},
			{name: "target_date", kind: "date", nullable: true},
			{name: "residual_gap_reason", kind: "text", nullable: true, most: 20000},
			{name: "severity_change_reason", kind: "text", least: 20, most: 20000},
		}},
		{"POST", "/incidents", fields("title", "T"), "", append(incidentMembers(false), member{name: "title", kind: "text", needed: true, least: 1, most: 2000})},
		{"PATCH", "/incidents/" + incident, fields(), "", append(incidentMembers(true), member{name: "title", kind: "text", least: 1, most: 2000})},
		{"POST", "/kpis/checkins", fields("key_result_code", "K kpi 1", "value", 1), "checkins[0].", []member{
			{name: "key_result_code", kind: "key", most: 200},
			{name: "value", kind: "number", needed: true},
			{name: "period_start", kind: "instant"},
			{name: "source", kind: "text", least: 1, most: 100},
			{name: "evidence_ref", kind: "text", most: 2000},
			{name: "note", kind: "text", most: 2000},
		}},
		{"POST", "/vendor/inventory", fields("vendor_key", "fresh", "vendor_name", "N", "category", "C", "initial_risk_band", "LOW"), "", append([]member{
			{name: "vendor_key", kind: "key", needed: true, most: 200},
			{name: "vendor_name", kind: "text", needed: true, least: 1, most: 2000},
			{name: "category", kind: "text", needed: true, least: 1, most: 20000},
			{name: "initial_risk_band", kind: "enum", needed: true, options: severities},
			{name: "ai_role", kind: "text", nullable: true, most: 20000},
			{name: "initial_recommendation", kind: "enum", nullable: true, options: "consolidate negotiate maintain exit onboard"},
		}, ownedMembers()...)},
		{"PATCH", "/vendor/inventory/" + vendor, fields(), "", ownedMembers()},
	}
}

func incidentMembers(nullable bool) []member {
	return []member{
		{name: "description", kind: "text", nullable: nullable, most: 20000},
		{name: "incident_type", kind: "enum", options: incidents},
		{name: "severity", kind: "enum", options: levels},
		{name: "status", kind: "enum", options: incidentSeq},
		{name: "affected_systems", kind: "text", nullable: nullable, most: 20000},
		{name: "jurisdictions", kind: "text", nullable: nullable, most: 20000},
		{name: "owner", kind: "text", nullable: nullable, most: 2000},
		{name: "notification_required", kind: "bool"},
		{name: "notification_deadline", kind: "timestamp", nullable: true},
	}
}

func ownedMembers() []member {
	return []member{
		{name: "status", kind: "enum", options: vendorStates},
		{name: "contract_start", kind: "date", nullable: true},
		{name: "contract_end", kind: "date", nullable: true},
		{name: "annual_cost_usd", kind: "number", nullable: true, minimum: true},
		{name: "renewal_owner_role", kind: "text", nullable: true, most: 20000},
		{name: "notes", kind: "text", nullable: true, most: 20000},
	}
}

func fields(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	return m
}

// with returns the body of a form with one member set to a JSON text.
func (f form) with(name, value string) string {
	m := maps.Clone(f.good)
	if name != "" {
		m[name] = json.RawMessage(value)
	}
	if value == "" {
		delete(m, name)
	}
	text, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprint(name, " ", value, ": ", err))
	}
	if f.within != "" {
		return `{"checkins":[` + string(text) + `]}`
	}
	return string(text)
}

func inQuotes(text string) string { return `"` + text + `"` }

// bad returns invalid values of a member.
func (m member) bad() []string {
	bad := []string{`{}`, `[]`, `["x"]`}
	if !m.nullable && m.name != "severity_change_reason" {
		bad = append(bad, `null`)
	}
	if m.kind != "number" {
		bad = append(bad, `0`, `1.5`)
	}
	if m.kind != "bool" {
		bad = append(bad, `true`)
	}
	switch m.kind {
	case "number":
		bad = append(bad, `"1"`, `""`, `1e999`, `-1e999`, strings.Repeat("9", 65))
		if m.minimum {
			bad = append(bad, `-1`, `-0.01`)
		}
	case "bool":
		bad = append(bad, `"true"`, `""`, `1`)
	case "enum":
		first, _, _ := strings.Cut(m.options, " ")
		bad = append(bad, `""`, `"nonsense"`, inQuotes(swapCase(first)), inQuotes(first+" "), inQuotes(" "+first))
	case "date":
		bad = append(bad, `""`, `"2026-02-29"`, `"2026-13-01"`, `"26-01-01"`, `"2026-1-1"`, `"2026-01-01T00:00:00Z"`, `" 2026-01-01"`, `"tomorrow"`)
	case "instant":
		bad = append(bad, `""`, `"2026-02-29"`, `"2026-01"`, `"2026-01-01 00:00:00"`, `"2026-01-01T25:00:00Z"`, `"2026-01-01T00:00:00"`)
	case "timestamp":
		bad = append(bad, `""`, `"2026-01-01"`, `"2026-01-01T00:00:00"`, `"2026-01-01T24:00:01Z"`, `"soon"`)
	case "key":
		bad = append(bad, `""`, `" "`, `" x"`, `"x "`)
	}
	if m.least > 0 {
		// the limit counts characters, not bytes, after trimming
		bad = append(bad, `""`, inQuotes(strings.Repeat("☂", m.least-1)), inQuotes("  \\t\u2003"+strings.Repeat("é", m.least-1)+"\\n "))
	}
	if m.most > 0 {
		bad = append(bad, inQuotes(strings.Repeat("x", m.most+1)), `"nul \u0000"`)
	}
	if m.kind != "number" && m.kind != "bool" {
		bad = append(bad, `"\ud800"`)
	}
	return bad
}

// fine returns valid values of a member.
func (m member) fine() []string {
	var fine []string
	if m.nullable {
		fine = append(fine, `null`)
	}
	switch m.kind {
	case "number":
		fine = append(fine, `0`, `12.5`, `1e3`, `-0`, `9007199254740993`, strings.Repeat("9", 64))
		if !m.minimum {
			fine = append(fine, `-3.5`)
		}
	case "bool":
		fine = append(fine, `true`, `false`)
	case "enum":
		for option := range strings.FieldsSeq(m.options) {
			fine = append(fine, inQuotes(option))
		}
	case "date":
		fine = append(fine, `"2028-02-29"`)
	case "instant":
		fine = append(fine, `"2026-02-28"`, `"2026-01-01T01:00:00+02:00"`, `"2026-01-01T00:00:00.123456Z"`)
	case "timestamp":
		fine = append(fine, `"2026-01-01T01:00:00+02:00"`)
	}
	if m.least > 0 {
		fine = append(fine, inQuotes(" "+strings.Repeat("☂", m.least)+" "))
	}
	if m.most > 0 && m.kind == "text" {
		fine = append(fine, inQuotes(strings.Repeat("x", m.most)))
		if m.most <= 2000 { // the rest would be over 64 KB with an umbrella of three bytes
			fine = append(fine, inQuotes(strings.Repeat("☂", m.most)))
		}
		if m.least == 0 {
			fine = append(fine, `""`)
		}
	}
	return fine
}

// TestBody_ValuesOfMembers sends wrong and valid values of every kind for every member
// of every body. A wrong value is refused with the name of the member and changes
// nothing.
func TestBody_ValuesOfMembers(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	for _, f := range forms(t, d) {
		status := map[string]int{"POST": 201, "PATCH": 200}[f.method]
		d.do(t, write{method: f.method, path: f.path, body: f.with("", "x"), status: status})
		d.checkUnchanged(t, func() {
			for _, m := range f.members {
				w := write{method: f.method, path: f.path, status: 400, code: "invalid_parameter", param: f.within + m.name}
				for _, value := range m.bad() {
					w.body = f.with(m.name, value)
					if strings.Contains(value, "999") || strings.Contains(value, `ud800`) {
						w.body = strings.Replace(f.with(m.name, `"HERE"`), `"HERE"`, value, 1) // no encoder produces this JSON
					}
					d.do(t, w)
				}
				if w.body = f.with(m.name, ""); m.needed {
					d.do(t, w)
				}
			}
		})
		for _, m := range f.members {
			for i, value := range m.fine() {
				body := f.with(m.name, value)
				if f.path == "/vendor/inventory" {
					body = strings.Replace(body, `"fresh"`, fmt.Sprintf(`"%s %d"`, m.name, i), 1)
				}
				d.do(t, write{method: f.method, path: f.path, body: body, status: status})
			}
		}
	}
	d.verifyAudit(t, db.DefaultOrganisation)
}

// TestBody_RefusesOtherJSON sends bodies that are not an object of known members to
// every write.
func TestBody_RefusesOtherJSON(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	for _, f := range forms(t, d) {
		good, first := f.with("", "x"), f.members[0].name
		inner := strings.TrimSuffix(strings.TrimPrefix(good, `{"checkins":[`), `]}`)
		again := strings.TrimSuffix(inner, "}") + fmt.Sprintf(`,"%s":"a","%s":"b"}`, first, first)
		again = strings.Replace(again, "{,", "{", 1)
		if f.within != "" {
			again = `{"checkins":[` + again + `]}`
		}
		deep := `{"x":` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + `}`
		rows := []write{
			{name: "empty", body: ""},
			{name: "white space", body: " \n"},
			{name: "null", body: "null"},
			{name: "a string", body: `"x"`},
			{name: "a list", body: "[" + good + "]"},
			{name: "cut off", body: good[:len(good)-1]},
			{name: "trailing data", body: good + "x"},
			{name: "two values", body: good + good},
			{name: "a comma too many", body: strings.TrimSuffix(good, "}") + ",}"},
			{name: "single quotes", body: strings.ReplaceAll(good, `"`, "'") + "'"},
			{name: "a comment", body: good + "//"},
			{name: "not UTF-8 around", body: good + "\xff"},
			{name: "a byte order mark", body: "\ufeff" + good},
			{name: "unknown", body: f.with("zzz", "1"), param: f.within + "zzz"},
			{name: "of the record", body: f.with("id", `"00000000-0000-0000-0000-000000000001"`), param: f.within + "id"},
			{name: "in capitals", body: f.with(strings.ToUpper(first), `"x"`), param: f.within + strings.ToUpper(first)},
			{name: "twice", body: again, param: f.within + first},
			{name: "twice by an escape", body: strings.Replace(again, `"`+first+`":"b"`, fmt.Sprintf(`"\u%04x%s":"b"`, first[0], first[1:]), 1), param: f.within + first},
			{name: "not UTF-8", body: strings.Replace(f.with(first, `"HERE"`), "HERE", "\xff\xfe", 1), param: f.within + first},
			{name: "deep", body: deep, param: "x" + strings.Repeat("[0]", 31)},
			{name: "a parameter", path: f.path + "?dry_run=1", body: good, param: "dry_run"},
		}
		d.checkUnchanged(t, func() {
			for _, w := range rows {
				w.method, w.status, w.code = f.method, 400, "invalid_parameter"
				if w.path == "" {
					w.path = f.path
				}
				w.not = []string{"\xff", "dry_run=1"}
				d.do(t, w)
			}
		})
	}
}

// TestBody_RefusesReadOnlyMembers sends members of the resources that no write accepts.
func TestBody_RefusesReadOnlyMembers(t *testing.T) {
	t.Parallel()
	d := serveWrites(t)
	all := forms(t, d)
	for i, names := range []string{
		"status source risk_id residual_severity created_at untreated_baseline",
		"description dimension source risk_id financial_exposure_min untreated_baseline",
		"notified_at created_at timeline incident_key", "notified_at created_at timeline incident_key",
		"id created_at kpi_id", "created_at object",
		"vendor_key vendor_name category ai_role initial_risk_band initial_recommendation",
	} {
		for name := range strings.FieldsSeq(names) {
			f := all[i]
			d.checkUnchanged(t, func() {
				d.do(t, write{method: f.method, path: f.path, body: f.with(name, `"x"`), status: 400, code: "invalid_parameter", param: f.within + name})
			})
		}
	}
}
