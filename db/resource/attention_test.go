package resource_test

import (
	"testing"
	"time"

	"govsvc/db/resource"
)

// TestDueOf checks which records are open and by when their task is due.
func TestDueOf(t *testing.T) {
	t.Parallel()
	type record = map[string]any
	for _, row := range []struct {
		name   string
		of     *resource.Resource
		record record
		want   string
	}{
		{"open risk", resource.Risk, record{"status": "InProgress", "target_date": "2026-09-30"}, "2026-09-30"},
		{"closed risk", resource.Risk, record{"status": "Accepted", "target_date": "2026-09-30"}, ""},
		{"risk without a date", resource.Risk, record{"status": "Open", "target_date": nil}, ""},
		{"clock", resource.Incident, record{"status": "resolved", "notification_required": true, "notification_deadline": "2026-10-01T12:00:00.000Z"}, "2026-10-01T12:00:00.000Z"},
		{"no notification required", resource.Incident, record{"status": "open", "notification_required": false, "notification_deadline": "2026-10-01T12:00:00.000Z"}, ""},
		{"notified", resource.Incident, record{"status": "open", "notification_required": true, "notification_deadline": "2026-10-01T12:00:00.000Z", "notified_at": "2026-09-30T12:00:00.000Z"}, ""},
		{"closed incident", resource.Incident, record{"status": "closed", "notification_required": true, "notification_deadline": "2026-10-01T12:00:00.000Z"}, ""},
		{"obligation at risk", resource.Obligation, record{"status": "at_risk", "target_date": "2026-12-01"}, "2026-12-01"},
		{"milestone", resource.Milestone, record{"status": "blocked", "target_date": "2026-12-01"}, "2026-12-01"},
		{"blocked vendor", resource.Vendor, record{"status": "blocked", "contract_end": "2027-01-01"}, "2027-01-01"},
		{"exited vendor", resource.Vendor, record{"status": "exited", "contract_end": "2027-01-01"}, ""},
		{"deferred gap", resource.TalentGap, record{"status": "deferred", "target_date": "2026-12-01"}, ""},
		{"weekly KPI", resource.KPI, record{"status": "active", "measurement_frequency": "weekly", "current_as_of": "2026-11-09T00:00:00.000Z"}, "2026-11-29"},
		{"weekly KPI with a value of a Sunday", resource.KPI, record{"status": "active", "measurement_frequency": "weekly", "current_as_of": "2026-11-15T00:00:00.000Z"}, "2026-11-29"},
		{"monthly KPI", resource.KPI, record{"status": "active", "measurement_frequency": "monthly", "current_as_of": "2026-10-01T00:00:00.000Z"}, "2026-12-07"},
		{"quarterly KPI", resource.KPI, record{"status": "active", "measurement_frequency": "quarterly", "current_as_of": "2026-09-12T00:00:00.000Z"}, "2027-01-07"},
		{"annual KPI", resource.KPI, record{"status": "active", "measurement_frequency": "annual", "current_as_of": "2026-01-01T00:00:00.000Z"}, "2028-01-07"},
		{"KPI without a value", resource.KPI, record{"status": "active", "measurement_frequency": "monthly", "created_at": "2026-10-31T23:59:59.999Z"}, "2026-11-07"},
		{"retired KPI", resource.KPI, record{"status": "retired", "measurement_frequency": "monthly", "created_at": "2026-10-31T23:59:59.999Z"}, ""},
		{"signal", resource.Signal, record{"rag": "RED"}, ""},
	} {
		if got := row.of.DueOf(row.record); got != row.want {
			t.Errorf("%s: got due %q, want %q", row.name, got, row.want)
		}
	}
}

// TestIsOverdue checks that a day has passed at the next midnight in UTC, and an instant
// at once.
func TestIsOverdue(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	for due, want := range map[string]bool{
		"": false, "2026-09-30": true, "2026-10-01": false, "2026-10-02": false, "soon": false,
		"2026-10-01T11:59:59.999Z": true, "2026-10-01T12:00:00.000Z": false, "2026-10-01T12:30:00+01:00": true,
	} {
		if got := resource.IsOverdue(due, now); got != want {
			t.Errorf("%q: got overdue %v, want %v", due, got, want)
		}
	}
}

// TestEndedPeriod checks which period the form of a check-in offers.
func TestEndedPeriod(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	for _, row := range []struct{ frequency, asOf, createdAt, want string }{
		{"monthly", "2026-07-01T00:00:00.000Z", "", "2026-08-01"},
		{"monthly", "2026-08-01T00:00:00.000Z", "", "2026-09-01"},
		{"monthly", "2026-09-01T00:00:00.000Z", "", ""},
		{"monthly", "", "2026-09-12T00:00:00.000Z", "2026-09-01"},
		{"weekly", "2026-09-14T00:00:00.000Z", "", "2026-09-21"},
		{"weekly", "2026-09-21T00:00:00.000Z", "", ""},
		{"quarterly", "2026-04-01T00:00:00.000Z", "", "2026-07-01"},
		{"annual", "2024-01-01T00:00:00.000Z", "", "2025-01-01"},
		{"daily", "2026-07-01T00:00:00.000Z", "", ""},
		{"monthly", "", "", ""},
	} {
		if got := resource.EndedPeriod(row.frequency, row.asOf, row.createdAt, now); got != row.want {
			t.Errorf("%+v: got period %q", row, got)
		}
	}
}
