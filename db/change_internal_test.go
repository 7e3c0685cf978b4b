package db

import (
	"encoding/json"
	"testing"

	"govsvc/db/audit"
	"govsvc/db/resource"
)

// TestChange_AuditsWhatDiffers creates and changes records of several types, and
// compares the changes in their audit events, which come from the values that were
// written, with the records before and after.
func TestChange_AuditsWhatDiffers(t *testing.T) {
	t.Parallel()
	d, org := opened(t)
	by := Actor{Org: org.Org, ID: "ada"}
	read := func(r *storedResource, id string) (row storedRow) {
		t.Helper()
		err := d.Maintain(t.Context(), func(tx *Tx) (err error) {
			tx.Org = org.Org
			row, err = readByID(tx, r, id)
			return err
		})
		if err != nil && !Is(err, NotFound) {
			t.Fatal(err)
		}
		return row
	}
	if err := d.Write(t.Context(), by, func(tx *Tx) error {
		_, err := tx.Put("roadmap", Record{
			"id": "m", "version_number": json.Number("3"), "generated_at": "2026-09-12T08:00:00Z", "executive_summary": "s",
			"framework_blend": map[string]any{"b": json.Number("1.50")}, "phases": []any{}, "milestones_count": json.Number("0"),
		})
		if err != nil {
			return err
		}
		return tx.Audit(audit.Event{Action: "put"})
	}); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		of      *resource.Resource
		records []Record // the first one creates
	}{
		{resource.Risk, []Record{
			{"title": "A \"title\" <b>", "description": "é\n", "severity": "HIGH", "likelihood": nil, "financial_exposure_min": json.Number("1e3"), "financial_exposure_max": json.Number("0.1")},
			{"title": nil, "severity": "CRITICAL", "financial_exposure_min": json.Number("1000"), "financial_exposure_max": json.Number("12345678.25")},
			{"financial_exposure_max": json.Number("12345678.250")},
		}},
		{resource.Incident, []Record{
			{"title": "T", "notification_required": true},
			{"notification_required": false, "status": "contained", "incident_key": "I-1"},
			{"notification_required": true, "notification_deadline": "2026-09-12T08:00:00+02:00"},
		}},
		{resource.Vendor, []Record{
			{"vendor_key": "V", "vendor_name": "N", "category": "C", "initial_risk_band": "LOW", "annual_cost_usd": json.Number("5.0")},
			{"vendor_key": "V", "annual_cost_usd": json.Number("5"), "notes": "n", "contract_end": nil},
		}},
		{resource.KPI, []Record{
			{"code": "K", "statement": "s", "metric_name": "m", "unit": "%", "direction": "increase", "target_value": json.Number("99.5"), "measurement_frequency": "weekly", "status": "active"},
			{"target_value": json.Number("100"), "baseline_value": json.Number("-1.5")},
		}},
		{resource.Milestone, []Record{
			{"roadmap_version": json.Number("3"), "milestone_key": "k", "title": "t", "phase": "p", "sequence": json.Number("1"), "status": "blocked", "rag_status": "GREEN", "owner_role": "o"},
			{"title": "u", "progress_pct": json.Number("50")},
		}},
	} {
		r, id := stored(row.of), ""
		for i, record := range row.records {
			before := read(r, id)
			if err := d.Write(t.Context(), by, func(tx *Tx) (err error) {
				var changed Object
				if i == 0 {
					changed, err = tx.Create(row.of, record)
				} else {
					changed, err = tx.Update(row.of, id, record)
				}
				id = changed.ID
				return err
			}); err != nil {
				t.Fatalf("%s %d: %v", r.Type, i, err)
			}
			want := string(difference(before, read(r, id)).Digested().AppendJSON(nil))
			got := want // nothing is audited if nothing differs
			if want != "{}" {
				err := d.Row(t.Context(), "SELECT event -> '$.metadata.changes' FROM audit_events ORDER BY seq DESC LIMIT 1").Scan(&got)
				if err != nil {
					t.Fatal(err)
				}
			}
			if got != want {
				t.Errorf("%s %d:\n got %s\nwant %s", r.Type, i, got, want)
			}
		}
	}
}
