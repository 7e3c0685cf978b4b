package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/report"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

func TestSave(t *testing.T) {
	t.Parallel()
	store := testdb.Open(t, testdb.Options(testdb.EmptyFile(t)))
	by, service := testdb.Operator(t, store), report.New(store)
	score, open := 71.3, 4
	figures := report.Figures{Verdict: "OPTIMIZATION", OverallScore: &score, OpenRisks: 29, OpenIncidents: &open, KpisOnTarget: 3, ActiveKpis: 8}
	first, err := service.Save(t.Context(), by, " Board, October ", figures)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := service.Save(t.Context(), by, "Board, November", report.Figures{}); err != nil {
		t.Fatal(err)
	}
	all, err := service.List(t.Context(), by.Org)
	if err != nil || len(all) != 2 || all[0].Title != "Board, November" || all[1].Title != "Board, October" {
		t.Fatalf("got %+v, %v", all, err)
	}
	found, err := service.Find(t.Context(), by.Org, first)
	if err != nil || found.At == "" || found.By != by.ID {
		t.Errorf("got %+v, %v", found, err)
	}
	if diff := cmp.Diff(figures, found.Figures); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
	if _, err := service.Find(t.Context(), by.Org, "none"); !db.Is(err, db.NotFound) {
		t.Errorf("an unknown report: got %v", err)
	}
	other, err := store.Orgs.Create(t.Context(), by, "other", db.Business)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := service.Find(t.Context(), other.Org, first); !db.Is(err, db.NotFound) {
		t.Errorf("the report of another organisation: got %v", err)
	}
	events := testkit.QuerySQL(t, store.File.Path(), "SELECT event -> '$.metadata.changes' FROM audit_events WHERE action = 'report.saved' AND resource_id = '"+first+"'")
	if len(events) != 1 || !strings.Contains(events[0], `"title":{"from":null,"to":"Board, October"}`) || !strings.Contains(events[0], `"open_risks":{"from":null,"to":29}`) {
		t.Errorf("got the events %v", events)
	}
}

func TestSave_Bounds(t *testing.T) {
	t.Parallel()
	store := testdb.Open(t, testdb.Options(testdb.EmptyFile(t)))
	by, service := testdb.Operator(t, store), report.New(store)
	for _, row := range []struct {
		title string
		code  db.Code
	}{
		{" ", db.Invalid},
		{"two\nlines", db.Invalid},
		{"a\x00", db.Invalid},
		{"\xff", db.Invalid},
		{strings.Repeat("é", report.MaxTitle+1), db.Invalid},
	} {
		if _, err := service.Save(t.Context(), by, row.title, report.Figures{}); !db.Is(err, row.code) {
			t.Errorf("%q: got %v", row.title, err)
		}
	}
	if _, err := service.Save(t.Context(), by, strings.Repeat("é", report.MaxTitle), report.Figures{}); err != nil {
		t.Error(err)
	}
	testkit.ExecSQL(t, store.File.Path(), fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO saved_reports (org_id, id, title, figures, saved_at, saved_by) SELECT %d, 'r' || i, 't', '{}', '2026-10-01T12:00:00.000Z', 'system' FROM n`,
		report.MaxReports-1, by.Org))
	if _, err := service.Save(t.Context(), by, "One more", report.Figures{}); !db.Is(err, db.Conflict) {
		t.Errorf("beyond the limit: got %v", err)
	}
	if all, err := service.List(t.Context(), by.Org); err != nil || len(all) != report.Listed {
		t.Errorf("got %d reports, want %d (%v)", len(all), report.Listed, err)
	}
}

// TestListPlan checks that the list reads along its index.
func TestListPlan(t *testing.T) {
	t.Parallel()
	testkit.CheckPlan(t, testdb.EmptyFile(t), "saved_reports_by_org (org_id=?)",
		"SELECT id FROM saved_reports WHERE org_id = ? ORDER BY seq DESC LIMIT ?", 1, 50)
}
