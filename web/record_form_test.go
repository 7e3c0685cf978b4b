package web_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"govsvc/db/auth"
	"govsvc/db/resource"
)

const reason = "The supplier has been changed and the data is deleted."

// TestRecordForm_Adds adds a record with each form, after a refused attempt.
func TestRecordForm_Adds(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for _, test := range []struct {
		base, object, words string
		good                []string // names and values
		bad                 []string // replace the good ones in the refused attempt
		wants               []string // in addition to the fields
		page                []string // of the record
	}{
		{
			base: "/risks", object: "risk", words: "Added here",
			good:  []string{"title", "Added here", "description", "What may happen, and why it would.", "severity", "HIGH", "likelihood", "POSSIBLE", "owner_name", "", "target_date", "2027-01-31"},
			bad:   []string{"title", "", "description", "too short", "target_date", "31.1.2027"},
			wants: []string{`id="f-title-error">Title is required`, `id="f-description-error"`, `id="f-target_date-error"`, ">too short</textarea>", "Fix 3 fields"},
			page:  []string{"Added here", "RISK-", "31 Jan 2027", "Created", "by editor"},
		},
		{
			base: "/incidents", object: "incident", words: "Wrong letters",
			good:  []string{"title", "Wrong letters", "severity", "high", "notification_required", "true", "notification_deadline", ""},
			bad:   []string{"title", " ", "notification_deadline", "soon"},
			wants: []string{`id="f-title-error"`, `id="f-notification_deadline-error"`},
			page:  []string{"Notify the regulator by", "3 days left", "Timeline", "INC-0001"},
		},
		{
			base: "/vendors/inventory", object: "vendor", words: "acme-models",
			good:  []string{"vendor_key", "acme-models", "vendor_name", "Acme", "category", "Models", "initial_risk_band", "HIGH", "annual_cost_usd", "1200.50", "notes", "Line one\r\nline two"},
			bad:   []string{"vendor_key", "norrhav-cloud", "annual_cost_usd", "12,000"},
			wants: []string{`id="f-annual_cost_usd-error"`},
			page:  []string{"Acme", "1,200.5", "Active"},
		},
		{
			base: "/assessments", object: "assessment", words: "4.0-beta",
			good:  []string{"methodology_version", "4.0-beta", "completed_at", "2026-09-30T10:00", "overall_score", "70", "adjusted_score", "66.5", "verdict", "OPTIMIZATION", "confidence", "0.8", "frameworks_applied", "NIST AI RMF\r\nISO/IEC 42001\r\n"},
			bad:   []string{"overall_score", "170", "completed_at", ""},
			wants: []string{`id="f-overall_score-error"`, `id="f-completed_at-error"`},
			page:  []string{"Assessment of 30 Sep 2026", "NIST AI RMF, ISO/IEC 42001", "80\u00a0%"},
		},
		{
			base: "/signals", object: "signal", words: "drift.nora",
			good:  []string{"signal_type", "drift.nora", "module_id", "monitoring", "numeric_value", "0.4", "rag", "AMBER", "as_of", "2026-10-01T11:00"},
			bad:   []string{"module_id", "", "rag", "PINK"},
			wants: []string{`id="f-module_id-error"`, `id="f-rag-error"`},
			page:  []string{"drift.nora", "Amber"},
		},
		{
			base: "/roadmap/milestones", object: "milestone", words: "exit-drill",
			good:  []string{"milestone_key", "exit-drill", "title", "Exit drill", "phase", "Embed", "sequence", "9", "status", "not_started", "rag_status", "GREEN", "progress_pct", "0", "owner_role", "CIO", "target_date", ""},
			bad:   []string{"sequence", "first", "status", ""},
			wants: []string{`id="f-sequence-error"`, `id="f-status-error"`},
			page:  []string{"Exit drill", "Not started", "Roadmap version"},
		},
		{
			base: "/compliance/obligations", object: "obligation", words: "EUAIA-ART-99",
			good:  []string{"obligation_key", "EUAIA-ART-99", "regime_id", "eu-ai-act", "regime_name", "EU AI Act", "jurisdiction", "EU", "title", "Penalties are known", "priority_band", "LOW", "status", "in_progress"},
			bad:   []string{"priority_band", "", "regime_id", ""},
			wants: []string{`id="f-priority_band-error"`, `id="f-regime_id-error"`},
			page:  []string{"Penalties are known", "In progress"},
		},
		{
			base: "/roadmap/versions", object: "roadmap", words: "Third version",
			good: []string{
				"version_number", "3", "generated_at", "2026-10-01T08:30", "executive_summary", "Third version",
				"phases", "rows", "phases.0.phase", "Settle", "phases.0.objective", "Line one\r\nline two", "phases.1.phase", "", "phases.1.objective", "",
				"framework_blend", "rows", "framework_blend.0.name", "NIST AI RMF", "framework_blend.0.value", "0.6",
			},
			bad: []string{"version_number", "three", "phases.0.objective", "", "framework_blend.0.value", "much"},
			wants: []string{
				`id="f-version_number-error">Version must be a whole number of at least 0.`, `id="f-phases.0.objective-error">Objective is required.`,
				`href="#f-phases.0.objective">Phase 1: Objective is required.`, `id="f-framework_blend.0.value-error">Weight, from 0 to 1 must be a number from 0 to 1.`,
				`value="NIST AI RMF"`, "Fix 3 fields", "!phases[0]", "!version_number must",
			},
			page: []string{"Roadmap, version 3", "Settle", "NIST AI RMF", "60\u00a0%"},
		},
		{
			base: "/compliance/postures", object: "compliance_posture", words: "All in order",
			good: []string{
				"version_number", "9", "overall_posture", "COMPLIANT", "generated_at", "2026-10-01T08:30", "executive_summary", "All in order",
				"primary_jurisdictions", "EU\r\nDK", "regimes", "rows", "regimes.0.regime_id", "gdpr", "regimes.0.posture", "COMPLIANT", "regimes.0.open_obligations", "3",
			},
			bad:   []string{"overall_posture", "", "regimes.0.open_obligations", "few"},
			wants: []string{`id="f-overall_posture-error">Posture is required.`, `id="f-regimes.0.open_obligations-error">Open obligations must be a whole number`},
			page:  []string{"Compliance posture, version 9", "EU, DK", "gdpr"},
		},
		{
			base: "/vendors/portfolio", object: "vendor_portfolio", words: "Few vendors",
			good: []string{
				"version_number", "9", "portfolio_posture", "WATCH", "generated_at", "2026-10-01T08:30", "executive_summary", "Few vendors",
				"cross_vendor_risks", "rows", "cross_vendor_risks.0.text", "One region; one model",
				"recommended_actions", "rows", "recommended_actions.0.action", "Test the exit", "recommended_actions.0.priority", "HIGH",
			},
			bad:   []string{"executive_summary", "", "recommended_actions.0.action", ""},
			wants: []string{`id="f-recommended_actions.0.action-error">Action is required.`},
			page:  []string{"One region; one model", "Test the exit"},
		},
		{
			base: "/talent/readiness", object: "talent_readiness", words: "Enough people",
			good: []string{
				"version_number", "9", "overall_readiness", "READY", "generated_at", "2026-10-01T08:30", "executive_summary", "Enough people",
				"build_buy_borrow", "rows", "build_buy_borrow.0.build", "0.5", "build_buy_borrow.0.buy", "0.3", "build_buy_borrow.0.borrow", "0.2",
			},
			bad:   []string{"overall_readiness", "", "build_buy_borrow.0.borrow", ""},
			wants: []string{`id="f-build_buy_borrow.0.borrow-error">Borrow is required.`, `value="0.5"`, "!Add row"},
			page:  []string{"Enough people", "50\u00a0%"},
		},
		{
			base: "/talent/gaps", object: "talent_gap", words: "red-teamer",
			good:  []string{"gap_key", "red-teamer", "role_title", "Red teamer", "function_area", "Security", "headcount_needed", "2", "priority_band", "HIGH", "recommended_path", "borrow", "status", "open"},
			bad:   []string{"headcount_needed", "two", "recommended_path", "steal"},
			wants: []string{`id="f-headcount_needed-error">People must be a whole number`, `id="f-recommended_path-error">Path must be one of the choices.`},
			page:  []string{"Red teamer", "Security"},
		},
		{
			base: "/kpis", object: "kpi", words: "KR-NEW-01",
			good:  []string{"code", "KR-NEW-01", "metric_name", "Models validated", "statement", "Each model is validated.", "unit", "%", "direction", "increase", "target_value", "90", "measurement_frequency", "monthly", "status", "active"},
			bad:   []string{"target_value", "", "unit", ""},
			wants: []string{`id="f-target_value-error">Target is required.`, `id="f-unit-error">Unit is required.`},
			page:  []string{"Models validated", "90\u00a0%", "No check-ins yet"},
		},
	} {
		t.Run(test.object, func(*testing.T) {
			c := h.as(auth.Editor)
			c.expect(c.get(test.base+"/new"), 200, `action="`+test.base+`"`)
			refused := c.post(test.base, slices.Concat(test.bad, without(test.good, test.bad))...)
			c.expect(refused, 422, append(test.wants, "Fix ", `aria-invalid="true"`)...)
			r := c.post(test.base, test.good...)
			at := h.pathOf(test.base, test.object, test.words)
			c.expect(c.follow(r, at), 200, append(test.page, "has been added.")...)
			h.as(auth.Viewer).expect(h.as(auth.Viewer).post(test.base, test.good...), 403, "This page requires the ")
			if test.object != "risk" && test.object != "incident" && test.object != "signal" {
				again := c.post(test.base, test.good...)
				c.expect(again, 422, "already has this value.")
			}
		})
	}
	if log := h.auditLog(); !strings.Contains(log, `"action":"risk.created"`) || strings.Contains(log, `"action":"api.`) {
		t.Errorf("the audit log:\n%s", log)
	}
}

