package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
	"unicode/utf8"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/db/dashboard"
)

// AuditSearch selects events of the audit log. A field with the zero value selects all.
type AuditSearch struct {
	Since, Until time.Time // at or after, strictly before
	Actor        string
	Action       string // a part of an action, or its beginning and a *: "risk.*"
	ResourceType string
	ResourceID   string
	// Text is a part of the action, or of the name or id of the record. Events of
	// TextActors, whose names contain it, match too.
	Text       string
	TextActors []string
	Cursor     string
	Limit      int // at most 200; 0 is 50
}

// AuditSearchPage is a page of a search, newest first.
type AuditSearchPage struct {
	Events []AuditEvent
	Next   string // cursor; "" if there is nothing older
	// Searched is the time back to which this page looked, if there are older
	// events that it has not searched. A page searches 50,000 events, so it may have
	// few results or none. The search continues at Next.
	Searched string
}

// auditLimit is how many events a page has by default.
const auditLimit = 50

// SearchAudit searches the audit log, newest first. The plan must include the audit
// log.
func SearchAudit(ctx context.Context, c *Caller, s AuditSearch) (AuditSearchPage, error) {
	var page AuditSearchPage
	q, err := c.auditQuery(ctx, s)
	if err != nil {
		return page, err
	}
	found, err := c.Store.Audit.Search(ctx, c.Organisation, q)
	if err != nil {
		return page, err
	}
	page.Next, page.Searched = found.Next, found.SearchedTo
	page.Events, err = auditEvents(found.Events)
	return page, err
}

// exportedAtOnce is how many events one query of an export reads.
const exportedAtOnce = 500

// ExportAudit calls each with the events that a search finds, newest first, in parts. It
// ignores the cursor and the limit. lines has the events as JSON. The audit log records
// the export with its filters, also if it fails after the first event.
func ExportAudit(ctx context.Context, c *Caller, s AuditSearch, format string, each func(events []AuditEvent, lines [][]byte) error) error {
	s.Cursor, s.Limit = "", 0
	q, err := c.auditQuery(ctx, s)
	if err != nil {
		return err
	}
	q.Limit = exportedAtOnce
	count, complete := 0, false
	for err == nil && !complete {
		var found db.AuditSearchResult
		var events []AuditEvent
		if found, err = c.Store.Audit.Search(ctx, c.Organisation, q); err == nil {
			events, err = auditEvents(found.Events)
		}
		if err == nil && len(events) > 0 {
			count += len(events)
			err = each(events, found.Events)
		}
		q.Cursor = found.Next
		complete = q.Cursor == ""
	}
	if err != nil && count == 0 {
		return err
	}
	metadata := audit.Metadata{"events": count, "format": format, "complete": err == nil}
	if filters := s.filters(); len(filters) > 0 {
		metadata["filters"] = filters
	}
	// the client may have received most of the events before it disconnected
	return errors.Join(err, c.Store.Write(context.WithoutCancel(ctx), c.actor(), func(tx *db.Tx) error {
		return tx.Audit(audit.Event{Action: "audit.exported", Category: audit.Export, Severity: audit.SeverityRead, Metadata: metadata})
	}))
}

// filters returns the conditions of a search that are set, by name.
func (s AuditSearch) filters() map[string]string {
	set := map[string]string{
		"actor": s.Actor, "action": s.Action, "resource_type": s.ResourceType, "resource_id": s.ResourceID, "q": s.Text,
		"since": "", "until": "",
	}
	if !s.Since.IsZero() {
		set["since"] = db.Timestamp(s.Since)
	}
	if !s.Until.IsZero() {
		set["until"] = db.Timestamp(s.Until)
	}
	maps.DeleteFunc(set, func(_, value string) bool { return value == "" })
	return set
}

// auditQuery checks a search. It finds the records whose names contain the text.
func (c *Caller) auditQuery(ctx context.Context, s AuditSearch) (db.AuditSearch, error) {
	if err := c.permitFeature("audit"); err != nil {
		return db.AuditSearch{}, err
	}
	q, err := s.query()
	if err != nil {
		return q, err
	}
	q.User = c.ActorID
	if q.Text != "" {
		q.TextActors = s.TextActors
		if q.TextRecords, err = dashboard.FindNamed(ctx, c.Store, c.Organisation.Org, q.User, q.Text); err != nil {
			return q, err
		}
		q.TextRecords = append(q.TextRecords, s.TextActors...) // users are also what events are about
	}
	return q, nil
}

// Subject is what an event of the audit log is about.
type Subject = dashboard.Subject

// SubjectNames reads the members that name the subjects of events, also of subjects that
// were removed.
func SubjectNames(ctx context.Context, c *Caller, subjects []Subject) (map[Subject]Record, error) {
	texts, err := dashboard.ReadNames(ctx, c.Store, c.Organisation.Org, subjects)
	if err != nil {
		return nil, err
	}
	names := map[Subject]Record{}
	for subject, text := range texts {
		if names[subject], err = decodeRecord(text); err != nil {
			return nil, err
		}
	}
	return names, nil
}

func (s AuditSearch) query() (db.AuditSearch, error) {
	q := db.AuditSearch{
		Actor: s.Actor, ActionPart: s.Action, ResourceType: s.ResourceType, ResourceID: s.ResourceID, Text: strings.TrimSpace(s.Text),
		Cursor: s.Cursor, Limit: s.Limit, Size: db.PageSize{Most: viewBytes},
	}
	for param, value := range map[string]string{
		"actor": s.Actor, "action": s.Action, "resource_type": s.ResourceType, "resource_id": s.ResourceID, "q": s.Text,
	} {
		if !utf8.ValidString(value) || utf8.RuneCountInString(value) > searchMost {
			return q, invalid(param, fmt.Sprintf("%s must have at most %d characters", param, searchMost))
		}
	}
	if prefix, open := strings.CutSuffix(s.Action, "*"); open {
		q.ActionPart, q.ActionPrefix = "", prefix
	}
	if !s.Since.IsZero() {
		q.Since = db.Timestamp(s.Since)
	}
	if !s.Until.IsZero() {
		q.Until = db.Timestamp(s.Until)
	}
	if q.Limit == 0 {
		q.Limit = auditLimit
	}
	if q.Limit < 0 || q.Limit > MaxViewLimit {
		return q, invalid("limit", fmt.Sprintf("limit must be from 1 to %d", MaxViewLimit))
	}
	return q, nil
}
