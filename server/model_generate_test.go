package server_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"govsvc/db"
)

// write returns a write. Its body is usually valid and otherwise has one error.
func (m *generator) write() step {
	operations := slices.Sorted(maps.Keys(bodyForms))
	s := step{Do: m.one(operations...), Who: m.who(), Pick: m.IntN(40), Legacy: m.in(20)}
	if m.in(6) {
		s.Pick = -m.IntN(60) - 1
	}
	if strings.HasPrefix(s.Do, "POST") && !m.in(30) || m.in(3) {
		s.Once = fmt.Sprint("once ", m.IntN(400))
	}
	switch m.IntN(60) {
	case 0:
		s.Flaw = m.one("version", "media")
	case 1:
		s.Pad = m.IntN(3) - 1 + 64<<10
	case 2:
		s.Query = map[string]string{"dry_run": "1"}
	case 3:
		s.Raw = m.one(`{"title":`, `[]`, `"x"`, `{} {}`, `null`)
	case 4:
		if s.Do == "POST /kpis/checkins" {
			s.Pad = m.IntN(3) - 1 + 512<<10
		}
	}
	if s.Raw == "" && len(bodyForms[s.Do]) > 0 {
		s.Body = m.body(bodyForms[s.Do])
	}
	if strings.HasPrefix(s.Do, "DELETE") { // has no body
		s.Raw, s.Pad = "", 0
	}
	m.writes = append(m.writes, s)
	if len(m.writes) > 50 {
		m.writes = m.writes[1:]
	}
	return s
}

// body returns a body with the required members and some optional ones, and sometimes
// an invalid one.
func (m *generator) body(form map[string]rule) map[string]any {
	body := map[string]any{}
	members := slices.Sorted(maps.Keys(form))
	for _, member := range members {
		if r := form[member]; r.required || m.in(3) {
			body[member] = m.value(member, r)
		}
	}
	if !m.in(5) {
		return body
	}
	member := m.one(members...)
	switch m.IntN(6) {
	case 0:
		body["nonsense"] = 1
	case 1:
		delete(body, member)
	case 2:
		body[member] = nil
	case 3:
		body[member] = []any{map[string]any{}, 17, "nonsense", true, strings.Repeat(" ", 30), ""}[m.IntN(6)]
	case 4:
		if r := form[member]; r.kind == "text" {
			body[member] = strings.Repeat("é", r.most+m.IntN(2))
		}
	case 5:
		if r := form[member]; r.kind == "text" {
			body[member] = " " + strings.Repeat("☂", max(0, r.least-m.IntN(2))) + " "
		}
	}
	return body
}

// value returns a value that the rule of a member allows.
func (m *generator) value(member string, r rule) any {
	if r.null && m.in(4) {
		return nil
	}
	switch r.kind {
	case "words":
		return m.word(r.words)
	case "date":
		return m.date()
	case "period":
		return m.one(m.date(), m.date(), start.AddDate(0, m.IntN(6)-4, 0).In(time.FixedZone("", 5*3600)).Format(time.RFC3339))
	case "instant":
		return m.one(stamp(start), start.Add(time.Duration(m.IntN(1000))*time.Minute).In(time.FixedZone("", -3600)).Format(time.RFC3339))
	case "flag":
		return m.in(2)
	case "cost":
		return float64(m.IntN(4000)) / 4
	case "value":
		return float64(m.IntN(4000)-2000) / 8
	case "url":
		return m.one("@delivered", "@delivered", "@rejected", "@unreachable", "https://10.0.0.1/", "https://169.254.169.254/latest", "http://127.0.0.1/", "https://user@127.0.0.1/")
	case "types":
		return m.types()
	case "points":
		return m.points()
	case "uuid":
		return fmt.Sprintf("@kpi %d", m.IntN(4))
	}
	switch member {
	case "vendor_key":
		return fmt.Sprint("vendor-", m.IntN(60))
	case "key_result_code":
		return m.one("KR-1", "KR-2", "KR-3", "KR-1", "KR-2", "KR-1.1", "KR-9")
	case "title":
		if m.in(30) {
			return "two\nlines"
		}
	}
	return strings.TrimSpace(m.one("a ", "né ", "☂ ", "<b> ", `"q" `)+fmt.Sprint(m.IntN(100))) + strings.Repeat("x", r.least)
}

func (m *generator) date() string {
	if m.in(40) {
		return m.one("2026-02-30", "26-1-1", "tomorrow")
	}
	return start.AddDate(0, m.IntN(8)-6, m.IntN(3)).Format(time.DateOnly)
}

func (m *generator) types() []any {
	types := []any{}
	for range m.IntN(3) {
		types = append(types, m.word(eventTypes))
	}
	if m.in(20) {
		types = append(types, "ping")
	}
	return types
}

func (m *generator) points() []any {
	points := []any{}
	for range m.IntN(4) + 1 {
		p := m.body(point)
		if m.in(2) {
			p["key_result_code"] = m.one("KR-1", "KR-2", "KR-3", "KR-1.1")
			delete(p, "key_result_id")
		}
		points = append(points, p)
	}
	if m.in(60) {
		points = slices.Repeat([]any{map[string]any{"key_result_code": "KR-1", "value": 1, "period_start": "2026-09-01"}}, 500+m.IntN(2))
	}
	if m.in(60) {
		points = []any{}
	}
	return points
}

