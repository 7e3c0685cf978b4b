package api

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"govsvc/db"
	"govsvc/db/audit"
)

// AuditSearch selects events of the audit log. A field with the zero value selects all.
type AuditSearch struct {
	Since, Until time.Time // at or after, strictly before
	Actor        string
	Action       string // an action, or its beginning and a *: "risk.*"
	ResourceType string
	ResourceID   string
	Cursor       string
	Limit        int // at most 200; 0 is 50
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
// log. The search itself is recorded in the audit log.
func SearchAudit(ctx context.Context, c *Caller, s AuditSearch) (AuditSearchPage, error) {
	var page AuditSearchPage
	if err := c.permitFeature("audit"); err != nil {
		return page, err
	}
	q, err := s.query()
	if err != nil {
		return page, err
	}
	q.User = c.ActorID
	found, err := c.Store.Audit.Search(ctx, c.Organisation, q)
	if err != nil {
		return page, err
	}
	err = c.Store.Write(ctx, c.actor(), func(tx *db.Tx) error {
		return tx.Audit(audit.Event{
			Action: "audit.searched", Category: audit.DataAccess, Severity: audit.SeverityRead,
			Metadata: audit.Metadata{"events": len(found.Events)},
		})
	})
	if err != nil {
		return page, err
	}
	page.Next, page.Searched = found.Next, found.SearchedTo
	page.Events, err = auditEvents(found.Events)
	return page, err
}

func (s AuditSearch) query() (db.AuditSearch, error) {
	q := db.AuditSearch{
		Actor: s.Actor, Action: s.Action, ResourceType: s.ResourceType, ResourceID: s.ResourceID,
		Cursor: s.Cursor, Limit: s.Limit, Size: db.PageSize{Most: viewBytes},
	}
	for param, value := range map[string]string{
		"actor": s.Actor, "action": s.Action, "resource_type": s.ResourceType, "resource_id": s.ResourceID,
	} {
		if !utf8.ValidString(value) || utf8.RuneCountInString(value) > searchMost {
			return q, invalid(param, fmt.Sprintf("%s must have at most %d characters", param, searchMost))
		}
	}
	if prefix, open := strings.CutSuffix(s.Action, "*"); open {
		q.Action, q.ActionPrefix = "", prefix
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
