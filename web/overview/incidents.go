package overview

import (
	"strings"
	"time"

	"govsvc/server/api"
	"govsvc/web/page"
	"govsvc/web/records"
	"govsvc/web/ui"
)

// openIncidentStatuses are the values of the filter for open incidents.
const openIncidentStatuses = "open,investigating,contained"

// incidentState is what the overview says of incidents.
type incidentState struct {
	Open    int
	Levels  []countLink // by severity, the gravest first
	Clocks  []runningClock
	Running int // all clocks
	More    int // clocks that are not listed
	Path    string
}

// countLink is how many there are of a kind, and where they are.
type countLink struct {
	Value string
	Count int
	Path  string
}

// runningClock is an incident that an authority must be told of.
type runningClock struct {
	Title, Path      string
	Severity, Status string
	Deadline         string
	Left             string // in words
	Tone             string
	Overdue          bool
}

func incidentStateOf(state *api.IncidentState, now time.Time) *incidentState {
	if state == nil {
		return nil
	}
	list := records.ListPath("incident")
	shown := &incidentState{
		Open: state.Open, Running: state.Running, More: state.Running - len(state.Clocks),
		Path: ui.WithQuery(list, "status", openIncidentStatuses),
	}
	for _, severity := range []string{"critical", "high", "medium", "low"} {
		if n := state.BySeverity[severity]; n > 0 {
			shown.Levels = append(shown.Levels, countLink{severity, n, ui.WithQuery(list, "severity", severity, "status", openIncidentStatuses)})
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
		shown.Clocks = append(shown.Clocks, clock)
	}
	return shown
}

// Overdue counts the clocks that have run out, of those that are listed.
func (s *incidentState) Overdue() (n int) {
	for _, c := range s.Clocks {
		if c.Overdue {
			n++
		}
	}
	return n
}

// happening is a change of records as the overview tells it.
type happening struct {
	What, Path string
	Detail     string
	Who        string
	At         string
}

// activities are the latest changes.
func activities(r *page.Request, events []api.AuditEvent) ([]happening, error) {
	names, err := records.EventActors(r, events)
	if err != nil {
		return nil, err
	}
	var list []happening
	for _, event := range events {
		list = append(list, happening{
			What: happened(event.Action), Path: records.Path(event.ResourceType, event.ResourceID), Detail: detail(event),
			Who: names[event.Actor], At: event.Time,
		})
	}
	return list, nil
}

// detail says what an event was about, in a few words; "" if that is clear.
func detail(event api.AuditEvent) string {
	if records := event.Metadata["records"]; records != nil {
		return ui.Plural(records, "record", "records")
	}
	const most = 4
	var names []string
	for _, c := range event.Changes {
		if c.From != nil { // a record that is new has all of them
			names = append(names, records.Label(c.Field))
		}
	}
	if more := len(names) - most; more > 0 {
		names = append(names[:most:most], ui.FormatNumber(more)+" more")
	}
	return strings.Join(names, ", ")
}

// happened is an action of the audit log about a record: risk.updated, and
// api.write.risk where a program did it.
func happened(action string) string {
	if object, ok := strings.CutPrefix(action, "api.write."); ok {
		return ui.Humanize(object) + " written through the API"
	}
	return ui.Humanize(action)
}
