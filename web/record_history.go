package web

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"govsvc/db/auth"
	"govsvc/server/api"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// change is an event of a record's history as its page shows it.
type change struct {
	At     string
	Who    string
	What   string
	Fields []fieldChange
	// Import is the name of the file that an import took the change from, and
	// ImportPath the event of that import; "" for none.
	Import, ImportPath string
}

// fieldChange is a member before and after.
type fieldChange struct{ Label, From, To string }

// changeLength bounds a value before or after in characters: whole texts stand
// in the record.
const changeLength = 240

// loadHistory is what the audit log tells of a record, newest first, or why it
// tells nothing.
func loadHistory(r *page.Request, n *noun, record api.Record) (changes []change, unknown string, err error) {
	events, err := api.History(r.Context(), r.Caller, n.object, ui.Text(record["id"]))
	var refused *api.Error
	switch {
	case errors.As(err, &refused) && refused.Code == api.TierRequired:
		return nil, "The audit log is not part of this organisation's plan.", nil
	case err != nil:
		return nil, "", err
	case len(events) == 0:
		return nil, "Nothing here yet. Imports by earlier versions were logged as a whole.", nil
	}
	names, err := actorsOf(r, events, actorOf)
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
				one.ImportPath = ui.WithQuery(auditPath, "resource_type", "import", "resource_id", id)
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
func fieldChanges(event api.AuditEvent) []fieldChange {
	list := changesOf(event)
	for _, name := range slices.Sorted(maps.Keys(event.Metadata)) {
		if said := event.Metadata[name]; name == "reason" && slices.ContainsFunc(event.Changes, func(c api.FieldChange) bool {
			return c.Field == reasonField && c.To == said
		}) {
			continue // it is the reason of the import, and among the changes
		}
		if name == "reason" || name == "severity_change_reason" {
			list = append(list, fieldChange{Label: "Reason", To: ui.Truncate(ui.Text(event.Metadata[name]), changeLength)})
		}
	}
	return list
}

// valueText is a value of a member in words. The audit log has a length and a
// digest of a long one.
func valueText(member string, value any) string {
	if long, ok := value.(map[string]any); ok && len(long) == 2 && long["length"] != nil && long["sha256"] != nil {
		return "Long text, " + ui.Text(long["length"]) + " bytes, SHA-256 " + ui.Text(long["sha256"])
	}
	said := ui.Text(value)
	if _, _, ok := ui.ParseTime(said); ok {
		return ui.FormatTime(said)
	}
	if slices.Contains(badges, member) || member == "likelihood" || member == "residual_severity" {
		said = ui.Humanize(said)
	}
	return ui.Truncate(said, changeLength)
}

// Actors names those whom the audit log knows by id: users, keys and the
// service itself.
func Actors(r *page.Request, list ...string) (map[string]string, error) {
	names := map[string]string{}
	for _, actor := range list {
		names[actor] = actor
	}
	if _, ok := names["system"]; ok {
		names["system"] = "Command line"
	}
	users, err := r.Auth.Users.List(r.Context(), r.Session.Organisation.Org)
	if err != nil {
		return nil, err
	}
	for _, user := range users {
		if _, ok := names[user.ID]; ok {
			names[user.ID] = user.Name
		}
	}
	isKey := func(actor string) bool { return strings.HasPrefix(actor, "key:") }
	if !slices.ContainsFunc(list, isKey) {
		return names, nil
	}
	keys, err := r.Store.Keys.List(r.Context(), r.Session.Organisation.Org)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if _, ok := names["key:"+key.ID]; ok {
			names["key:"+key.ID] = "Key " + key.Name
		}
	}
	return names, nil
}

// actorsOf names the actors of a list.
func actorsOf[T any](r *page.Request, list []T, actor func(T) string) (map[string]string, error) {
	all := make([]string, len(list))
	for i, one := range list {
		all[i] = actor(one)
	}
	return Actors(r, all...)
}

func actorOf(event api.AuditEvent) string { return event.Actor }
