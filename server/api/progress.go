package api

import (
	"context"

	"govsvc/db/dashboard"
)

// The parts of the summaries above lists; see package dashboard.
type (
	// Compliance is the progress of the obligations, and the next deadlines.
	Compliance = dashboard.Compliance
	// TimelinePhase is a phase of the active roadmap with its milestones.
	TimelinePhase = dashboard.TimelinePhase
	// SignalHistory is the latest values of a type of signal.
	SignalHistory = dashboard.SignalHistory
)

// ReadCompliance reads the progress of the caller's obligations.
func ReadCompliance(ctx context.Context, c *Caller) (Compliance, error) {
	return dashboard.ReadCompliance(ctx, c.Store, c.Organisation, c.ActorID)
}

// ReadTimeline reads the phases of the caller's active roadmap.
func ReadTimeline(ctx context.Context, c *Caller) ([]TimelinePhase, error) {
	return dashboard.ReadTimeline(ctx, c.Store, c.Organisation, c.ActorID)
}

// AssessmentHistory reads the caller's latest assessments, oldest first.
func AssessmentHistory(ctx context.Context, c *Caller) ([]Assessment, error) {
	return dashboard.AssessmentHistory(ctx, c.Store, c.Organisation)
}

// ReadSignalHistory reads the latest values of a type of the caller's signals or, with "",
// of the first types.
func ReadSignalHistory(ctx context.Context, c *Caller, signalType string) ([]SignalHistory, error) {
	return dashboard.ReadSignalHistory(ctx, c.Store, c.Organisation, c.ActorID, signalType)
}
