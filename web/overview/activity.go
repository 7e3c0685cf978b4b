package overview

import (
	"strings"

	"govsvc/server/api"
	"govsvc/web/page"
	"govsvc/web/records"
	"govsvc/web/ui"
)

// activity is a recent change of records.
type activity struct {
	What, Path string
	Detail     string
	Actor      string
	At         string
}

// activities describes the latest changes.
func activities(r *page.Request, events []api.AuditEvent) ([]activity, error) {
	names, err := records.EventActors(r, events)
	if err != nil {
		return nil, err
	}
	var list []activity
	for _, event := range events {
		list = append(list, activity{
			What: actionText(event.Action), Path: records.Path(event.ResourceType, event.ResourceID), Detail: activityDetail(event),
			Actor: names[event.Actor], At: event.Time,
		})
	}
	return list, nil
}

// activityDetail names the changed fields of an event, or counts its records. It
// returns "" for new records.
func activityDetail(event api.AuditEvent) string {
	if count := event.Metadata["records"]; count != nil {
		return ui.Plural(count, "record", "records")
	}
	const most = 4
	var names []string
	for _, c := range event.Changes {
		if c.From != nil { // a new record has changes of all fields
			names = append(names, records.Label(c.Field))
		}
	}
	if more := len(names) - most; more > 0 {
		names = append(names[:most:most], ui.FormatNumber(more)+" more")
	}
	return strings.Join(names, ", ")
}

// actionText describes an action of the audit log: risk.updated, or api.write.risk
// for a write through the API.
func actionText(action string) string {
	if object, ok := strings.CutPrefix(action, "api.write."); ok {
		return ui.Humanize(object) + " written through the API"
	}
	return ui.Humanize(action)
}
