package records

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// timelineEntry is a step in the timeline of an incident.
type timelineEntry struct {
	At     any
	Since  string // the time since the declaration; "" for the declaration
	Kind   string
	Status string // from then on; "" if the entry does not change it
	Note   string
	Actor  string // "" if it is not known
	Tone   string // of its mark
}

// addTimeline replaces the table of an incident's timeline by a time axis, with the
// deadline of the notification as one of its marks.
func addTimeline(r *page.Request, record api.Record, data *recordData) error {
	data.Tables = slices.DeleteFunc(data.Tables, func(t ui.Table) bool { return t.Caption == Label("timeline") })
	steps, _ := record["timeline"].([]any)
	actors := make([]string, len(steps))
	for i, step := range steps {
		members, _ := step.(map[string]any)
		actors[i] = ui.Text(members["actor"])
	}
	names, err := ActorNames(r, actors...)
	if err != nil {
		return err
	}
	status := ""
	for i, step := range steps {
		members, _ := step.(map[string]any)
		entry := timelineEntry{At: members["at"], Actor: names[actors[i]], Note: ui.Text(members["note"])}
		entry.Kind = kindOfStep(i, entry.Note, members["status"] != status)
		if members["status"] != status {
			status = ui.Text(members["status"])
			entry.Status, entry.Tone = status, ui.Tone(status)
		}
		data.Timeline = append(data.Timeline, entry)
	}
	addDeadline(data, record, r.Store.Now())
	setSince(data.Timeline)
	slices.SortStableFunc(data.Facts, func(a, b ui.Fact) int { return first(a) - first(b) })
	return nil
}

// first orders the reference of an incident before its other facts.
func first(fact ui.Fact) int {
	if fact.Label == Label("incident_key") {
		return 0
	}
	return 1
}

// kindOfStep names a step of a timeline.
func kindOfStep(number int, note string, statusChanged bool) string {
	switch {
	case number == 0:
		return "Declared"
	case statusChanged:
		return "Status changed"
	case strings.HasPrefix(note, "Notified "):
		return "Notification"
	}
	return "Note"
}

// addDeadline adds the deadline of the notification in the order of time.
func addDeadline(data *recordData, record api.Record, now time.Time) {
	deadline, _, due := ui.ParseTime(record["notification_deadline"])
	if !due || record["notification_required"] != true {
		return
	}
	entry := timelineEntry{At: record["notification_deadline"], Kind: "Notification deadline", Tone: "neutral"}
	if record["notified_at"] == nil && now.After(deadline) {
		entry.Kind, entry.Tone = "Notification deadline, overdue", "critical"
	}
	at := slices.IndexFunc(data.Timeline, func(e timelineEntry) bool {
		step, _, ok := ui.ParseTime(e.At)
		return ok && step.After(deadline)
	})
	if at < 0 {
		at = len(data.Timeline)
	}
	data.Timeline = slices.Insert(data.Timeline, at, entry)
}

// setSince sets how long after the first entry each other one was.
func setSince(timeline []timelineEntry) {
	for i := range timeline {
		first, _, known := ui.ParseTime(timeline[0].At)
		at, _, ok := ui.ParseTime(timeline[i].At)
		if known && ok && i > 0 && at.After(first) {
			timeline[i].Since = "after " + ui.FormatDuration(at.Sub(first))
		}
	}
}

// noteForm returns the form that adds a note to the timeline of an incident.
func noteForm(r *page.Request, incident api.Record) *ui.Form {
	at := Path("incident", ui.Text(incident["id"]))
	form := &ui.Form{Action: at + "/note", Submit: "Add update", Cancel: at}
	for _, field := range api.FormFields(r.Document, "incident", true) {
		if field.Name == "status" {
			field.Required = true
			form.Fields = append(form.Fields, formField(field, api.FormValues(api.FormFields(r.Document, "incident", true), incident)))
		}
	}
	const most = 2000
	form.Fields = append(form.Fields, &ui.Field{
		Name: "note", Label: "Note", Type: "textarea", Rows: 5, Required: true, MaxLength: most,
		Hint: "What happened, was found or was decided. It is kept in the timeline with your name and the time.",
	})
	return form
}

const noteTitle = "Add an update"

// NewNote shows the form that adds a note to an incident.
func NewNote(r *page.Request) error {
	incident, err := readRecord(r, resource.Incident)
	if err != nil {
		return err
	}
	return renderForm(r, http.StatusOK, resource.Incident, incident, noteTitle, noteForm(r, incident))
}

// CreateNote adds a note to the timeline of an incident, with a change of its status.
func CreateNote(r *page.Request) error {
	res := resource.Incident
	incident, err := readRecord(r, res)
	if err != nil {
		return err
	}
	id := ui.Text(incident["id"])
	err = api.NoteIncident(r.Context(), r.Caller, id, api.IncidentNote{Status: r.Value("status"), Text: r.RawValue("note")})
	if err != nil {
		return renderRefused(r, noteForm(r, incident).Fill(r.HTTP.PostForm), err, res, incident, noteTitle)
	}
	return r.RedirectWithMessage(Path(res.Type, id), "The update has been added.")
}
