package dashboard

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
	"govsvc/server/transfer"
)

// TestReportPlans checks that the parts of a report and of the summaries read along
// indexes.
func TestReportPlans(t *testing.T) {
	t.Parallel()
	path := testdb.EmptyFile(t)
	for _, row := range []struct {
		query string
		args  []any
		want  string
	}{
		{ratedRisks, []any{1, "", "HIGH", "LIKELY", 10}, "risks_open (org_id=? AND severity=? AND likelihood=?"},
		{ratingChanges, []any{"x", 1, ""}, "audit_events_by_resource (resource_id=?)"},
		{"SELECT id" + pendingClocks + " ORDER BY notification_deadline, seq LIMIT 6", []any{1}, "incidents_clocks (org_id=?)"},
		{"SELECT count(*) FROM " + addedSince("risks"), []any{1, ""}, "risks_by_created (org_id=? AND created_at>?)"},
		{"SELECT count(*) FROM " + addedSince("incidents"), []any{1, ""}, "incidents_by_created (org_id=? AND created_at>?)"},
		{currentSignals, []any{1, 50}, "signals_current (org_id=?)"},
		{signalHistory, []any{1, "x", 40}, "sqlite_autoindex_signals_2 (org_id=? AND signal_type=?)"},
	} {
		plan := testkit.ExplainSQL(t, path, row.query, row.args...)
		if !strings.Contains(plan, row.want) || strings.Contains(plan, "SCAN risks") || strings.Contains(plan, "SCAN incidents") {
			t.Errorf("%s\ngot the plan\n%s\nwant %s", row.query, plan, row.want)
		}
	}
}

// TestReadReport_Bounds checks that the lists of a report have few rows with many records,
// the gravest first.
func TestReadReport_Bounds(t *testing.T) {
	t.Parallel()
	store := testdb.Open(t, testdb.Options(testdb.EmptyFile(t)))
	org := testdb.DefaultOrg(t, store)
	severities, likelihoods := []string{"LOW", "MEDIUM", "HIGH", "CRITICAL"}, []string{"RARE", "UNLIKELY", "POSSIBLE", "LIKELY", "ALMOST_CERTAIN"}
	var statements []string
	at := db.Timestamp(store.Now().Add(-time.Hour))
	for i := range 200 {
		statements = append(statements,
			fmt.Sprintf(`INSERT INTO risks (org_id, id, risk_id, description, severity, likelihood, created_at, updated_at)
				VALUES (%d, 'r%d', 'RISK-%d', 'd', '%s', '%s', '%s', '%s')`, org.Org, i, i, severities[i%4], likelihoods[i%5], at, at),
			fmt.Sprintf(`INSERT INTO obligations (org_id, id, obligation_key, regime_id, regime_name, jurisdiction, title, priority_band, status, target_date, created_at, updated_at)
				VALUES (%d, 'o%d', 'O-%d', 'g%d', 'Regime', 'EU', 't', 'HIGH', 'in_progress', '2026-%02d-01', '%s', '%s')`, org.Org, i, i, i%60, i%12+1, at, at))
	}
	testkit.ExecSQL(t, store.File.Path(), statements...)
	got, err := ReadReport(t.Context(), store, org, "user", db.Timestamp(store.Now().Add(-24*time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.TopRisks) != reportRisks || got.AddedRisks != 200 || len(got.NewRisks) != reportNew || len(got.Deadlines) != reportDeadlines {
		t.Errorf("got %d top risks, %d added, %d new, %d deadlines", len(got.TopRisks), got.AddedRisks, len(got.NewRisks), len(got.Deadlines))
	}
	for _, risk := range append(got.TopRisks, got.NewRisks...) {
		if risk.Severity != "CRITICAL" || risk.Likelihood != "ALMOST_CERTAIN" || !risk.New {
			t.Errorf("got %+v, want new risks with the gravest rating", risk)
		}
	}
	if got.Deadlines[0].Due != "2026-01-01" {
		t.Errorf("the first deadline is %s, want the earliest", got.Deadlines[0].Due)
	}
}

// TestReadReport_Movement checks that a report knows the rating that a risk had before its
// first change in the period.
func TestReadReport_Movement(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(testkit.Start)
	path := testdb.EmptyFile(t)
	store := testdb.Open(t, db.Options{Path: path, Now: clock.Now})
	by, org := testdb.Operator(t, store), testdb.DefaultOrg(t, store)
	put := func(severity, likelihood string) {
		t.Helper()
		record := fmt.Sprintf(`{"object":"risk","risk_id":"RISK-A","description":"What may happen, and why.","severity":%q,"likelihood":%q,"status":"Open"}`, severity, likelihood)
		sources := []transfer.Source{transfer.Bytes("risk.ndjson", []byte(record))}
		if _, err := transfer.Import(t.Context(), store, testkit.Document(t), by, sources, transfer.Options{}); err != nil {
			t.Fatal(err)
		}
		clock.Advance(time.Hour)
	}
	put("MEDIUM", "RARE")
	since := db.Timestamp(clock.Now().Add(-time.Minute))
	put("HIGH", "RARE")
	put("CRITICAL", "LIKELY")
	got, err := ReadReport(t.Context(), store, org, "user", since)
	if err != nil || len(got.TopRisks) != 1 {
		t.Fatalf("got %+v, %v", got.TopRisks, err)
	}
	risk := got.TopRisks[0]
	if risk.New || risk.SeverityBefore != "MEDIUM" || risk.LikelihoodBefore != "RARE" || risk.Severity != "CRITICAL" {
		t.Errorf("got %+v", risk)
	}
	if got, err = ReadReport(t.Context(), store, org, "user", db.Timestamp(testkit.Start.Add(-time.Hour))); err != nil || !got.TopRisks[0].New {
		t.Errorf("before it was added: got %+v, %v", got.TopRisks, err)
	}
}
