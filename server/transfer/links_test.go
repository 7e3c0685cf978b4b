package transfer_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/server/transfer"
)

// TestImport_Links imports links together with the records that they join. A link is found
// again in either order of its records, and errors name the line and the member.
func TestImport_Links(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	one := `{"object":"link","record_type":"vendor","record_key":"V","other_type":"risk","other_key":"R-1"}`
	s.put(
		`{"object":"risk","risk_id":"R-1","description":"d"}`,
		`{"object":"vendor","vendor_key":"V","vendor_name":"n","category":"c","initial_risk_band":"LOW"}`, one,
		`{"object":"risk","risk_id":"R-2","description":"d"}`,
		`{"object":"link","record_type":"risk","record_key":"R-2","other_type":"vendor","other_key":"V"}`,
	)
	unchanged(t, s.put(`{"object":"link","record_type":"risk","record_key":"R-1","other_type":"vendor","other_key":"V"}`))
	s.put(`{"object":"risk","risk_id":"R-1","description":"changed"}`)
	if got := strings.Join(s.query("SELECT record ->> 'record_key' || ' ' || (record ->> 'other_key') FROM link_records ORDER BY 1"), ", "); got != "R-1 V, R-2 V" {
		t.Errorf("got the links %s", got)
	}
	report, err := s.try(transfer.Options{}, lines(one, `{"object":"link","record_type":"risk","record_key":"R-1","other_type":"vendor","other_key":"V"}`,
		`{"object":"link","record_type":"risk","record_key":"R-9","other_type":"vendor","other_key":"V"}`,
		`{"object":"link","record_type":"signal","record_key":"S","other_type":"vendor","other_key":"V"}`))
	var got []string
	for _, fault := range report.Errors {
		got = append(got, fault.String())
	}
	want := []string{
		`records.ndjson, line 2: repeats line 1: both have the same natural key, so keep one of them`,
		`records.ndjson, line 3: there is no risk with the key "R-9"; import it first`,
		`records.ndjson, line 4: record_type must be one of risk, incident, vendor, obligation, kpi, milestone, talent_gap`,
	}
	if diff := cmp.Diff(want, got); diff != "" || err == nil {
		t.Errorf("errors (-want +got):\n%s%v", diff, err)
	}
}
