package dashboard

import (
	"context"
	"encoding/json"

	"govsvc/db"
	"govsvc/db/resource"
)

// historyLimit bounds the events of the history of a record.
const historyLimit = 200

// historyBytes bounds the size of a history. Only events of older versions, which had
// whole texts, are so long that a history has fewer than historyLimit.
const historyBytes = 1 << 20

// RecordHistory reads the latest audit events of a record, newest first, as JSON.
func RecordHistory(ctx context.Context, store *db.DB, org db.Organisation, object, id string) ([][]byte, error) {
	if object == resource.KPI.Type {
		return kpiHistory(ctx, store, org.Org, id)
	}
	found, err := store.Audit.Search(ctx, org, db.AuditSearch{
		ResourceType: object, ResourceID: id, Limit: historyLimit, Size: db.PageSize{Most: historyBytes},
	})
	return found.Events, err
}

// kpiHistory reads the latest events of a key result and of its check-ins, which are
// shown on the page of the key result.
func kpiHistory(ctx context.Context, store *db.DB, org db.Org, id string) ([][]byte, error) {
	var all [][]byte
	err := store.Each(ctx, func(row db.Scanner) error {
		var event []byte
		err := row.Scan(&event)
		all = append(all, event)
		return err
	}, `SELECT event FROM audit_events INDEXED BY audit_events_by_resource
		WHERE org_id = ?1 AND event ->> 'resource_type' IN ('kpi', 'kpi_checkin') AND resource_id IN (
			SELECT id FROM kpis WHERE org_id = ?1 AND id = ?2
			UNION ALL SELECT c.id FROM kpis k JOIN kpi_checkins c ON c.kpi_seq = k.seq WHERE k.org_id = ?1 AND k.id = ?2)
		ORDER BY seq DESC LIMIT ?3`, org, id, historyLimit)
	return all, err
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