// without returns the pairs whose names are not in others.
func without(pairs, others []string) (left []string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		taken := false
		for j := 0; j+1 < len(others); j += 2 {
			taken = taken || others[j] == pairs[i]
		}
		if !taken {
			left = append(left, pairs[i], pairs[i+1])
		}
	}
	return left
}

// TestRecordForm_Changes checks that a form changes only the fields that it sends.
func TestRecordForm_Changes(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Editor)
	change := func(at string, pairs ...string) response {
		t.Helper()
		return c.post(at, slices.Concat(pairs, hiddenFields(c.get(at+"/edit").body))...)
	}
	for _, test := range []struct {
		base, object, words string
		pairs               []string
		page                []string
	}{
		{"/roadmap/milestones", "milestone", "incident-drill", []string{"status", "blocked", "rag_status", "RED"}, []string{"Blocked", "<del>Completed</del>", "<ins>Blocked</ins>"}},
		{"/compliance/obligations", "obligation", "EUAIA-ART-4", []string{"status", "at_risk"}, []string{"At risk"}},
		{"/vendors/inventory", "vendor", "norrhav-cloud", []string{"contract_end", "", "notes", "Under review."}, []string{"Under review.", "cleared"}},
		{"/incidents", "incident", "chatbot", []string{"status", "post_review"}, []string{"In post-incident review"}},
		{"/risks", "risk", "RISK-0001", []string{"owner_name", "Chief Risk Officer"}, []string{"Chief Risk Officer", "<del>Head of AI Governance</del>", "Updated"}},
		{"/risks", "risk", "RISK-0002", []string{"description", "Described anew.", "financial_exposure_max", "250000", "dimension", "DATA"}, []string{"Described anew.", "250,000", "Updated"}},
		{"/vendors/inventory", "vendor", "norrhav-cloud", []string{"vendor_name", "Norrhav"}, []string{"<h1>Norrhav</h1>"}},
		{"/incidents", "incident", "chatbot", []string{"notified_at", "2026-09-02T10:00"}, []string{"2 Sep 2026"}},
		{"/assessments", "assessment", "3.3", []string{"verdict", "CRISIS", "frameworks_applied", "A\r\nB"}, []string{"Crisis", "A, B"}},
		{"/roadmap/versions", "roadmap", "three plain things", []string{"phases", "rows", "phases.0.phase", "Only", "phases.0.objective", "One"}, []string{"Only"}},
		{"/vendors/portfolio", "vendor_portfolio", "First view", []string{"portfolio_posture", "CRITICAL"}, []string{"Critical"}},
		{"/talent/readiness", "talent_readiness", "good models", []string{"overall_readiness", "READY"}, []string{"Ready"}},
		{"/talent/gaps", "talent_gap", "conformity", []string{"status", "filled"}, []string{"Filled"}},
		{"/kpis", "kpi", "KR-LIT-01", []string{"target_value", "99.5", "status", "achieved"}, []string{"Target 99.5", "Achieved"}},
	} {
		at := h.pathOf(test.base, test.object, test.words)
		before := h.find(test.object, test.words)
		c.expect(c.follow(change(at, test.pairs...), at), 200, append(test.page, "changes have been saved.", "by editor")...)
		for member, value := range h.find(test.object, test.words) {
			if member != "updated_at" && member != "timeline" && !slices.Contains(test.pairs, member) && text(value) != text(before[member]) {
				t.Errorf("%s: %s is %v, was %v", test.object, member, value, before[member])
			}
		}
		c.expect(c.follow(change(at), at), 200, "Nothing was changed.")
	}
	c.expect(c.get("/risks/0190d6a1-0000-7000-8000-000000000000/edit"), 404)
	c.expect(c.post("/risks/0190d6a1-0000-7000-8000-000000000000", "title", "x"), 404)
}

