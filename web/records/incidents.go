package records

import (
	"net/http"
	"time"

	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// clock describes the notification of the regulator about an incident.
type clock struct {
	Tone string
	Text string
	At   any // deadline, or time of the notification
	// Left is the time until the deadline, while the notification is pending. The
	// script clocks.js keeps it current. Now is the time of the page.
	Left string
	Now  time.Time
}

// pending returns the clock of a notification that is not made yet.
func pending(tone, text string, record api.Record, left time.Duration, now time.Time) *clock {
	return &clock{Tone: tone, Text: text, At: record["notification_deadline"], Left: ui.FormatTimeLeft(left), Now: now}
}

// clockOf returns the state of the notification, and nil if none is required.
func clockOf(record api.Record, now time.Time) *clock {
	deadline, _, due := ui.ParseTime(record["notification_deadline"])
	notified, _, done := ui.ParseTime(record["notified_at"])
	required := record["notification_required"] == true
	switch {
	case done && due && notified.After(deadline):
		return &clock{Tone: "high", Text: "The regulator was notified " + ui.FormatDuration(notified.Sub(deadline)) + " after the deadline, on", At: record["notified_at"]}
	case done && due:
		return &clock{Tone: "good", Text: "The regulator was notified " + ui.FormatDuration(deadline.Sub(notified)) + " before the deadline, on", At: record["notified_at"]}
	case done:
		return &clock{Tone: "good", Text: "The regulator was notified on", At: record["notified_at"]}
	case !required || !due:
		return nil
	case record["status"] == "closed":
		return &clock{Tone: "high", Text: "The incident is closed without a recorded notification. The deadline was", At: record["notification_deadline"]}
	case now.After(deadline):
		return pending("critical", "The notification is overdue. The deadline was", record, deadline.Sub(now), now)
	case deadline.Sub(now) < UrgentBefore:
		return pending("high", "Notify the regulator by", record, deadline.Sub(now), now)
	}
	return pending("medium", "Notify the regulator by", record, deadline.Sub(now), now)
}

func notificationForm(incident api.Record, now time.Time) *ui.Form {
	at := Path("incident", ui.Text(incident["id"]))
	const most = 500
	return &ui.Form{
		Action: at + "/notification", Submit: "Record notification", Cancel: at,
		Fields: []*ui.Field{
			{Name: "at", Label: "Time", Type: "datetime-local", Required: true, Value: now.UTC().Format(minutes), Hint: "In UTC. The time of the notification."},
			{Name: "to", Label: "Regulator", Required: true, MaxLength: most, Hint: "The authority, such as “Datatilsynet”."},
			{Name: "reference", Label: "Reference", MaxLength: most, Hint: "The case number of the regulator."},
		},
	}
}

// minutes is the format of browsers for a date and a time.
const minutes = "2006-01-02T15:04"

// NewNotification shows the form that records a notification.
func NewNotification(r *page.Request) error {
	res := resource.Incident
	incident, err := readRecord(r, res)
	if err != nil {
		return err
	}
	return renderForm(r, http.StatusOK, res, incident, "Record notification", notificationForm(incident, r.Store.Now()))
}

// CreateNotification records a notification, which stops the clock.
func CreateNotification(r *page.Request) error {
	res := resource.Incident
	incident, err := readRecord(r, res)
	if err != nil {
		return err
	}
	at, invalid := time.Parse(minutes, r.Value("at"))
	if seconds, err := time.Parse(minutes+":05", r.Value("at")); err == nil { // some browsers send seconds
		at, invalid = seconds, nil
	}
	if invalid != nil && r.Value("at") != "" {
		err = &api.Error{Code: api.InvalidParameter, Param: "at", Message: "enter a date and a time, such as 2026-10-01T08:30"}
	} else {
		err = api.NotifyIncident(r.Context(), r.Caller, ui.Text(incident["id"]), api.Notification{At: at, To: r.Value("to"), Reference: r.Value("reference")})
	}
	if err != nil {
		return renderRefused(r, notificationForm(incident, r.Store.Now()).Fill(r.HTTP.PostForm), err, res, incident, "Record notification")
	}
	return r.RedirectWithMessage(Path("incident", ui.Text(incident["id"])), "The notification has been recorded.")
}

// UrgentBefore is how long before its deadline a notification is urgent.
const UrgentBefore = 24 * time.Hour
