package server_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/internal/testkit"
)

// The changes of the operator between requests, and the check of the complete state.

// put imports one record into an organisation.
func (r *run) put(s step) error {
	object := strings.TrimPrefix(s.Do, "import ")
	d := r.model.sets[s.Org]
	if object == "milestone" && d.active("roadmap") == nil {
		return nil
	}
	r.imported++
	given := plain[modelRecord](s.Body)
	given["id"] = fmt.Sprintf("01990000-0000-7000-8000-%012d", r.imported)
	for member, value := range given {
		if hours, relative := value.(string); relative && strings.HasPrefix(hours, "@hours ") {
			var n int
			_, _ = fmt.Sscan(hours[len("@hours "):], &n)
			given[member] = stamp(r.model.now.Truncate(time.Hour).Add(time.Duration(n) * time.Hour))
		}
	}
	record := db.Record{"object": object}
	decoder := json.NewDecoder(strings.NewReader(plainJSON(given)))
	decoder.UseNumber()
	if err := decoder.Decode(&record); err != nil {
		return err
	}
	if err := put(r.t.Context(), r.store, by(r.t, r.store, s.Org), []db.Record{record}); err != nil {
		return err
	}
	if object == "kpi" && d.where("kpi", "code", given["code"]) == nil {
		r.records["kpi"] = append(r.records["kpi"], made{given.text("id"), s.Org})
	}
	d.put(object, given, r.model.stamp())
	return r.learnLog(d)
}

// learnLog stores the audit events of an operator's change in the model. The
// specification does not define them.
func (r *run) learnLog(d *dataset) error {
	org := organisation(r.t, r.store, d.name)
	for _, line := range testkit.QuerySQL(r.t, r.store.File.Path(), fmt.Sprintf("SELECT event FROM audit_events WHERE org_id = %d ORDER BY seq LIMIT -1 OFFSET %d", org.Org, len(d.log))) {
		var event modelRecord
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			return err
		}
		d.log = append(d.log, event)
	}
	return nil
}

func (r *run) setTerms(s step) error {
	terms := callerState{plan: db.Plan(s.Body["plan"].(string)), subscription: db.Subscription(s.Body["subscription"].(string))}
	if _, err := r.store.Orgs.SetPlan(r.t.Context(), by(r.t, r.store, s.Org), s.Org, terms.plan, terms.subscription); err != nil {
		return err
	}
	r.model.terms[s.Org] = terms
	return r.learnLog(r.model.sets[s.Org])
}

func (r *run) revoke(k *modelKey) error {
	if _, err := r.store.Keys.Revoke(r.t.Context(), by(r.t, r.store, k.org), k.id); err != nil {
		return err
	}
	k.revoked = true
	return r.learnLog(r.model.sets[k.org])
}

// check compares everything that is visible: every list, page by page, the audit log
// and its chain, and the stored data that the API does not return.
func (r *run) check(s step) error {
	for _, who := range []int{ofDefault, ofAcme, ofSandbox} {
		for path := range catalogues {
			if err := r.walk(step{Do: "GET " + path, Who: who, Query: map[string]string{"limit": fmt.Sprint(1 + s.N%100)}}, path); err != nil {
				return fmt.Errorf("%s of key %d: %w", path, who, err)
			}
		}
		for path := range currentOf {
			if err := r.ask(step{Do: "GET " + path, Who: who}); err != nil {
				return fmt.Errorf("%s of key %d: %w", path, who, err)
			}
		}
		if err := r.walk(step{Do: "GET /audit", Who: who, Query: map[string]string{"limit": "1000"}}, "/audit"); err != nil {
			return fmt.Errorf("/audit of key %d: %w", who, err)
		}
	}
	for name, d := range r.model.sets {
		if err := r.behind(name, d); err != nil {
			return err
		}
	}
	return nil
}

// walk reads all pages of a list.
func (r *run) walk(s step, path string) error {
	set := r.model.set(r.model.keys[s.Who]).name
	for range 2000 {
		before := len(r.model.cursors)
		if err := r.ask(s); err != nil {
			return err
		}
		if len(r.model.cursors) == before || path == "/audit" && r.model.cursors[len(r.model.cursors)-1].seq >= len(r.model.sets[set].log)-1 {
			return nil
		}
		s.Query["cursor"] = "@0"
	}
	return fmt.Errorf("pages without end")
}

// behind compares the stored data that the API does not return.
func (r *run) behind(name string, d *dataset) error {
	if d.frozen {
		return nil
	}
	org := organisation(r.t, r.store, name)
	if n, broken, err := r.store.Audit.Verify(r.t.Context(), org.Org); err != nil || broken != nil || n != len(d.log) {
		return fmt.Errorf("the audit log of %s: %d intact of %d, then %v, %w", name, n, len(d.log), broken, err)
	}
	var hidden, hiddenVendors, values []string
	for _, k := range d.records["risk"] {
		hidden = append(hidden, plainJSON([]any{k["id"], k["title"], k["likelihood"], k["mitigation_action"], k["residual_gap_reason"], k["untreated_baseline"]}))
	}
	for _, v := range d.records["vendor"] {
		hiddenVendors = append(hiddenVendors, plainJSON([]any{v["id"], v["contract_start"], v["renewal_owner_role"], v["notes"]}))
	}
	for _, c := range d.checkins {
		values = append(values, plainJSON([]any{c["key_result_code"], c["period_start"], c["value"], c["source"], c["evidence_ref"], c["note"]}))
	}
	for _, view := range []struct {
		about, query string
		want         []string
	}{
		{"risks", "SELECT json_array(id, title, likelihood, mitigation_action, residual_gap_reason, untreated_baseline) FROM risks WHERE org_id = %d", hidden},
		{"vendors", "SELECT json_array(id, contract_start, renewal_owner_role, notes) FROM vendors WHERE org_id = %d", hiddenVendors},
		{"check-ins", "SELECT json_array(code, period_start, c.value, source, evidence_ref, note) FROM kpi_checkins c JOIN kpis k ON k.seq = kpi_seq WHERE org_id = %d", values},
		{"timelines", "SELECT i.id || ' ' || t.status FROM incident_timeline t JOIN incidents i ON i.seq = incident_seq WHERE org_id = %d", d.timeline},
		{"evidence", "SELECT r.id || ' ' || reason FROM severity_evidence JOIN risks r ON r.seq = risk_seq WHERE org_id = %d", d.evidence},
		{"deliveries", `SELECT s.id || ' ' || e.type FROM (SELECT event_seq, subscription_seq FROM deliveries UNION ALL SELECT event_seq, subscription_seq FROM unexpanded_deliveries) d
			JOIN events e ON e.seq = event_seq JOIN webhook_subscriptions s ON s.seq = subscription_seq
			WHERE e.type LIKE 'risk.%%' AND s.org_id = %d`, d.deliveries},
	} {
		want, got := slices.Sorted(slices.Values(view.want)), testkit.QuerySQL(r.t, r.store.File.Path(), fmt.Sprintf(view.query, org.Org))
		slices.Sort(got)
		for i := range got {
			got[i] = canonical(got[i])
		}
		if diff := cmp.Diff(want, got, equateEmpty); diff != "" {
			return fmt.Errorf("%s of %s (-want +got):\n%.3000s", view.about, name, diff)
		}
	}
	return nil
}

// canonical returns a JSON array in the form that Go writes, and other text unchanged.
func canonical(text string) string {
	var list []any
	if json.Unmarshal([]byte(text), &list) != nil {
		return text
	}
	return plainJSON(list)
}
