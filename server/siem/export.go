package siem

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"govsvc/db"
	"govsvc/db/audit"
)

const (
	// followInterval is how often a following export looks for new events.
	followInterval = 250 * time.Millisecond
	// pageSize is how many events are written together.
	pageSize = 1000
)

// Export writes an organisation's audit events, oldest first, with one on each line.
type Export struct {
	Store  *db.DB
	Org    db.Organisation
	Encode func(event []byte) ([]byte, error)

	Cursor       string // where to start; "" is the first event
	Since, Until string // "" is no bound
	Follow       bool   // continue with new events until the context ends
	// Save stores the cursor after each page that was written; nil stores none.
	Save func(cursor string) error

	from  string // the hash before the first event written
	chain audit.Chain
}

// Run writes the events, page after page.
func (e *Export) Run(ctx context.Context, w io.Writer) error {
	query := db.AuditQuery{Cursor: e.Cursor, Limit: pageSize, Since: e.Since, Until: e.Until}
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	for {
		page, err := e.Store.Audit.Events(ctx, e.Org, query)
		if err != nil {
			if e.Follow && ctx.Err() != nil {
				return nil
			}
			return err
		}
		if len(page.Events) > 0 {
			if err := e.write(ctx, w, page); err != nil {
				return err
			}
			query.Cursor = page.Next
		}
		if page.HasMore {
			continue
		}
		if !e.Follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// write writes a page, and then stores the cursor after it.
func (e *Export) write(ctx context.Context, w io.Writer, page db.AuditPage) error {
	if err := e.noteStart(ctx, page); err != nil {
		return err
	}
	var lines bytes.Buffer
	for _, event := range page.Events {
		line, err := e.Encode(event)
		if err != nil {
			return err
		}
		lines.Write(line)
		lines.WriteByte('\n')
		e.chain.Add(event)
	}
	if _, err := w.Write(lines.Bytes()); err != nil {
		return fmt.Errorf("can't write the events: %w", err)
	}
	if e.Save == nil {
		return nil
	}
	return e.Save(page.Next)
}

// noteStart notes the hash before the first event that is written.
func (e *Export) noteStart(ctx context.Context, page db.AuditPage) error {
	if e.from != "" {
		return nil
	}
	var err error
	if e.from, err = e.Store.Audit.HashBefore(context.WithoutCancel(ctx), e.Org.Org, page); err != nil {
		return err
	}
	e.chain, err = audit.ChainFrom(e.from)
	return err
}

// Summary returns what a later check of the output needs: the number of events, and the
// hashes before the first and of the last one.
func (e *Export) Summary() string {
	switch {
	case e.from == "":
		return "no events to export"
	case e.from == new(audit.Chain).Head():
		return fmt.Sprintf("%d events exported, head %s", e.chain.Events(), e.chain.Head())
	}
	return fmt.Sprintf("%d events exported, from %s, head %s", e.chain.Events(), e.from, e.chain.Head())
}