// TestRecordForm_LoweredRiskNeedsReason checks that a lower rating requires a reason,
// which is kept as evidence.
func TestRecordForm_LoweredRiskNeedsReason(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Editor)
	at := h.pathOf("/risks", "risk", "RISK-0040")
	form := c.get(at + "/edit")
	c.expect(form, 200, "Required if you lower or clear", `<option value="CRITICAL" selected>`)
	was := hiddenFields(form.body)
	c.expect(c.post(at, append(was, "severity", "LOW", "severity_change_reason", "")...), 422,
		`id="f-severity_change_reason-error"`, `aria-invalid="true"`, `<option value="LOW" selected>`)
	c.expect(c.post(at, append(was, "severity", "LOW", "severity_change_reason", "too short")...), 422, ">too short</textarea>")
	r := c.follow(c.post(at, append(was, "severity", "LOW", "severity_change_reason", reason)...), at)
	c.expect(r, 200, "Rating justification", "Severity critical → low", reason, "by editor")
}

// TestRecordForm_TwoEditors checks that two editors can change different fields at the same
// time. Neither undoes the change of the other.
func TestRecordForm_TwoEditors(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	one, two := h.as(auth.Editor), h.as(auth.Admin)
	at := h.pathOf("/risks", "risk", "RISK-0040")
	whole := func(form response, pairs ...string) []string {
		return slices.Concat(pairs, without([]string{
			"title", "Agent letters reach former addresses", "owner_name", "Head of Claims Operations", "severity", "CRITICAL",
		}, pairs), hiddenFields(form.body))
	}
	form := one.get(at + "/edit")
	two.follow(two.post(at, whole(two.get(at+"/edit"), "owner_name", "The other one")...), at)
	one.follow(one.post(at, whole(form, "title", "Letters go astray")...), at)
	risk := h.find("risk", "RISK-0040")
	if risk["owner_name"] != "The other one" || risk["title"] != "Letters go astray" {
		t.Errorf("%v", risk)
	}
}

