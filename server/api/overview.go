package api

import (
	"context"
	"slices"

	"govsvc/db/dashboard"
)

// OverviewPage is the state of an organisation at a glance.
type OverviewPage struct {
	Latest      *Assessment  // nil before the first
	Assessments []Assessment // the latest 12, oldest first
	Risks       []RiskCount  // that are Open or InProgress
	OpenRisks   int
	Incidents   *IncidentState // nil if the plan has no incident command
	Kpis        []KpiState     // that are active: the newest 50, by code
	ActiveKpis  int
	Obligations []RegimeCount // of the first 50 regimes, by id
	Vendors     []BandCount   // that are not exited, gravest first
	Renewals    []Renewal     // contracts that end within 90 days, soonest first, at most 10
	RenewalsDue int           // all of them
	Recent      []AuditEvent  // the latest 15 changes of records, newest first
}

// The parts of the overview; see package db.
type (
	// Assessment is a completed assessment; nil is not known.
	Assessment = dashboard.Assessment
	// RiskCount is how many open risks have a severity and a likelihood.
	RiskCount = dashboard.RiskCount
	// IncidentState is about open incidents and running clocks.
	IncidentState = dashboard.IncidentState
	// IncidentClock is an incident whose authority waits for a notification.
	IncidentClock = dashboard.IncidentClock
	// RegimeCount is how many obligations of a regime are in each status.
	RegimeCount = dashboard.RegimeCount
	// BandCount is how many vendors are in a risk band.
	BandCount = dashboard.BandCount
	// Renewal is a vendor whose contract ends soon.
	Renewal = dashboard.Renewal
)

// KpiState is a key result and how much of its target it has reached.
type KpiState struct {
	dashboard.KpiState
	Attainment *float64 // from 0 to 1; nil before it has a value
}

// recentEvents is how many audit events the overview shows.
const recentEvents = 15

// Overview reads the state of the caller's organisation.
func Overview(ctx context.Context, c *Caller) (OverviewPage, error) {
	state, err := dashboard.ReadOverview(ctx, c.Store, c.Organisation, c.ActorID)
	if err != nil {
		return OverviewPage{}, err
	}
	page := OverviewPage{
		Assessments: state.Assessments, Risks: state.Risks, ActiveKpis: state.ActiveKpis,
		Obligations: state.Obligations, Vendors: state.Vendors, Renewals: state.Renewals, RenewalsDue: state.RenewalsDue,
	}
	if n := len(state.Assessments); n > 0 {
		page.Latest = &state.Assessments[n-1]
	}
	for _, count := range state.Risks {
		page.OpenRisks += count.Count
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
	page.Recent = page.Recent[:min(len(page.Recent), recentEvents)]
	return page, nil
}

// attained adds to a key result how much of its target it has reached.
func attained(k dashboard.KpiState) KpiState {
	state := KpiState{KpiState: k}
	if share, known := attainedShare(k.Direction, k.Baseline, k.Target, k.Current); known {
		state.Attainment = &share
	}
	return state
}
