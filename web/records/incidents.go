package records

import (
	"net/http"
	"time"

	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// clock is what an incident's page says of telling an authority.
type clock struct {
	Tone string
	Says string
	At   any // the deadline, or when the authority was told
}

// clockOf says how the notification of an incident stands.
func clockOf(record api.Record, now time.Time) *clock {
	deadline, _, due := ui.ParseTime(record["notification_deadline"])
	told, _, done := ui.ParseTime(record["notified_at"])
	required := record["notification_required"] == true
	switch {
	case done && due && told.After(deadline):
		return &clock{"high", "An authority was told " + ui.FormatDuration(told.Sub(deadline)) + " after the deadline, on", record["notified_at"]}
	case done && due:
		return &clock{"good", "An authority was told " + ui.FormatDuration(deadline.Sub(told)) + " before the deadline, on", record["notified_at"]}
	case done:
		return &clock{"good", "An authority was told on", record["notified_at"]}
	case !required || !due:
		return nil
	case record["status"] == "closed":
		return &clock{"high", "The incident is closed, and no notification was recorded. The deadline was", record["notification_deadline"]}
	case now.After(deadline):
		return &clock{"critical", "The deadline for telling an authority passed " + ui.FormatDuration(now.Sub(deadline)) + " ago, on", record["notification_deadline"]}
	case deadline.Sub(now) < UrgentBefore:
		return &clock{"high", "An authority must be told within " + ui.FormatDuration(deadline.Sub(now)) + ", until", record["notification_deadline"]}
	}
	return &clock{"medium", "An authority must be told within " + ui.FormatDuration(deadline.Sub(now)) + ", until", record["notification_deadline"]}
}

// nameTimelineActors names those who made an incident's timeline.
func nameTimelineActors(r *page.Request, data *recordData) error {
	const when, actor = 0, 3 // the columns of the document
	for _, table := range data.Tables {
		if table.Caption != Label("timeline") {
			continue
		}
		names, err := ActorNamesOf(r, table.Rows, func(row ui.Row) string { return ui.Text(row.Cells[actor]) })
		if err != nil {
			return err
		}
		table.Columns[when].Label, table.Columns[actor].Label = "When", "Who"
		for _, row := range table.Rows {
			row.Cells[actor] = names[ui.Text(row.Cells[actor])]
		}
	}
	return nil
}

func notificationForm(incident api.Record, now time.Time) *ui.Form {
	at := Path("incident", ui.Text(incident["id"]))
	const most = 500
	return &ui.Form{
		Action: at + "/notification", Submit: "Record it", Cancel: at,
		Fields: []*ui.Field{
			{Name: "at", Label: "When", Type: "datetime-local", Required: true, Value: now.UTC().Format(minutes), Hint: "In UTC. When the authority was told, which may be before now."},
			{Name: "to", Label: "To whom", Required: true, MaxLength: most, Hint: "The authority, such as “Datatilsynet”."},
			{Name: "reference", Label: "Reference", MaxLength: most, Hint: "The number that the authority gave it."},
		},
	}
}

// minutes is how a browser's field has a date and a time.
const minutes = "2006-01-02T15:04"

// NewNotification shows the form that records that an authority was told.
func NewNotification(r *page.Request) error {
	res := resource.Incident
	incident, err := readRecord(r, res)
	if err != nil {
		return err
	}
	return renderForm(r, http.StatusOK, res, incident, "Record a notification", notificationForm(incident, r.Store.Now()))
}

// CreateNotification stops an incident's clock.
func CreateNotification(r *page.Request) error {
	res := resource.Incident
	incident, err := readRecord(r, res)
	if err != nil {
		return err
	}
	at, wrong := time.Parse(minutes, r.Value("at"))
	if seconds, err := time.Parse(minutes+":05", r.Value("at")); err == nil { // some browsers send them
		at, wrong = seconds, nil
	}
	if wrong != nil && r.Value("at") != "" {
		err = &api.Error{Code: api.InvalidParameter, Param: "at", Message: "give a date and a time, such as 2026-10-01T08:30"}
	} else {
		err = api.NotifyIncident(r.Context(), r.Caller, ui.Text(incident["id"]), api.Notification{At: at, To: r.Value("to"), Reference: r.Value("reference")})
	}
	if err != nil {
		return renderFormError(r, notificationForm(incident, r.Store.Now()), err, res, incident, "Record a notification")
	}
	return r.RedirectWithMessage(Path("incident", ui.Text(incident["id"])), "The notification has been recorded.")
}

// UrgentBefore is when a clock becomes urgent.
const UrgentBefore = 24 * time.Hour