// TestRecordForm_Conflict checks that a field that two editors change is not overwritten.
// The second one sees both values and chooses, and keeps what was typed.
func TestRecordForm_Conflict(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	one, two := h.as(auth.Editor), h.as(auth.Admin)
	at := h.pathOf("/risks", "risk", "RISK-0040")
	owner := func() string { return text(h.find("risk", "RISK-0040")["owner_name"]) }
	form := one.get(at + "/edit")
	two.follow(two.post(at, "owner_name", "The other one"), at)
	asked := one.post(at, append(hiddenFields(form.body), "owner_name", "Mine", "title", "Typed title")...)
	one.expect(asked, 409, "has changed since you opened the form", `href="#keep-owner_name">Owner: choose a value`,
		"admin changed this field", ">Mine</span>", ">The other one</span>", `value="Typed title"`, `name="keep-owner_name" value="mine"`, "!keep-title", "autofocus")
	if owner() != "The other one" {
		t.Errorf("the owner is %q before a choice", owner())
	}
	sent := append(hiddenFields(asked.body), "owner_name", "Mine", "title", "Typed title")
	one.expect(one.post(at, sent...), 409, "choose a value") // still no choice

	two.follow(two.post(at, "owner_name", "A third one"), at) // a choice counts for the value that was shown
	again := one.post(at, append(sent, "keep-owner_name", "mine")...)
	one.expect(again, 409, ">A third one</span>", "!checked")
	one.follow(one.post(at, append(hiddenFields(again.body), "owner_name", "Mine", "title", "Typed title", "keep-owner_name", "theirs")...), at)
	risk := h.find("risk", "RISK-0040")
	if owner() != "A third one" || risk["title"] != "Typed title" {
		t.Errorf("kept the saved value: %v", risk)
	}
	form = one.get(at + "/edit")
	two.follow(two.post(at, "owner_name", "Theirs"), at)
	asked = one.post(at, append(hiddenFields(form.body), "owner_name", "Mine")...)
	one.expect(one.post(at, append(hiddenFields(asked.body), "owner_name", "Mine", "severity", "", "keep-owner_name", "mine")...), 422,
		`id="f-severity-error"`, `value="mine" required checked`) // another error keeps the choice
	one.follow(one.post(at, append(hiddenFields(asked.body), "owner_name", "Mine", "keep-owner_name", "mine")...), at)
	if owner() != "Mine" {
		t.Errorf("the owner is %q, want Mine", owner())
	}
	version := h.pathOf("/roadmap/versions", "roadmap", "three plain things") // a member with rows
	form = one.get(version + "/edit")
	two.follow(two.post(version, "phases", "rows", "phases.0.phase", "Theirs", "phases.0.objective", "O"), version)
	one.expect(one.post(version, append(hiddenFields(form.body), "phases", "rows", "phases.0.phase", "Mine", "phases.0.objective", "O")...), 409, "Theirs\nO", "Mine\nO")
}

