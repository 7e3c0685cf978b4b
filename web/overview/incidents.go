package overview

import (
	"time"

	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/web/records"
	"govsvc/web/ui"
)

// openIncidentStatuses are the filter values for open incidents.
const openIncidentStatuses = "open,investigating,contained"

// incidentState summarises the incidents.
type incidentState struct {
	Open    int
	Levels  []countLink // by severity, highest first
	Clocks  []runningClock
	Running int // number of clocks
	More    int // clocks without a row
	Path    string
}

// countLink is a count with a link to what is counted.
type countLink struct {
	Value string
	Count int
	Path  string
}

// runningClock is an incident with a pending notification.
type runningClock struct {
	Title, Path      string
	Severity, Status string
	Deadline         string
	Left             string // time until the deadline
	Tone             string
	Overdue          bool
}

func incidentStateOf(state *api.IncidentState, now time.Time) *incidentState {
	if state == nil {
		return nil
	}
	summary := &incidentState{
		Open: state.Open, Running: state.Running, More: state.Running - len(state.Clocks),
		Path: records.ListWith(resource.Incident, "status", openIncidentStatuses),
	}
	for _, severity := range []string{"critical", "high", "medium", "low"} {
		if n := state.BySeverity[severity]; n > 0 {
			summary.Levels = append(summary.Levels, countLink{severity, n, records.ListWith(resource.Incident, "severity", severity, "status", openIncidentStatuses)})
		}
	}
	for _, c := range state.Clocks {
		clock := runningClock{
			Title: c.Title, Path: records.Path("incident", c.ID), Severity: c.Severity, Status: c.Status, Deadline: c.Deadline, Tone: "medium",
		}
		if deadline, _, ok := ui.ParseTime(c.Deadline); ok {
			left := deadline.Sub(now)
			clock.Overdue = left < 0
			clock.Left = ui.FormatTimeLeft(left)
			switch {
			case clock.Overdue:
				clock.Tone = "critical"
			case left < records.UrgentBefore:
				clock.Tone = "high"
			}
		}
		summary.Clocks = append(summary.Clocks, clock)
	}
	return summary
}

// Overdue counts the overdue clocks in the list.
func (s *incidentState) Overdue() (n int) {
	for _, c := range s.Clocks {
		if c.Overdue {
			n++
		}
	}
	return n
}
