package db

import (
	"fmt"
	"testing"

	"govsvc/db/audit"
)

// TestPut_ManyMemberSets imports records with every combination of some members. The
// number of stored sets of columns is limited.
func TestPut_ManyMemberSets(t *testing.T) {
	t.Parallel()
	d, org := opened(t)
	members := []string{
		"dimension", "financial_exposure_max", "financial_exposure_min", "likelihood", "mitigation_action",
		"owner_name", "residual_gap_reason", "residual_severity", "severity", "target_date", "title",
	}
	err := d.Write(t.Context(), Actor{Org: org.Org, ID: "system"}, func(tx *Tx) error {
		for choice := range 1 << len(members) {
			r := Record{"risk_id": fmt.Sprint("R-", choice), "description": "d"}
			for n, member := range members {
				if choice>>n&1 == 1 {
					r[member] = nil
				}
			}
			if made, err := tx.Put("risk", r); err != nil || made != Created {
				return fmt.Errorf("%v: %v, %w", r, made, err)
			}
		}
		return tx.Audit(audit.Event{Action: "test", Category: audit.DataChange, Severity: audit.SeverityWrite})
	})
	if err != nil {
		t.Fatal(err)
	}
	if sets := len(d.columnSets); sets > maxColumnSets {
		t.Errorf("got %d sets of columns, want at most %d", sets, maxColumnSets)
	}
}