// TestRecordForm_AddRow checks the button that adds a row to a list of a record.
func TestRecordForm_AddRow(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Editor)
	c.expect(c.get("/roadmap/versions/new"), 200, `id="f-phases.0.phase"`, "!phases.1.phase", `name="version_number" type="text" value="3"`, `value="phases">Add row`)
	c.expect(c.post("/roadmap/versions", "add-row", "phases", "phases", "rows", "phases.0.phase", "Settle"), 200,
		`value="Settle"`, `id="f-phases.1.phase"`, "!f-phases.2.phase", "!form-errors")
	at := h.pathOf("/roadmap/versions", "roadmap", "three plain things")
	form := c.get(at + "/edit")
	c.expect(form, 200, "Foundation", `id="f-phases.2.phase"`, "!f-phases.3.phase", "<details")
	c.expect(c.post(at, append(hiddenFields(form.body), "add-row", "phases")...), 200, "Foundation", `id="f-phases.3.phase"`)
	c.expect(c.post(at, append(hiddenFields(form.body), "add-row", "generated_at")...), 303) // not a list: nothing was changed
}

// TestRecordForm_Hints checks that labels and hints name no members.
func TestRecordForm_Hints(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Editor)
	words := regexp.MustCompile(`<(?:label|legend|p class="hint")[^>]*>[^<]*[a-z]_[a-z][^<]*<`)
	for _, res := range resource.Pages() {
		for _, path := range []string{res.Page.Base + "/new", h.pathOf(res.Page.Base, res.Type, "") + "/edit"} {
			form := c.get(path)
			c.expect(form, 200)
			for _, found := range words.FindAllString(form.body, -1) {
				t.Errorf("%s: %s", path, found)
			}
		}
	}
}

// TestRecordForm_Labels checks that messages speak of labels, not of members.
func TestRecordForm_Labels(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Editor)
	risk := h.pathOf("/risks", "risk", "RISK-0040")
	c.expect(c.post(risk, "severity", "LOW"), 422, ">Rating justification is required, with at least 20 characters", "!>severity_change_reason")
	c.expect(c.post("/vendors/inventory", "vendor_key", "norrhav-cloud", "vendor_name", "N", "category", "C", "initial_risk_band", "LOW"), 422,
		`href="#f-vendor_key">Another vendor already has this value.`)
	c.expect(c.post("/signals", "signal_type", "s", "module_id", "m", "as_of", "soon"), 422, "As of must be a date and a time, such as 2026-09-12T08:30.", "!RFC")
	kpi := h.pathOf("/kpis", "kpi", "KR-INV-01")
	c.expect(c.post(kpi+"/checkins", "value", "1", "period_start", "soon"), 422, "Period from must be a date, such as 2026-09-12.")
}

