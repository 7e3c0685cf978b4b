package api

import (
	"bytes"
	"context"

	"govsvc/db"
)

// ListAuditEvents reads the audit log, oldest first, for a collector that
// keeps the last cursor (specification, GET /audit). Every pull is audited, and
// one that can't be is refused.
func ListAuditEvents(ctx context.Context, c *Caller, in Input) (Answer, error) {
	q := db.AuditQuery{Cursor: in.Query.String("cursor"), Limit: in.Query.Int("limit")}
	var err error
	if q.Since, err = instant(in.Query, "since"); err != nil {
		return Answer{}, err
	}
	if q.Until, err = instant(in.Query, "until"); err != nil {
		return Answer{}, err
	}
	var page db.AuditPage
	err = in.sized(ctx, func(size db.PageSize) (err error) {
		q.Size = size
		page, err = c.Store.Audit.Events(ctx, c.Organisation, q)
		return err
	})
	if err != nil {
		return Answer{}, err
	}
	format := in.Query.String("format")
	err = c.Store.Write(ctx, c.actor(), func(tx *db.Tx) error {
		return tx.Audit(db.AuditEvent{
			Action: "api.read.audit", Category: db.DataAccess, Severity: db.SeverityRead,
			Metadata: db.Metadata{"events": len(page.Events), "format": format},
		})
	})
	if err != nil {
		return Answer{}, err
	}
	if format == "ndjson" {
		return Answer{Status: 200, ContentType: NDJSON, Body: lines(page.Events), NextCursor: page.Next}, nil
	}
	rows := bytes.Join(page.Events, []byte{','})
	return Answer{Status: 200, ContentType: JSON, Body: listEnvelope(rows, page.HasMore, page.Next)}, nil
}

// lines is one event a line.
func lines(events [][]byte) []byte {
	var body bytes.Buffer
	for _, event := range events {
		body.Write(event)
		body.WriteByte('\n')
	}
	return body.Bytes()
}
