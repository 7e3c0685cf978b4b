package webhook_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/internal/testkit"
)

// TestEvents_MatchDocument makes changes one after another. Each change enqueues the
// events that the contract defines, and the deliveries match the document.
func TestEvents_MatchDocument(t *testing.T) {
	t.Parallel()
	s := newHarness(t, newClock())
	r := testkit.NewReceiver(t, nil)
	s.subscribe(t, r.URL)
	assessment := `{"object":"assessment","methodology_version":"1","frameworks_applied":[],`
	risk := `{"object":"risk","risk_id":"R-1","description":"d","status":"Open",`
	posture := `{"object":"compliance_posture","primary_jurisdictions":[],"executive_summary":"s","generated_at":"2026-01-01T00:00:00Z",`
	for _, step := range []struct {
		name, records string
		want          string // the types of events, sorted
	}{
		{"the first assessment", assessment + `"completed_at":"2026-02-01T00:00:00Z","verdict":"CRISIS"}`, "assessment.completed"},
		{"the same again", assessment + `"completed_at":"2026-02-01T00:00:00Z","verdict":"CRISIS"}`, ""},
		{"an older one", assessment + `"completed_at":"2026-01-01T00:00:00Z","verdict":"EXCELLENCE"}`, ""},
		{"a newer one, the same verdict", assessment + `"completed_at":"2026-03-01T00:00:00Z","verdict":"CRISIS"}`, "assessment.completed"},
		{"a newer one, another verdict", assessment + `"completed_at":"2026-04-01T00:00:00Z","verdict":"EMERGENCY"}`, "assessment.completed verdict.changed"},
		{"a newer one without verdict", assessment + `"completed_at":"2026-05-01T00:00:00Z","verdict":null}`, "assessment.completed verdict.changed"},
		{"a roadmap with milestones", `{"object":"roadmap","version_number":2,"generated_at":"2026-01-01T00:00:00Z"}
			{"object":"milestone","milestone_key":"m1","title":"t","phase":"p","sequence":1,"status":"blocked","rag_status":"RED","owner_role":"o"}`, "roadmap.updated"},
		{"a changed milestone", `{"object":"milestone","milestone_key":"m1","title":"t","phase":"p","sequence":1,"status":"completed","rag_status":"GREEN","owner_role":"o"}`, "roadmap.updated"},
		{"an older roadmap", `{"object":"roadmap","version_number":1,"generated_at":"2026-01-01T00:00:00Z"}`, ""},
		{"a risk", risk + `"severity":"HIGH"}`, "risk.created"},
		{"the same risk", risk + `"severity":"HIGH"}`, ""},
		{"another owner", risk + `"severity":"HIGH","owner_name":"o"}`, ""},
		{"another severity", risk + `"severity":"LOW"}`, "risk.severity_changed"},
		{"a residual severity", risk + `"residual_severity":"LOW"}`, "risk.severity_changed"},
		{"the first posture", posture + `"version_number":1,"overall_posture":"NON_COMPLIANT","regimes":[{"regime_id":"a","posture":"NON_COMPLIANT","open_obligations":1}]}`, ""},
		{"nothing moved", posture + `"version_number":2,"overall_posture":"NON_COMPLIANT","regimes":[{"regime_id":"a","posture":"NON_COMPLIANT","open_obligations":0},{"regime_id":"b","posture":"COMPLIANT","open_obligations":0}]}`, ""},
		{
			"three movements", posture + `"version_number":3,"overall_posture":"COMPLIANT","regimes":[{"regime_id":"a","posture":"COMPLIANT","open_obligations":0},{"regime_id":"b","posture":"NON_COMPLIANT","open_obligations":2}]}`,
			"compliance.posture_changed compliance.posture_changed compliance.posture_changed",
		},
		{"an older posture", posture + `"version_number":0,"overall_posture":"NON_COMPLIANT","regimes":[]}`, ""},
	} {
		before := len(r.Received())
		s.write(t, func(tx *db.Tx) error { return put(tx, step.records) })
		s.deliver(t)
		var types []string
		for _, a := range r.Received()[before:] {
			kind := a.Header.Get("X-Service-Event")
			types = append(types, kind)
			if _, faults := testkit.EventSchema(t, kind).Decode(a.Body); len(faults) > 0 {
				t.Errorf("%s: %v: %s", step.name, faults, a.Body)
			}
		}
		slices.Sort(types)
		if got := strings.Join(types, " "); got != step.want {
			t.Errorf("%s raised %q, want %q", step.name, got, step.want)
		}
	}
}

func put(tx *db.Tx, records string) error {
	decoder := json.NewDecoder(strings.NewReader(records))
	decoder.UseNumber()
	for decoder.More() {
		var record db.Record
		if err := decoder.Decode(&record); err != nil {
			return err
		}
		if _, err := tx.Put(record["object"].(string), record); err != nil {
			return err
		}
	}
	return tx.Audit(audit.Event{Action: "test.imported", Category: audit.DataChange, Severity: audit.SeverityWrite})
}