// TestNotification checks that a notification stops the deadline of an incident.
func TestNotification(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Editor)
	c.post("/incidents", "title", "A clock running", "severity", "high", "notification_required", "true")
	at := h.pathOf("/incidents", "incident", "clock running")
	c.expect(c.get(at), 200, "Notify the regulator by", "3 days left", `data-until="2026-10-04T12:00:00.000Z"`, at+"/notification")
	later := func(hours time.Duration) {
		t.Helper()
		h.clock.Advance(hours * time.Hour) // the session expires
		c.follow(c.post("/signin", "name", "editor", "password", password), "/")
	}
	later(60)
	c.expect(c.get(at), 200, "12 h 0 min left", `tone-high`)
	later(20)
	c.expect(c.get(at), 200, "8 h 0 min overdue", `tone-critical`, "Notification deadline, overdue")

	form := at + "/notification"
	c.expect(c.get(form), 200, `value="2026-10-04T20:00"`, "In UTC")
	c.expect(c.post(form, "at", "", "to", ""), 422, `id="f-at-error"`, `id="f-to-error"`)
	c.expect(c.post(form, "at", "yesterday", "to", "Datatilsynet"), 422, `id="f-at-error"`, `value="Datatilsynet"`)
	c.expect(c.post(form, "at", "2026-10-04T21:00", "to", "Datatilsynet"), 422, "future")
	c.expect(c.post(form, "at", "2026-09-01T00:00", "to", "Datatilsynet"), 422, "before the incident was declared")
	c.expect(c.post(form, "at", "2026-10-04T19:00", "to", "two\nlines"), 422, "one line")
	r := c.follow(c.post(form, "at", "2026-10-04T19:00", "to", "Datatilsynet", "reference", "2026-42"), at)
	c.expect(r, 200, "The regulator was notified 7 hours after the deadline", "Notified Datatilsynet", "reference 2026-42", "Notified</b>", "by editor")
}

// TestNote checks that a note is an entry of the timeline of an incident, with the status
// that it sets.
func TestNote(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Editor)
	c.post("/incidents", "title", "Letters went astray", "severity", "high", "status", "open")
	at := h.pathOf("/incidents", "incident", "went astray")
	c.expect(c.get(at), 200, at+"/note", "Declared</b>", `by editor`)
	c.expect(c.get(at+"/note"), 200, `<option value="open" selected>`, "Add an update")
	c.expect(c.post(at+"/note", "status", "contained", "note", " "), 422, `href="#f-note">Note is required.`, `<option value="contained" selected>`)
	c.expect(c.post(at+"/note", "status", "lost", "note", "x"), 422, `id="f-status-error">Status must be one of the choices.`, ">x</textarea>")
	c.expect(c.post(at+"/note", "status", "open", "note", strings.Repeat("x", 2001)), 422, "Note must have at most 2000 characters.")
	h.clock.Advance(90 * time.Minute)
	page := c.follow(c.post(at+"/note", "status", "contained", "note", "The agent is\r\nswitched off."), at)
	c.expect(page, 200, "The update has been added.", "Status changed</b> <span class=\"badge tone-info\">Contained", "The agent is\nswitched off.", "after 90 minutes", "by editor", "Noted")
	page = c.follow(c.post(at+"/note", "status", "contained", "note", "The supplier was asked."), at)
	c.expect(page, 200, "Note</b> <span class=\"muted\">by editor")
	incident := h.find("incident", "went astray")
	steps, _ := incident["timeline"].([]any)
	last, _ := steps[len(steps)-1].(map[string]any)
	if len(steps) != 3 || incident["status"] != "contained" || last["note"] != "The supplier was asked." || last["status"] != "contained" {
		t.Errorf("got the timeline %v of %v", steps, incident)
	}
	if !h.hasAuditEvent("incident.noted", auth.Editor) {
		t.Error("the audit log does not have the note")
	}
	h.as(auth.Viewer).expect(h.as(auth.Viewer).get(at), 200, "!"+at+"/note")
	h.as(auth.Viewer).expect(h.as(auth.Viewer).post(at+"/note", "status", "open", "note", "x"), 403)
}

