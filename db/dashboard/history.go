package dashboard

import (
	"context"
	"encoding/json"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/db/sqlite"
)

// historyLimit bounds the events of the history of a record.
const historyLimit = 200

// historyBytes bounds the size of a history. Only events of older versions, which had
// whole texts, are so long that a history has fewer than historyLimit.
const historyBytes = 1 << 20

// historyIDs are further ids whose events are a part of the history of a record, by type:
// the check-ins of a key result, and the former values of a signal.
var historyIDs = map[*resource.Resource]string{
	resource.KPI:    "SELECT c.id FROM kpis k JOIN kpi_checkins c ON c.kpi_seq = k.seq WHERE k.org_id = ?1 AND k.id = ?2",
	resource.Signal: "SELECT other.id FROM signals s JOIN signals other ON other.org_id = s.org_id AND other.signal_type = s.signal_type WHERE s.org_id = ?1 AND s.id = ?2",
}

// linkIDs are the ids of the links of a record, with those that were removed.
const linkIDs = `SELECT id FROM links WHERE org_id = ?1 AND record_type = ?3 AND record_id = ?2
	UNION ALL SELECT id FROM links WHERE org_id = ?1 AND other_type = ?3 AND other_id = ?2
	UNION ALL SELECT id FROM removed_links WHERE org_id = ?1 AND record_type = ?3 AND record_id = ?2
	UNION ALL SELECT id FROM removed_links WHERE org_id = ?1 AND other_type = ?3 AND other_id = ?2`

// batches are the events of check-ins that were recorded together, without the id of one of
// them. Those of a key result have the time of one of its check-ins.
const batches = ` UNION SELECT seq, event FROM audit_events INDEXED BY audit_events_by_time
	WHERE org_id = ?1 AND resource_id IS NULL AND event ->> 'resource_type' = 'kpi_checkin' AND time IN (
		SELECT c.created_at FROM kpis k JOIN kpi_checkins c ON c.kpi_seq = k.seq WHERE k.org_id = ?1 AND k.id = ?2
		UNION ALL SELECT c.updated_at FROM kpis k JOIN kpi_checkins c ON c.kpi_seq = k.seq WHERE k.org_id = ?1 AND k.id = ?2)`

// RecordHistory reads the latest audit events of a record, newest first, as JSON. They
// include those of its links, comments and attachments.
func RecordHistory(ctx context.Context, store *db.DB, org db.Organisation, object, id string) ([][]byte, error) {
	r := resource.Find(object)
	ids, more := "SELECT ?2", ""
	if further := historyIDs[r]; further != "" {
		ids += " UNION ALL " + further
	}
	if r != nil && r.Linked {
		ids += " UNION ALL " + linkIDs
	}
	if r == resource.KPI {
		more = batches
	}
	var all [][]byte
	size := 0
	err := store.Each(ctx, func(row db.Scanner) error {
		var seq int64
		var event []byte
		if err := row.Scan(&seq, &event); err != nil {
			return err
		}
		if size += len(event); len(all) > 0 && size > historyBytes {
			return sqlite.ErrStop
		}
		all = append(all, event)
		return nil
	}, `SELECT seq, event FROM audit_events INDEXED BY audit_events_by_resource
		WHERE org_id = ?1 AND resource_id IN (`+ids+`) AND event ->> 'resource_type' IN (?3, 'kpi_checkin', 'link')`+more+`
		ORDER BY seq DESC LIMIT ?4`, org.Org, id, object, historyLimit)
	return all, err
}

// UntreatedBaseline returns the severity of a risk without any treatment, as it was when the
// risk entered the register; "" if it was not known.
func UntreatedBaseline(ctx context.Context, store *db.DB, org db.Org, risk string) (string, error) {
	var band *string
	err := store.Row(ctx, "SELECT untreated_baseline FROM risks WHERE org_id = ? AND id = ?", org, risk).Scan(&band)
	if none, err := db.Absent(err); none || err != nil || band == nil {
		return "", db.StoreError(err)
	}
	return *band, nil
}

// Rerating is a change of the rating of a risk, with the reason.
type Rerating struct {
	At, Actor, Reason string
	Before, After     db.Rating
}

// Reratings reads the changes of the rating of a risk, newest first.
func Reratings(ctx context.Context, store *db.DB, org db.Org, risk string) ([]Rerating, error) {
	var all []Rerating
	err := store.Each(ctx, func(row db.Scanner) error {
		var r Rerating
		var before, after []byte
		if err := row.Scan(&r.At, &r.Actor, &r.Reason, &before, &after); err != nil {
			return err
		}
		if err := json.Unmarshal(before, &r.Before); err != nil {
			return err
		}
		all = append(all, r)
		return json.Unmarshal(after, &all[len(all)-1].After)
	}, `SELECT e.at, e.actor, e.reason, e.before, e.after FROM risks r JOIN severity_evidence e ON e.risk_seq = r.seq
		WHERE r.org_id = ? AND r.id = ? ORDER BY e.seq DESC LIMIT ?`, org, risk, historyLimit)
	return all, err
}

// checkinLimit bounds the periods in the history of a key result.
const checkinLimit = 500

// CheckinHistory reads the check-ins of the latest periods of a key result, as JSON,
// oldest first.
func CheckinHistory(ctx context.Context, store *db.DB, org db.Org, kpi string) ([][]byte, error) {
	var all [][]byte
	err := store.Each(ctx, func(row db.Scanner) error {
		var checkin []byte
		err := row.Scan(&checkin)
		all = append(all, checkin)
		return err
	}, `SELECT record FROM (
			SELECT c.period_start, `+db.CheckinJSON+` AS record
			FROM kpis k JOIN kpi_checkins c ON c.kpi_seq = k.seq
			WHERE k.org_id = ? AND k.id = ? ORDER BY c.period_start DESC LIMIT ?)
		ORDER BY period_start`, org, kpi, checkinLimit)
	return all, err
}
