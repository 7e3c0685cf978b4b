package overview

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/web/page"
	"govsvc/web/records"
	"govsvc/web/ui"
)

// activity is a recent change: who did what to which record.
type activity struct {
	Actor  string
	Verb   string // "changed"
	Name   string // of the record, or "12 risks"
	Path   string // "" for none
	Detail string // changed fields, or what an import contains
	At     string

	actor, typeName, id string
	changes             []api.FieldChange
	alone               bool // is never put together with others
}

// maxActivities is how many lines the overview shows.
const maxActivities = 12

// manyAlike is how many changes of the same kind in a row become one line.
const manyAlike = 4

// activities describes the latest changes: the changes of a record by one user are one
// line, and so are an import and many changes of the same kind.
func activities(r *page.Request, events []api.AuditEvent) ([]activity, error) {
	var lines []activity
	for _, event := range events {
		line, ok := activityOf(event)
		if !ok {
			continue
		}
		if n := len(lines); n > 0 && lines[n-1].sameRecord(line) {
			lines[n-1].join(line)
			continue
		}
		lines = append(lines, line)
	}
	lines = collapse(lines)
	lines = lines[:min(len(lines), maxActivities)]
	actors, err := records.ActorNamesOf(r, lines, func(a activity) string { return a.actor })
	if err != nil {
		return nil, err
	}
	var refs []api.RecordRef
	for _, line := range lines {
		refs = append(refs, api.RecordRef{Type: line.typeName, ID: line.id})
	}
	names, err := api.RecordNames(r.Context(), r.Caller, refs)
	if err != nil {
		return nil, err
	}
	for i := range lines {
		lines[i].Actor = actors[lines[i].actor]
		lines[i].describe(names)
	}
	return lines, nil
}

// activityOf returns the line of an event, and false for one that is not worth reading.
func activityOf(event api.AuditEvent) (activity, bool) {
	line := activity{actor: event.Actor, At: event.Time, typeName: event.ResourceType, id: event.ResourceID, changes: event.Changes}
	object, verb, _ := strings.Cut(event.Action, ".")
	if written, ok := strings.CutPrefix(event.Action, "api.write."); ok {
		object, verb = written, ui.Text(event.Metadata["operation"])+"d"
	}
	line.Verb = cmp.Or(verbs[verb], strings.ToLower(ui.Humanize(verb)))
	switch object {
	case "import":
		line.Verb, line.alone = "imported", true
		line.Name, line.Detail = importedText(event)
		return line, line.Name != ""
	case resource.KPICheckin.Type:
		line.checkin(event)
	case resource.Incident.Type:
		if verb == "notified" { // the fields say the same
			line.changes = nil
		}
	case "evidence_pack":
		line.Name, line.Path, line.alone = "an evidence pack", "/evidence"+ui.Path(event.ResourceID), true
	}
	return line, true
}

// verbs are those of actions, where they differ from the action.
var verbs = map[string]string{"created": "added", "updated": "changed", "notified": "recorded the notification of"}

// checkin makes the line of a check-in one of its KPI.
func (a *activity) checkin(event api.AuditEvent) {
	a.typeName, a.id = resource.KPI.Type, ""
	for _, change := range event.Changes {
		if change.Field == "key_result_id" {
			a.id = ui.Text(change.To)
		}
	}
	a.changes = nil
	count := event.Metadata["accepted"]
	if count == nil {
		count = 1
	}
	a.Verb += " " + ui.Plural(count, "check-in", "check-ins")
	if a.id == "" {
		a.Path, a.alone = records.ListPath(resource.KPI.Type), true
		return
	}
	a.Verb += " of"
}

// importedText counts the records that an import added or changed; "" for none.
func importedText(event api.AuditEvent) (name, detail string) {
	types, _ := event.Metadata["types"].(map[string]any)
	type part struct {
		count float64
		text  string
	}
	var parts []part
	total := 0.0
	for _, of := range resource.Records() {
		counts, _ := types[of.Type].(map[string]any)
		created, _ := ui.Float(counts["created"])
		updated, _ := ui.Float(counts["updated"])
		if n := created + updated; n > 0 {
			total += n
			parts = append(parts, part{n, ui.Plural(n, of.Singular, of.Plural)})
		}
	}
	if total == 0 {
		return "", ""
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.count, a.count) })
	var texts []string
	for _, p := range parts {
		texts = append(texts, p.text)
	}
	if sources, _ := event.Metadata["sources"].([]any); len(sources) == 1 {
		detail = ui.Truncate(ui.Text(sources[0]), 60) + ": "
	}
	return ui.Plural(total, "record", "records"), detail + listed(texts, 5, "more type", "more types")
}