// TestNotification_NeedsRole checks that viewers see a notification and can't record one.
func TestNotification_NeedsRole(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c, at := h.as(auth.Viewer), h.pathOf("/incidents", "incident", "chatbot")
	c.expect(c.get(at), 200, "before the deadline", "!/notification")
	c.expect(c.post(at+"/notification", "at", "2026-10-01T10:00", "to", "x"), 403)
}

// TestKPIList checks that the list of KPIs has their attainment and their trend.
func TestKPIList(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Editor)
	list := c.get("/kpis")
	c.expect(list, 200, "Attainment</th>", "Trend</th>", `<svg class="spark"`, `aria-label="`, " values, from ", `<path class="target"`, "Add a KPI")
	if n := strings.Count(list.body, `<svg class="spark"`); n < 5 {
		t.Errorf("%d sparklines, want one for each KPI with check-ins", n)
	}
	c.expect(c.get("/kpis?q=KR-AGT-01"), 200, "Trend</th>", `!<svg class="spark"`) // it has no check-ins
}

// TestIncidentList checks that the list of incidents has their references and running
// clocks.
func TestIncidentList(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Editor)
	c.post("/incidents", "title", "A clock running", "severity", "high", "notification_required", "true")
	h.clock.Advance(time.Hour)
	c.expect(c.get("/incidents?q=clock"), 200, `data-until="2026-10-04T12:00:00.000Z">71 h 0 min left`, `<code class="under">INC-0001`, "clocks.")
	c.expect(c.get("/incidents?q=chatbot"), 200, "!data-until", `<code class="under">INC-2025-001`)
}

// TestCheckins checks that the page of a key result shows its check-ins and adds one.
func TestCheckins(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c := h.as(auth.Editor)
	at := h.pathOf("/kpis", "kpi", "KR-INV-01")
	c.expect(c.get(at), 200, `<svg class="plot"`, "Target 98", "Baseline 52", "Attainment", "42 systems known", "AI-REG-2025-11", at+"/checkins/new")
	h.as(auth.Viewer).expect(h.as(auth.Viewer).get(at), 200, "!"+at+"/checkins/new")
	form := c.get(at + "/checkins/new")
	c.expect(form, 200, "Unit: %. Target: 98\u00a0%.", `value="manual"`, "!key_result")
	c.expect(c.post(at+"/checkins", "value", "", "source", "manual"), 422, `id="f-value-error"`)
	c.expect(c.post(at+"/checkins", "value", "high", "period_start", "2026-10-01"), 422, `id="f-value-error"`, `value="high"`)
	r := c.follow(c.post(at+"/checkins", "value", "99.25", "period_start", "2026-10-01", "source", "manual", "note", "Counted by hand.", "key_result_code", "KR-LIT-01"), at)
	c.expect(r, 200, "The check-in has been recorded.", "99.25", "Counted by hand.")
	c.expect(r, 200, at+"/checkins/new?period=2026-10-01")
	edit := c.get(at + "/checkins/new?period=2026-10-01")
	c.expect(edit, 200, "Edit check-in", `value="99.25"`, `value="2026-10-01"`, "Counted by hand.</textarea>", "Save changes")
	c.follow(c.post(at+"/checkins", "value", "99.5", "period_start", "2026-10-01", "source", "manual", "note", "Counted twice."), at)
	c.expect(c.get(at), 200, "Counted twice.", "!<td class=\"kind-long\" data-label=\"Note\">Counted by hand.")
	if kpi := h.find("kpi", "KR-LIT-01"); text(kpi["current_value"]) == "99.25" {
		t.Error("the check-in was stored for another key result")
	}
	h.as(auth.Viewer).expect(h.as(auth.Viewer).post(at+"/checkins", "value", "1"), 403)
	c.expect(c.get(h.pathOf("/kpis", "kpi", "KR-AGT-01")), 200, "No check-ins yet", `!<svg class="plot"`)
}
