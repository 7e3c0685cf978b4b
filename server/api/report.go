package api

import (
	"context"
	"time"

	"govsvc/db"
	"govsvc/db/dashboard"
)

// BoardReport is what a board report shows.
type BoardReport struct {
	OverviewPage
	dashboard.Report
}

// The parts of a board report; see package dashboard.
type (
	// TopRisk is a risk of a report.
	TopRisk = dashboard.TopRisk
	// ReportIncident is an incident of a report.
	ReportIncident = dashboard.ReportIncident
	// ReportDeadline is an open obligation with a due date.
	ReportDeadline = dashboard.ReportDeadline
)

// ReadBoardReport reads the state of the caller's organisation, and what has changed since
// an instant. It leaves out incidents if the plan does not include them.
func ReadBoardReport(ctx context.Context, c *Caller, since time.Time) (BoardReport, error) {
	var report BoardReport
	var err error
	if report.OverviewPage, err = Overview(ctx, c); err != nil {
		return report, err
	}
	report.Report, err = dashboard.ReadReport(ctx, c.Store, c.Organisation, c.ActorID, db.Timestamp(since))
	if report.Incidents == nil {
		report.Clocks, report.NewIncidents = nil, nil
		report.PendingClocks, report.OverdueClocks, report.AddedIncidents = 0, 0, 0
	}
	return report, err
}
