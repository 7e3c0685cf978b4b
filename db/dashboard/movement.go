package dashboard

import (
	"context"
	"encoding/json"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/db/sqlite"
)

// MovementDays is the number of days that the movement of risks covers.
const MovementDays = 30

// maxMoved bounds the risks, and the audit events, that the movement of risks reads.
const maxMoved = 5_000

// RiskCount is the number of open risks with a severity and a likelihood; "" for risks
// without a rating.
type RiskCount struct {
	Severity, Likelihood string
	Count                int
	// Before is the count MovementDays ago, if Overview.MovementKnown.
	Before int
}

// openRisks counts the open risks, and those of them that were added since an instant. Its
// condition is that of the index risks_open, so that SQLite uses it.
var openRisks = `SELECT coalesce(severity, ''), coalesce(likelihood, ''), count(*), sum(created_at >= ?2) FROM risks
	WHERE org_id = ?1 AND status IN ('Open', 'InProgress')` + unarchived(resource.Risk) + " GROUP BY severity, likelihood"

// openRiskCounts counts the open risks and, as far as their creation tells, those of
// MovementDays ago.
func (d overviewReader) openRiskCounts(ctx context.Context, org db.Org, o *Overview) error {
	return d.Each(ctx, func(row db.Scanner) error {
		var c RiskCount
		var added int
		err := row.Scan(&c.Severity, &c.Likelihood, &c.Count, &added)
		c.Before = c.Count - added
		o.Risks = append(o.Risks, c)
		return err
	}, openRisks, org, d.movementSince())
}

// movementSince returns the instant that the movement compares with.
func (d overviewReader) movementSince() string {
	return db.Timestamp(d.db.Now().AddDate(0, 0, -MovementDays))
}

// riskPlace is what decides where the heat map counts a risk.
type riskPlace struct{ severity, likelihood, status string }

// countChangedRisks counts the risks that changedRisks reads, up to a limit.
const countChangedRisks = "SELECT count(*) FROM (SELECT 1 FROM risks INDEXED BY risks_by_updated WHERE org_id = ?1 AND updated_at >= ?2 AND created_at < ?2 LIMIT ?3)"

// changedRisks reads the audit events, oldest first, of the risks that were added before an
// instant and changed since. Unless they say what a member was before, risks were where they
// are now: an import of an old version has no events of its records.
var changedRisks = `SELECT r.seq, coalesce(r.severity, ''), coalesce(r.likelihood, ''), r.status,
		coalesce(e.event -> '$.metadata.changes.severity', ''), coalesce(e.event -> '$.metadata.changes.likelihood', ''), coalesce(e.event -> '$.metadata.changes.status', '')
	FROM (SELECT seq FROM risks INDEXED BY risks_by_updated WHERE org_id = ?1 AND updated_at >= ?2 AND created_at < ?2` + unarchived(resource.Risk) + ` LIMIT ?3) c
	CROSS JOIN risks r ON r.seq = c.seq
	CROSS JOIN audit_events e INDEXED BY audit_events_by_resource ON e.resource_id = r.id
	WHERE e.org_id = ?1 AND e.time >= ?2 AND e.event ->> 'resource_type' = 'risk'
	ORDER BY r.seq, e.seq LIMIT ?3`

// riskMovement corrects the counts of MovementDays ago by what the audit log says about
// risks that have changed since. It knows nothing if too many have.
func (d overviewReader) riskMovement(ctx context.Context, org db.Org, o *Overview) error {
	var changed int
	if err := d.Row(ctx, countChangedRisks, org, d.movementSince(), maxMoved+1).Scan(&changed); err != nil || changed > maxMoved {
		return db.StoreError(err)
	}
	rows, last := 0, int64(0)
	var now, before riskPlace
	var known [3]bool // members whose first change was read
	err := d.Each(ctx, func(row db.Scanner) error {
		var seq int64
		var place riskPlace
		var changes [3]string
		if err := row.Scan(&seq, &place.severity, &place.likelihood, &place.status, &changes[0], &changes[1], &changes[2]); err != nil {
			return err
		}
		if rows++; rows > maxMoved {
			return sqlite.ErrStop
		}
		if seq != last {
			o.moveRisk(now, before)
			last, now, before, known = seq, place, place, [3]bool{}
		}
		first, created := formerValues(changes)
		if created {
			return nil
		}
		for i, member := range []*string{&before.severity, &before.likelihood, &before.status} {
			if first[i] != nil && !known[i] {
				*member, known[i] = *first[i], true
			}
		}
		return nil
	}, changedRisks, org, d.movementSince(), maxMoved+1)
	o.moveRisk(now, before)
	o.MovementKnown = rows <= maxMoved
	return err
}

// formerValues returns the values of severity, likelihood and status before an event; nil
// for those that it did not change. An event that created the risk has no former values.
func formerValues(changes [3]string) (former [3]*string, created bool) {
	for i, text := range changes {
		var change struct{ From *string }
		if text == "" || json.Unmarshal([]byte(text), &change) != nil {
			continue
		}
		none := ""
		if former[i] = change.From; change.From == nil {
			created = created || i == 2 // every risk has a status
			former[i] = &none
		}
	}
	return former, created
}

// moveRisk counts a risk where it was before instead of where it is now.
func (o *Overview) moveRisk(now, before riskPlace) {
	if now == before {
		return
	}
	add := func(p riskPlace, n int) {
		if p.status != "Open" && p.status != "InProgress" {
			return
		}
		for i := range o.Risks {
			if o.Risks[i].Severity == p.severity && o.Risks[i].Likelihood == p.likelihood {
				o.Risks[i].Before += n
				return
			}
		}
		o.Risks = append(o.Risks, RiskCount{Severity: p.severity, Likelihood: p.likelihood, Before: n})
	}
	add(now, -1)
	add(before, 1)
}
