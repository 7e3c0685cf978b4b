package overview

import (
	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/web/records"
)

// openIncidentStatuses are the filter values for open incidents.
const openIncidentStatuses = "open,investigating,contained"

// incidentState counts the open incidents.
type incidentState struct {
	Open   int
	Levels []countLink // by severity, highest first
}

// countLink is a count with a link to what is counted.
type countLink struct {
	Value string
	Count int
	Path  string
}

func incidentStateOf(state *api.IncidentState) *incidentState {
	if state == nil {
		return nil
	}
	summary := &incidentState{Open: state.Open}
	for _, severity := range []string{"critical", "high", "medium", "low"} {
		if n := state.BySeverity[severity]; n > 0 {
			summary.Levels = append(summary.Levels, countLink{severity, n, records.ListWith(resource.Incident, "severity", severity, "status", openIncidentStatuses)})
		}
	}
	return summary
}
