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

// change is an event of a record's history as its page shows it.
type change struct {
	At     string
	Who    string
	What   string
	Fields []FieldChange
	// Import is the name of the file that an import took the change from, and
	// ImportPath the event of that import; "" for none.
	Import, ImportPath string
}

// loadHistory is what the audit log tells of a record, newest first, or why it
// tells nothing.
func loadHistory(r *page.Request, res *resource.Resource, record api.Record) (changes []change, unknown string, err error) {
	events, err := api.History(r.Context(), r.Caller, res.Type, ui.Text(record["id"]))
	var refused *api.Error
	switch {
	case errors.As(err, &refused) && refused.Code == api.TierRequired:
		return nil, "The audit log is not part of this organisation's plan.", nil
	case err != nil:
		return nil, "", err
	case len(events) == 0:
		return nil, "Nothing here yet. Imports by earlier versions were logged as a whole.", nil
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
		one := change{At: event.Time, Who: names[event.Actor], What: deed(event.Action), Fields: fieldChanges(event)}
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

// deed is an action of the audit log about one record: risk.updated, and
// api.write.risk where a program did it.
func deed(action string) string {
	if object, ok := strings.CutPrefix(action, "api.write."); ok {
		return "Written through the API (" + strings.ReplaceAll(object, "_", " ") + ")"
	}
	object, verb, _ := strings.Cut(action, ".")
	if object == "kpi_checkin" {
		return "Check-in " + strings.ToLower(ui.Humanize(verb))
	}
	return ui.Humanize(verb)
}

// fieldChanges are the members that an event changed, and why.
func fieldChanges(event api.AuditEvent) []FieldChange {
	list := Changes(event)
	for _, name := range slices.Sorted(maps.Keys(event.Metadata)) {
		if said := event.Metadata[name]; name == "reason" && slices.ContainsFunc(event.Changes, func(c api.FieldChange) bool {
			return c.Field == ReasonField && c.To == said
		}) {
			continue // it is the reason of the import, and among the changes
		}
		if name == "reason" || name == "severity_change_reason" {
			list = append(list, FieldChange{Label: "Reason", To: ui.Truncate(ui.Text(event.Metadata[name]), MaxValueLength)})
		}
	}
	return list
}
