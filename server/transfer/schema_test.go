package transfer_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/db/resource"
	"govsvc/internal/testkit"
)

// TestSchemas_FitTables compares the records in the OpenAPI document with the members
// that the store keeps. Both must have the same members.
func TestSchemas_FitTables(t *testing.T) {
	t.Parallel()
	s, d := newStore(t), testkit.Document(t)
	if diff := cmp.Diff(resource.Types(), d.RecordTypes()); diff != "" {
		t.Fatalf("types (-store +document):\n%s", diff)
	}
	// Members of a record that are not columns of its table.
	everywhere := []string{"object", "api_version"} // the type; ignored
	further := map[string][]string{
		"milestone":   {"roadmap_version"},                  // becomes roadmap_id
		"kpi_checkin": {"key_result_code", "key_result_id"}, // finds the key result; ignored
		"incident":    {"timeline"},                         // is stored in a separate table
		"risk":        {"severity_change_reason"},           // becomes evidence
		"link":        {"record_key", "other_key"},          // become record_id and other_id
	}
	// Columns that only the store uses.
	own := map[string][]string{
		"risk":   {"untreated_baseline"}, // set when the risk enters the register
		"signal": {"current"},            // marks the latest value
		"link":   {"record_id", "other_id"},
	}
	for _, object := range resource.Types() {
		kept := slices.DeleteFunc(s.RecordMembers(resource.Find(object)), func(member string) bool { return slices.Contains(own[object], member) })
		kept = slices.Concat(kept, everywhere, further[object])
		slices.Sort(kept)
		if diff := cmp.Diff(kept, d.Record(object).Members()); diff != "" {
			t.Errorf("%s (-store +document):\n%s", object, diff)
		}
	}
}

// TestSchemas_FitKeys compares the natural keys in the OpenAPI document with the keys by
// which the store finds a record. A record with a different key is a new record.
func TestSchemas_FitKeys(t *testing.T) {
	t.Parallel()
	want := map[string][]string{
		"assessment": {"completed_at"}, "risk": {"risk_id"}, "signal": {"signal_type"},
		"roadmap": {"version_number"}, "milestone": {"roadmap_version", "milestone_key"},
		"compliance_posture": {"version_number"}, "obligation": {"obligation_key"},
		"vendor_portfolio": {"version_number"}, "vendor": {"vendor_key"},
		"talent_readiness": {"version_number"}, "talent_gap": {"gap_key"},
		"kpi": {"code"}, "kpi_checkin": {"key_result_code", "period_start"}, "incident": {"id", "incident_key"},
		"link": {"record_type", "record_key", "other_type", "other_key"},
	}
	got := map[string][]string{}
	for _, object := range testkit.Document(t).RecordTypes() {
		got[object] = testkit.Document(t).RecordKey(object)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("natural keys (-contract +document):\n%s", diff)
	}
}