// listed joins texts, at most some of them. one and many name the others.
func listed(texts []string, most int, one, many string) string {
	if more := len(texts) - most; more > 0 {
		texts = append(slices.Clone(texts[:most]), ui.Plural(more, one, many))
	}
	return strings.Join(texts, ", ")
}

// sameRecord reports whether an earlier event is about the same record, by the same
// user, on the same day.
func (a *activity) sameRecord(earlier activity) bool {
	return !a.alone && !earlier.alone && a.id != "" && a.actor == earlier.actor && a.typeName == earlier.typeName && a.id == earlier.id &&
		a.At[:min(len(a.At), len("2006-01-02"))] == earlier.At[:min(len(earlier.At), len("2006-01-02"))] &&
		(a.Verb == earlier.Verb || a.Verb == verbs["updated"] && earlier.Verb == verbs["created"])
}

// join adds an earlier event about the same record. The changes of a new record are part
// of its addition.
func (a *activity) join(earlier activity) {
	if a.Verb = earlier.Verb; a.Verb == verbs["created"] {
		a.changes = nil
		return
	}
	for _, change := range earlier.changes {
		at := slices.IndexFunc(a.changes, func(c api.FieldChange) bool { return c.Field == change.Field })
		if at < 0 {
			a.changes = append(a.changes, change)
		} else {
			a.changes[at].From = change.From
		}
	}
}

// collapse makes one line of many lines in a row that differ only in the record.
func collapse(lines []activity) []activity {
	var short []activity
	for i := 0; i < len(lines); {
		end := i + 1
		for end < len(lines) && !lines[i].alone && !lines[end].alone && lines[i].actor == lines[end].actor && lines[i].Verb == lines[end].Verb &&
			lines[i].typeName == lines[end].typeName {
			end++
		}
		of := resource.Find(lines[i].typeName)
		if end-i < manyAlike || of == nil {
			short = append(short, lines[i:end]...)
		} else {
			short = append(short, activity{
				actor: lines[i].actor, Verb: lines[i].Verb, Name: ui.Plural(end-i, of.Singular, of.Plural), Path: records.ListPath(of.Type), At: lines[i].At, alone: true,
			})
		}
		i = end
	}
	return short
}

// describe sets the name and the detail of a line about one record.
func (a *activity) describe(names map[api.RecordRef]string) {
	if a.alone {
		return
	}
	of := resource.Find(a.typeName)
	if a.Path = records.Path(a.typeName, a.id); of == nil || a.Path == "" {
		a.Name = strings.ToLower(ui.Humanize(a.typeName))
		return
	}
	a.Name = names[api.RecordRef{Type: a.typeName, ID: a.id}]
	switch {
	case of.Page.Names[0] == "version_number" && a.Name != "":
		a.Name = strings.ToLower(ui.Humanize(of.Type)) + ", version " + a.Name
	case of.Page.Names[0] == "completed_at" && a.Name != "":
		a.Name = "the assessment of " + ui.FormatDay(a.Name)
	case a.Name == "":
		a.Name, a.Path = ui.WithArticle(of.Singular), ""
	}
	a.Name = ui.Truncate(a.Name, 100)
	if a.Verb != verbs["created"] {
		a.Detail = changesText(a.changes)
	}
}

// maxShownValue is the length of a value that a line shows, in characters.
const maxShownValue = 24

// changesText names the changed fields. It has the values if they are few and short.
func changesText(changes []api.FieldChange) string {
	var labels, values []string
	for _, c := range changes {
		if c.Field == records.ReasonField {
			continue
		}
		label, from, to := records.Label(c.Field), records.ValueText(c.Field, c.From), records.ValueText(c.Field, c.To)
		labels = append(labels, label)
		if max(utf8.RuneCountInString(from), utf8.RuneCountInString(to)) <= maxShownValue {
			values = append(values, label+": "+cmp.Or(from, "none")+" → "+cmp.Or(to, "none"))
		}
	}
	if len(labels) <= 2 && len(values) == len(labels) {
		return strings.Join(values, ", ")
	}
	return listed(labels, 4, "more", "more")
}