// put returns an import of one record, which is new or already known.
func (m *generator) put() step {
	imports := map[string]func() map[string]any{
		"kpi": m.kpi, "assessment": m.assessment, "signal": m.signal, "roadmap": m.roadmap,
		"milestone": m.milestone, "obligation": m.obligation, "talent_gap": m.gap,
		"compliance_posture": m.posture, "vendor_portfolio": m.portfolio, "talent_readiness": m.readiness,
	}
	object := m.one(slices.Sorted(maps.Keys(imports))...)
	return step{Do: "import " + object, Org: m.one(db.DefaultOrganisation, "acme"), Body: imports[object]()}
}

func (m *generator) text() string       { return fmt.Sprint("text ", m.IntN(5)) }
func (m *generator) some(of ...any) any { return of[m.IntN(len(of))] }
func (m *generator) version() map[string]any {
	return map[string]any{"version_number": m.IntN(8), "executive_summary": m.text(), "generated_at": fmt.Sprint("@hours ", m.IntN(9)-9)}
}

func with(members map[string]any, more map[string]any) map[string]any {
	maps.Copy(members, more)
	return members
}

func (m *generator) kpi() map[string]any {
	return map[string]any{
		"code": m.one("KR-1", "KR-2", "KR-3"), "objective_id": unknownRecordID, "statement": m.text(), "metric_name": m.text(), "unit": "%",
		"direction": m.word("increase decrease maintain"), "baseline_value": m.some(nil, 1.5), "target_value": m.IntN(100),
		"current_value": nil, "current_as_of": nil,
		"measurement_frequency": m.word("weekly monthly quarterly annual"), "status": m.word("draft active achieved missed retired"),
	}
}

func (m *generator) assessment() map[string]any {
	return map[string]any{
		"overall_score": m.some(nil, 41.5, 80), "adjusted_score": nil, "verdict": m.some(nil, "CRISIS", "EXCELLENCE"), "confidence": 0.5,
		"methodology_version": m.text(), "completed_at": fmt.Sprint("@hours ", -m.IntN(100)), "completeness": 1, "evidence_ratio": nil,
		"frameworks_applied": []any{m.text()},
	}
}

func (m *generator) signal() map[string]any {
	return map[string]any{
		"signal_type": m.word("drift bias usage cost"), "module_id": m.text(), "numeric_value": m.some(nil, 7.25), "rag": m.some(nil, "RED", "GREEN"),
		"source_version": nil, "as_of": fmt.Sprint("@hours ", -m.IntN(5)),
	}
}

func (m *generator) roadmap() map[string]any {
	return with(m.version(), map[string]any{
		"framework_blend": map[string]any{"NIST": 0.5}, "phases": []any{map[string]any{"phase": "P", "objective": m.text()}}, "milestones_count": nil,
	})
}

func (m *generator) milestone() map[string]any {
	return map[string]any{
		"milestone_key": fmt.Sprint("M-", m.IntN(20)), "title": m.text(), "phase": m.text(), "sequence": m.IntN(5),
		"status": m.word("not_started in_progress blocked completed cancelled"), "rag_status": m.word("RED AMBER GREEN"),
		"progress_pct": m.IntN(100), "owner_role": m.text(), "target_date": m.some(nil, "2026-12-31"),
	}
}

func (m *generator) posture() map[string]any {
	return with(m.version(), map[string]any{
		"overall_posture": m.word("COMPLIANT NOT_ASSESSED"), "primary_jurisdictions": []any{m.text()},
		"regimes": []any{map[string]any{"regime_id": "gdpr", "posture": "COMPLIANT", "open_obligations": m.IntN(5)}},
	})
}

func (m *generator) obligation() map[string]any {
	return map[string]any{
		"obligation_key": fmt.Sprint("O-", m.IntN(30)), "regime_id": m.word("gdpr eu-ai-act"), "regime_name": m.text(), "jurisdiction": m.text(),
		"title": m.text(), "priority_band": m.word(riskLevels), "status": m.word("not_started in_progress compliant at_risk"),
		"owner_role": m.some(nil, "R"), "target_date": nil,
	}
}

func (m *generator) portfolio() map[string]any {
	return with(m.version(), map[string]any{
		"portfolio_posture": m.word("HEALTHY WATCH"), "cross_vendor_risks": []any{m.text()},
		"recommended_actions": []any{map[string]any{"action": m.text(), "priority": "HIGH"}},
	})
}

func (m *generator) readiness() map[string]any {
	return with(m.version(), map[string]any{
		"overall_readiness": m.word("READY DEVELOPING"), "build_buy_borrow": map[string]any{"build": 1, "buy": 2.5, "borrow": 0},
	})
}

func (m *generator) gap() map[string]any {
	return map[string]any{
		"gap_key": fmt.Sprint("G-", m.IntN(30)), "role_title": m.text(), "function_area": m.text(), "headcount_needed": m.IntN(9),
		"priority_band": m.word(riskLevels), "recommended_path": m.word("build buy borrow"), "status": m.word("open in_progress filled deferred closed"),
		"owner_role": nil, "target_date": m.some(nil, "2027-01-31"),
	}
}
