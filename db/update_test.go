package db

import (
	"strings"
	"testing"

	"govsvc/db/resource"
)

// TestUpdate_Selects counts how often a change of a record reads its row: once
// before the change, and once after it, since SQLite computes the JSON.
func TestUpdate_Selects(t *testing.T) {
	t.Parallel()
	d, org := opened(t)
	by := Actor{Org: org.Org, ID: "ada", API: true}
	write := func(change func(*Tx) error) {
		t.Helper()
		if err := d.Write(t.Context(), by, change); err != nil {
			t.Fatal(err)
		}
	}
	write(func(tx *Tx) error {
		for object, record := range map[string]Record{
			"risk":     {"id": "r", "risk_id": "R", "description": "d", "severity": "HIGH", "likelihood": "RARE"},
			"incident": {"id": "i", "incident_key": "I", "title": "t"},
			"vendor":   {"id": "v", "vendor_key": "V", "vendor_name": "n", "category": "c", "initial_risk_band": "LOW"},
		} {
			if _, err := tx.Put(object, record); err != nil {
				return err
			}
		}
		_, _, err := tx.CreateSubscription(Record{"url": "https://example.com/hook", "event_types": []any{}})
		return err
	})
	reason := "A reason of at least twenty characters"
	for _, row := range []struct {
		name, table string
		most        int
		change      func(*Tx) error
	}{
		{"a risk", "risk", 2, func(tx *Tx) error { _, err := tx.Update(resource.Risk, "r", Record{"title": "x"}); return err }},
		{"a risk that is re-rated", "risk", 2, func(tx *Tx) error {
			_, err := tx.Update(resource.Risk, "r", Record{"severity": "LOW", "severity_change_reason": reason})
			return err
		}},
		{"an incident", "incident", 2, func(tx *Tx) error {
			_, err := tx.Update(resource.Incident, "i", Record{"status": "contained"})
			return err
		}},
		{"an incident's clock", "incident", 2, func(tx *Tx) error {
			_, err := tx.Update(resource.Incident, "i", Record{"notification_required": true})
			return err
		}},
		{"a vendor", "vendor", 2, func(tx *Tx) error { _, err := tx.Update(resource.Vendor, "v", Record{"notes": "x"}); return err }},
		{"a new risk", "risk", 1, func(tx *Tx) error { _, err := tx.Create(resource.Risk, Record{"description": "d"}); return err }},
		{"a new incident", "incident", 2, func(tx *Tx) error {
			_, err := tx.Create(resource.Incident, Record{"title": "t", "notification_required": true})
			return err
		}},
	} {
		var selects []string
		d.engine.TraceWrites(func(query string) {
			if strings.HasPrefix(query, "SELECT ") && strings.Contains(query, " FROM "+row.table) {
				selects = append(selects, query)
			}
		})
		write(row.change)
		d.engine.TraceWrites(nil)
		t.Logf("%s: %d", row.name, len(selects))
		if len(selects) > row.most {
			t.Errorf("%s: %d selects, want %d:\n%s", row.name, len(selects), row.most, strings.Join(selects, "\n"))
		}
	}
}
