// Package dashboard reads what only the dashboard shows: the overview, lists that are
// searched and sorted, histories of records, and the state of the service.
package dashboard

import (
	"context"

	"govsvc/db"
	"govsvc/db/delivery"
	"govsvc/db/resource"
)

// Status is the state of the data file.
type Status struct {
	Path      string        `json:"path"`
	Size      int64         `json:"size"`     // of the file in bytes
	WALSize   int64         `json:"wal_size"` // of the write-ahead log
	PageSize  int64         `json:"page_size"`
	Pages     int64         `json:"pages"`
	FreePages int64         `json:"free_pages"` // that are not in use
	Counts    []RecordCount `json:"counts"`     // in the order of the data format, of all organisations
	// Queued counts the deliveries of active subscriptions that wait. OldestDue is when
	// the first of them is due; nil if none waits.
	Queued      int     `json:"queued"`
	OldestDue   *string `json:"oldest_due"`
	DeadLetters int     `json:"dead_letters"`
	AuditEvents int64   `json:"audit_events"`
}

// RecordCount is the number of records of a type. Signals are counted with their history.
type RecordCount struct {
	Object string `json:"object"`
	Count  int64  `json:"count"`
}

// ReadStatus reads the state of the file, of all organisations together.
func ReadStatus(ctx context.Context, store *db.DB) (Status, error) {
	s := Status{Path: store.File.Path()}
	var err error
	if s.Size, s.WALSize, err = store.File.Sizes(); err != nil {
		return s, err
	}
	err = store.Engine().Bulk.Row(ctx, `SELECT (SELECT page_size FROM pragma_page_size), (SELECT page_count FROM pragma_page_count),
		(SELECT freelist_count FROM pragma_freelist_count), (SELECT count(*) FROM audit_events)`).
		Scan(&s.PageSize, &s.Pages, &s.FreePages, &s.AuditEvents)
	if err != nil {
		return s, db.StoreError(err)
	}
	stats, err := delivery.ReadStats(ctx, store)
	if err != nil {
		return s, err
	}
	s.Queued, s.OldestDue, s.DeadLetters = int(stats.Due+stats.Later), stats.OldestDue, int(stats.Dead)
	for _, r := range resource.Records() {
		c := RecordCount{Object: r.Type}
		if err := store.Engine().Bulk.Row(ctx, "SELECT count(*) FROM "+r.Table).Scan(&c.Count); err != nil {
			return s, db.StoreError(err)
		}
		s.Counts = append(s.Counts, c)
	}
	return s, nil
}
