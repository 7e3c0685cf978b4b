package transfer_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/server/transfer"
)

func unchanged(t *testing.T, report transfer.Report) {
	t.Helper()
	if report.Records == 0 {
		t.Error("nothing was read")
	}
	for _, c := range report.Types {
		if c.Created+c.Updated > 0 {
			t.Errorf("%s: %d created, %d updated by a second import of the same", c.Type, c.Created, c.Updated)
		}
	}
}

func TestRoundTrip_Files(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"fixtures.ndjson", "demo.ndjson"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			roundTrip(t, transfer.Bytes(name, sandboxFile(t, name)))
		})
	}
}

// TestRoundTrip_FewRecords imports records with only their required members.
func TestRoundTrip_FewRecords(t *testing.T) {
	t.Parallel()
	roundTrip(t, lines(
		`{"object":"score","methodology_version":"1","completed_at":"2026-01-01T00:00:00Z"}`,
		good, anyRoadmap, milestone(""), anyKPI, posture(1, "COMPLIANT", ""),
		`{"object":"kpi_checkin","key_result_code":"K","period_start":"2026-01-01","value":1}`,
		`{"object":"incident","id":"01993e0a-52c0-7c3e-9d2b-000000000001","title":"no key"}`,
		`{"object":"incident","incident_key":"I","title":"no actor","timeline":[{"at":"2026-01-01T00:00:00Z","status":"open"}]}`,
	))
}

// roundTrip imports a source twice. It then imports the export into another file and
// into the same file.
func roundTrip(t *testing.T, source transfer.Source) {
	t.Helper()
	first, second := newStore(t), newStore(t)
	if report, err := first.try(transfer.Options{}, source); err != nil {
		t.Fatal(err, report.Errors)
	}
	exported, events := first.export(), len(first.events())

	again, err := first.try(transfer.Options{}, source)
	if err != nil {
		t.Fatal(err)
	}
	unchanged(t, again)
	unchanged(t, first.put(exported))
	if diff := cmp.Diff(exported, first.export()); diff != "" {
		t.Errorf("a second import of the same changed (-before +after):\n%s", diff)
	}
	if after := len(first.events()); after != events {
		t.Errorf("%d events were enqueued by second imports of the same", after-events)
	}

	array, third := first.exportAs(transfer.JSON), newStore(t)
	if _, err := third.try(transfer.Options{}, transfer.Bytes("x.json", []byte(array))); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(array, third.exportAs(transfer.JSON)); diff != "" {
		t.Errorf("the array of an imported array differs (-array +its array):\n%s", diff)
	}

	second.put(exported)
	if diff := cmp.Diff(exported, second.export()); diff != "" {
		t.Errorf("the export of an imported export differs (-export +its export):\n%s", diff)
	}
	unchanged(t, second.put(exported))
}
