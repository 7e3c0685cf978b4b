package records

import (
	"cmp"

	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// SubjectNames returns the names of what events are about, with one query for each type.
// It includes records, keys and users that were removed. Subjects without a known name
// are left out.
func SubjectNames(r *page.Request, events []api.AuditEvent) (map[api.Subject]string, error) {
	var subjects []api.Subject
	for _, event := range events {
		subjects = append(subjects, SubjectOf(event))
	}
	found, err := api.SubjectNames(r.Context(), r.Caller, subjects)
	if err != nil {
		return nil, err
	}
	names := map[api.Subject]string{}
	for subject, record := range found {
		name := ui.Text(record["name"])
		if res := resource.Find(subject.Type); res != nil && res.Page != nil {
			name = titleOf(res, record)
		} else if period := ui.Text(record["period_start"]); period != "" {
			name += ", " + ui.FormatDay(period)
		}
		names[subject] = ui.Truncate(name, MaxValueLength)
	}
	for _, event := range events {
		if name := linkName(event); name != "" {
			names[SubjectOf(event)] = name
		}
	}
	return names, nil
}

// linkName names the two records of a link that an event added or removed: "RISK-0040 –
// INC-2026-008". It returns "" for other events.
func linkName(event api.AuditEvent) string {
	if event.ResourceType != resource.Link.Type {
		return ""
	}
	keys := map[string]string{}
	for _, change := range event.Changes {
		keys[change.Field] = cmp.Or(ui.Text(change.To), ui.Text(change.From))
	}
	if keys["record_key"] == "" || keys["other_key"] == "" {
		return ""
	}
	return keys["record_key"] + " – " + keys["other_key"]
}

// SubjectOf returns what an event is about.
func SubjectOf(event api.AuditEvent) api.Subject {
	return api.Subject{Type: event.ResourceType, ID: event.ResourceID}
}
