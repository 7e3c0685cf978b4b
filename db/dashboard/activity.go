package dashboard

import (
	"context"
	"encoding/json"
	"math"

	"govsvc/db"
	"govsvc/db/sqlite"
)

// Bounds of the recent activity.
const (
	recentEvents   = 200 // that are read: more than the overview shows, because it puts events together
	eventsAtOnce   = 1_000
	eventsSearched = 10_000
)

// recentEvents reads changes of records, without reads and sign-ins, which are far more
// frequent. An import counts as one change. It searches a bounded number of events.
func (d overviewReader) recentEvents(ctx context.Context, org db.Org, o *Overview) error {
	before := int64(math.MaxInt64)
	for searched := 0; before > 0 && searched < eventsSearched && len(o.Recent) < recentEvents; searched += eventsAtOnce {
		var err error
		if before, err = d.changesBefore(ctx, org, before, o); err != nil {
			return err
		}
	}
	return nil
}

// changes selects the changes in a part of the log. A quotation mark within a text has a
// backslash, so that no text matches a member.
const changes = `SELECT seq, event FROM audit_events WHERE org_id = ?1 AND seq < ?2 AND seq >= ?3
	AND instr(event, '"category":"data_change"') AND event ->> 'category' = 'data_change'
	AND (NOT instr(event, '"import_id":"') OR instr(event, '"action":"import.completed"')) ORDER BY seq DESC`

// changesBefore adds the changes among the events before a sequence number, and returns
// where to continue; 0 at the start of the log. It stops at an import, whose records may
// have very many events.
func (d overviewReader) changesBefore(ctx context.Context, org db.Org, before int64, o *Overview) (int64, error) {
	var from int64
	err := d.Row(ctx, "SELECT coalesce(min(seq), 0) FROM (SELECT seq FROM audit_events WHERE org_id = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3)",
		org, before, eventsAtOnce).Scan(&from)
	if err != nil || from == 0 {
		return 0, db.StoreError(err)
	}
	var done importEvent
	err = d.Each(ctx, func(row db.Scanner) error {
		var seq int64
		var event []byte
		if err := row.Scan(&seq, &event); err != nil {
			return err
		}
		o.Recent = append(o.Recent, event)
		if done = readImport(event); done.records > 0 {
			from = seq
		}
		if done.records > 0 || len(o.Recent) == recentEvents {
			return sqlite.ErrStop
		}
		return nil
	}, changes, org, before, from)
	if err != nil || done.records == 0 {
		return from, err
	}
	// The events of the records are directly before the one of the import. Old versions
	// of the program wrote none.
	var found int
	err = d.Row(ctx, "SELECT count(*) FROM audit_events WHERE seq = ?1 AND org_id = ?2 AND event ->> '$.metadata.import_id' = ?3",
		from-done.records, org, done.id).Scan(&found)
	if found > 0 {
		from -= done.records
	}
	return from, db.StoreError(err)
}

// importEvent is the end of an import.
type importEvent struct {
	id      string
	records int64 // that it added or changed
}

// readImport returns the import that an event completes; a zero one for other events.
func readImport(event []byte) importEvent {
	var e struct {
		Action   string
		Metadata struct {
			ImportID string `json:"import_id"`
			Types    map[string]struct{ Created, Updated int64 }
		}
	}
	if json.Unmarshal(event, &e) != nil || e.Action != "import.completed" {
		return importEvent{}
	}
	done := importEvent{id: e.Metadata.ImportID}
	for _, counts := range e.Metadata.Types {
		done.records += counts.Created + counts.Updated
	}
	return done
}
