package records

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"govsvc/db/auth"
	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// change is an entry in the history of a record.
type change struct {
	At     string
	Actor  string
	Action string
	Fields []FieldChange
	// Import is the name of the imported file that made the change. ImportPath is the
	// page of that import's audit event. Other changes have "".
	Import, ImportPath string
}

// loadHistory reads the changes of a record from the audit log, newest first. If there
// are none, message explains why.
func loadHistory(r *page.Request, res *resource.Resource, record api.Record) (changes []change, message string, err error) {
	events, err := api.History(r.Context(), r.Caller, res.Type, ui.Text(record["id"]))
	var refused *api.Error
	switch {
	case errors.As(err, &refused) && refused.Code == api.TierRequired:
		return nil, "The audit log is not part of this organisation's plan.", nil
	case err != nil:
		return nil, "", err
	case len(events) == 0:
		return nil, "No changes recorded. Earlier versions of the program recorded an import as one event.", nil
	}
	names, err := EventActors(r, events)
	if err != nil {
		return nil, "", err
	}
	files, err := api.ImportFiles(r.Context(), r.Caller, events)
	if err != nil {
		return nil, "", err
	}
	for _, event := range events {
		one := change{At: event.Time, Actor: names[event.Actor], Action: actionText(event.Action), Fields: fieldChanges(event)}
		if id := ui.Text(event.Metadata["import_id"]); id != "" {
			one.Import = cmp.Or(files[id], "a file")
			if r.May(auth.ReadOversight) {
				one.ImportPath = ui.WithQuery("/audit", "resource_type", "import", "resource_id", id)
			}
		}
		changes = append(changes, one)
	}
	return changes, "", nil
}

// actionText describes an action of the audit log about one record: risk.updated, or
// api.write.risk for a write through the API.
func actionText(action string) string {
	if object, ok := strings.CutPrefix(action, "api.write."); ok {
		return "Written through the API (" + strings.ReplaceAll(object, "_", " ") + ")"
	}
	object, verb, _ := strings.Cut(action, ".")
	if object == "kpi_checkin" {
		return "Check-in " + strings.ToLower(ui.Humanize(verb))
	}
	return ui.Humanize(verb)
}

// fieldChanges returns the changed members of an event, and the reason.
func fieldChanges(event api.AuditEvent) []FieldChange {
	list := Changes(event)
	for _, name := range slices.Sorted(maps.Keys(event.Metadata)) {
		if reason := event.Metadata[name]; name == "reason" && slices.ContainsFunc(event.Changes, func(c api.FieldChange) bool {
			return c.Field == ReasonField && c.To == reason
		}) {
			continue // an import also lists its reason as a changed member
		}
		if name == "reason" || name == "severity_change_reason" {
			list = append(list, FieldChange{Label: "Reason", To: ui.Truncate(ui.Text(event.Metadata[name]), MaxValueLength)})
		}
	}
	return list
}
