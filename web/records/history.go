package records

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"govsvc/db"
	"govsvc/db/annotation"
	"govsvc/db/auth"
	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/server/openapi"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// change is an entry in the history of a record.
type change struct {
	At     string
	Actor  string
	Via    string // how the change was made, if not in the dashboard
	Action string
	Fields []FieldChange
	// Import is the name of the imported file that made the change. ImportPath is the
	// page of that import's audit event. Other changes have "".
	Import, ImportPath string
	// Other is the other record of a link; nil for other changes.
	Other *ui.Link

	members []api.FieldChange // with their values as stored
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
	}
	if res == resource.KPI {
		events = checkinsOf(events, ui.Text(record["code"]))
	}
	if len(events) == 0 {
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
	others, err := linkedRecords(r, ui.Text(record["id"]), events)
	if err != nil {
		return nil, "", err
	}
	for _, event := range events {
		one := change{
			At: event.Time, Actor: names[event.Actor], Via: viaText(event), Action: actionText(event),
			Fields: fieldChanges(event, r.Document.Fields(event.ResourceType)), Other: others[event.ID], members: event.Changes,
		}
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

// checkinsOf leaves out the check-ins of other KPIs, which the same request recorded.
func checkinsOf(events []api.AuditEvent, code string) []api.AuditEvent {
	return slices.DeleteFunc(events, func(event api.AuditEvent) bool {
		if event.ResourceType != resource.KPICheckin.Type || event.ResourceID != "" {
			return false
		}
		var own []api.FieldChange
		for _, one := range event.Changes { // by the code and the period
			if period, ok := strings.CutPrefix(one.Field, code+" "); ok {
				own = append(own, api.FieldChange{Field: period, From: one.From, To: one.To})
			}
		}
		copy(event.Changes, own)
		clear(event.Changes[len(own):])
		return len(own) == 0
	})
}

// linkedRecords returns the other record of each event about a link, by the id of the event.
func linkedRecords(r *page.Request, id string, events []api.AuditEvent) (map[string]*ui.Link, error) {
	service, others := annotation.New(r.Store), map[string]*ui.Link{}
	var ids []string
	for _, event := range events {
		if event.ResourceType == resource.Link.Type {
			ids = append(ids, event.ResourceID)
		}
	}
	ends, err := service.LinkEnds(r.Context(), r.Org(), ids)
	if err != nil {
		return nil, err
	}
	for _, event := range events {
		both, known := ends[event.ResourceID]
		if !known {
			continue
		}
		other := both[0]
		if other.ID == id {
			other = both[1]
		}
		if res := resource.Find(other.Type); res != nil && unavailable(r, res) != nil {
			others[event.ID] = &ui.Link{Label: typeLabel(other.Type)}
			continue
		}
		name, err := service.Find(r.Context(), r.Org(), other)
		if err != nil && !db.Is(err, db.NotFound) {
			return nil, err
		}
		others[event.ID] = &ui.Link{Label: typeLabel(other.Type) + " " + cmp.Or(name.Name, other.ID), Path: Path(other.Type, other.ID)}
	}
	return others, nil
}

// typeLabel returns the singular of a type of record, such as "talent gap".
func typeLabel(typeName string) string {
	if res := resource.Find(typeName); res != nil {
		return res.Singular
	}
	return strings.ToLower(ui.Humanize(typeName))
}

// viaText says how a change was made, if not in the dashboard.
func viaText(event api.AuditEvent) string {
	user := ui.Text(event.Metadata["os_user"])
	switch {
	case strings.HasPrefix(event.Action, "api."):
		return "API"
	case user != "":
		return "system user " + user
	}
	return ""
}

// historyValue formats a value before or after a change.
func historyValue(field openapi.Field, name string, value any) string {
	kind := kindOf(field)
	switch list, isList := value.([]any); {
	case value == nil:
		return ""
	case isList && field.Items != nil:
		return ui.Plural(len(list), "entry", "entries")
	case kind == ui.Number:
		return ui.FormatNumber(value)
	case kind == ui.Percent && field.Type != "object":
		return ui.FormatNumber(cellValue(field, map[string]any{field.Name: value})) + "\u00a0%"
	case len(field.Enum) > 0:
		return ui.Humanize(value)
	}
	return ValueText(name, value)
}

// actionTexts are the actions that have words of their own.
var actionTexts = map[string]string{
	"link.created": "Linked to", "link.removed": "Unlinked from",
	"comment.created": "Commented", "comment.removed": "Comment removed",
	"attachment.created": "File attached", "attachment.removed": "File removed",
	"kpi_checkin.created": "Check-in created", "kpi_checkin.updated": "Check-in updated",
}

// actionText describes an event about one record: risk.updated, or api.write.risk for a
// write through the API.
func actionText(event api.AuditEvent) string {
	object, verb, _ := strings.Cut(event.Action, ".")
	if written, ok := strings.CutPrefix(event.Action, "api.write."); ok {
		object, verb = written, map[string]string{"create": "created", "update": "updated"}[ui.Text(event.Metadata["operation"])]
		verb = cmp.Or(verb, "updated")
	}
	return cmp.Or(actionTexts[object+"."+verb], ui.Humanize(verb))
}

// fieldChanges returns the changed members of an event, and the reason. Events about links
// and the archive have none that their action does not say. People do not read ids.
func fieldChanges(event api.AuditEvent, fields []openapi.Field) []FieldChange {
	var list []FieldChange
	for _, c := range event.Changes {
		if event.ResourceType == resource.Link.Type || c.Field == "archived" || c.From == nil && c.To == nil ||
			uuid.MatchString(ui.Text(c.From)) || uuid.MatchString(ui.Text(c.To)) {
			continue
		}
		if _, day, ok := ui.ParseTime(c.Field); ok && day { // see checkinsOf
			list = append(list, FieldChange{"Period from " + ui.FormatTime(c.Field), ui.FormatNumber(c.From), ui.FormatNumber(c.To)})
			continue
		}
		var field openapi.Field
		if at := slices.IndexFunc(fields, func(f openapi.Field) bool { return f.Name == c.Field }); at >= 0 {
			field = fields[at]
		}
		list = append(list, FieldChange{Label(c.Field), historyValue(field, c.Field, c.From), historyValue(field, c.Field, c.To)})
	}
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
