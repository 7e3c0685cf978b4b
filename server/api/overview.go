package api

import (
	"context"
	"slices"

	"govsvc/db/dashboard"
)

// OverviewPage is the state of an organisation at a glance. Attention reads what needs
// attention.
type OverviewPage struct {
	Assessments []Assessment // the latest 12, oldest first
	Risks       []RiskCount  // that are Open or InProgress, or were MovementDays ago
	OpenRisks   int
	// OpenBefore is the number of open risks MovementDays ago, if MovementKnown.
	OpenBefore    int
	MovementKnown bool
	Incidents     *IncidentState // nil if the plan has no incident command
	Kpis          []KpiState     // that are active: the newest 50, by code
	ActiveKpis    int
	Obligations   []RegimeCount // of the first 50 regimes, by id
	Phases        []PhaseState  // of the active roadmap, in their order
	Recent        []AuditEvent  // the latest 200 changes of records, newest first
}

// MovementDays is the number of days that the movement of risks covers.
const MovementDays = dashboard.MovementDays

// The parts of the overview; see package dashboard.
type (
	// Assessment is a completed assessment; nil is not known.
	Assessment = dashboard.Assessment
	// RiskCount is how many open risks have a severity and a likelihood, now and before.
	RiskCount = dashboard.RiskCount
	// IncidentState counts open incidents.
	IncidentState = dashboard.IncidentState
	// RegimeCount is how many obligations of a regime are in each status.
	RegimeCount = dashboard.RegimeCount
	// PhaseState is the progress of a phase of the roadmap.
	PhaseState = dashboard.PhaseState
	// RecordRef identifies a record.
	RecordRef = dashboard.RecordRef
)

// KpiState is a key result and how much of its target it has reached.
type KpiState struct {
	dashboard.KpiState
	Attainment *float64 // from 0 to 1; nil before it has a value
}

// Overview reads the state of the caller's organisation.
func Overview(ctx context.Context, c *Caller) (OverviewPage, error) {
	state, err := dashboard.ReadOverview(ctx, c.Store, c.Organisation, c.ActorID)
	if err != nil {
		return OverviewPage{}, err
	}
	page := OverviewPage{
		Assessments: state.Assessments, Risks: state.Risks, MovementKnown: state.MovementKnown, ActiveKpis: state.ActiveKpis,
		Obligations: state.Obligations, Phases: state.Phases,
	}
	for _, count := range state.Risks {
		page.OpenRisks += count.Count
		page.OpenBefore += count.Before
	}
	for _, k := range state.Kpis {
		page.Kpis = append(page.Kpis, attained(k))
	}
	if page.Recent, err = auditEvents(state.Recent); err != nil {
		return page, err
	}
	if c.permitFeature("incidents") == nil {
		page.Incidents = &state.Incidents
	} else {
		page.Recent = slices.DeleteFunc(page.Recent, func(e AuditEvent) bool { return e.ResourceType == "incident" })
	}
	return page, nil
}

// RecordNames returns the names of records of the caller's organisation. It leaves out
// records that do not exist.
func RecordNames(ctx context.Context, c *Caller, refs []RecordRef) (map[RecordRef]string, error) {
	return dashboard.RecordNames(ctx, c.Store, c.Organisation.Org, refs)
}

// attained adds to a key result how much of its target it has reached.
func attained(k dashboard.KpiState) KpiState {
	state := KpiState{KpiState: k}
	if share, known := attainedShare(k.Direction, k.Baseline, k.Target, k.Current); known {
		state.Attainment = &share
	}
	return state
}
