package api

import (
	"context"

	"govsvc/db"
	"govsvc/db/audit"
)

func init() { register("listAuditEvents", ListAuditEvents) }

// ListAuditEvents reads the audit log, oldest first, for a collector that
// keeps the last cursor (specification, GET /audit). Every pull is audited, and
// one that can't be is refused.
func ListAuditEvents(ctx context.Context, c *Caller, in Input) (AuditPage, error) {
	q := db.AuditQuery{Cursor: in.Query.String("cursor"), Limit: in.Query.Int("limit")}
	var page AuditPage
	var err error
	if q.Since, err = instant(in.Query, "since"); err != nil {
		return page, err
	}
	if q.Until, err = instant(in.Query, "until"); err != nil {
		return page, err
	}
	err = in.sized(ctx, func(size db.PageSize) (err error) {
		q.Size = size
		page.AuditPage, err = c.Store.Audit.Events(ctx, c.Organisation, q)
		return err
	})
	if err != nil {
		return page, err
	}
	format := in.Query.String("format")
	page.Lines = format == "ndjson"
	return page, c.Store.Write(ctx, c.actor(), func(tx *db.Tx) error {
		return tx.Audit(audit.Event{
			Action: "api.read.audit", Category: audit.DataAccess, Severity: audit.SeverityRead,
			Metadata: audit.Metadata{"events": len(page.Events), "format": format},
		})
	})
}
