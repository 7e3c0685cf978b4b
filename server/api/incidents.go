package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/server/openapi"
)

// lineEnds are the characters that end a line in Unicode.
const lineEnds = "\n\v\f\r\u0085\u2028\u2029"

// Notification is a report of an incident to an authority.
type Notification struct {
	At        time.Time
	To        string // one line of at most 500 characters
	Reference string // the same; "" if the authority gave none
}

// notificationMost bounds the texts of a notification in characters.
const notificationMost = 500

// NotifyIncident records that an authority was notified of an incident: it sets
// notified_at and adds an entry to the timeline. It may be repeated: the latest
// notification counts, the timeline keeps all. A ValidationError names at, to or
// reference.
func NotifyIncident(ctx context.Context, c *Caller, id string, n Notification) error {
	if err := c.permitFeature(resource.Incident.Feature); err != nil {
		return err
	}
	n.To, n.Reference = strings.TrimSpace(n.To), strings.TrimSpace(n.Reference)
	var errs ValidationErrors
	add := func(param, text string) {
		errs = append(errs, openapi.ValidationError{Param: param, Message: param + " " + text})
	}
	if n.At.IsZero() {
		add("at", "is required")
	}
	if n.To == "" {
		add("to", "is required")
	}
	for _, text := range [][2]string{{"to", n.To}, {"reference", n.Reference}} {
		if !utf8.ValidString(text[1]) || utf8.RuneCountInString(text[1]) > notificationMost || strings.ContainsAny(text[1], "\x00"+lineEnds) {
			add(text[0], fmt.Sprintf("must be one line of at most %d characters", notificationMost))
		}
	}
	if errs != nil {
		return errs
	}
	return c.Store.Write(ctx, c.actor(), func(tx *db.Tx) error {
		return tx.NotifyIncident(id, db.Notification(n))
	})
}

// IncidentNote is a note for the timeline of an incident.
type IncidentNote = db.IncidentNote

// noteMost bounds the text of a note in characters.
const noteMost = 2000

// NoteIncident adds a note to the timeline of an incident and sets its status, which may
// be the present one. A ValidationError names status or note.
func NoteIncident(ctx context.Context, c *Caller, id string, n IncidentNote) error {
	if err := c.permitFeature(resource.Incident.Feature); err != nil {
		return err
	}
	if c.Document == nil {
		return errNoDocument
	}
	n.Text = strings.TrimSpace(strings.ReplaceAll(n.Text, "\r\n", "\n"))
	var errs ValidationErrors
	if _, err := CheckBody(c.Document.Operation(resource.Incident.Update).Body, map[string]any{"status": n.Status}); err != nil {
		errors.As(err, &errs)
	}
	switch {
	case n.Text == "":
		errs = append(errs, openapi.ValidationError{Param: "note", Message: "note is required"})
	case !utf8.ValidString(n.Text) || utf8.RuneCountInString(n.Text) > noteMost || strings.ContainsRune(n.Text, 0):
		errs = append(errs, openapi.ValidationError{Param: "note", Message: fmt.Sprintf("note must have at most %d characters", noteMost)})
	}
	if errs != nil {
		return errs
	}
	return c.Store.Write(ctx, c.actor(), func(tx *db.Tx) error { return tx.NoteIncident(strings.ToLower(id), n) })
}
