package dashboard

import (
	"context"
	"time"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/db/sqlite"
)

// Overview is the state of an organisation.
type Overview struct {
	Assessments []Assessment // the latest, oldest first, at most 12
	Risks       []RiskCount  // that are Open or InProgress, or were MovementDays ago
	// MovementKnown reports whether Risks has the counts of MovementDays ago. They are
	// unknown if too many risks have changed since.
	MovementKnown bool
	Incidents     IncidentState
	Kpis          []KpiState // the newest 50 active ones, by code
	ActiveKpis    int
	Obligations   []RegimeCount // at most 50 regimes, by id
	Phases        []PhaseState  // of the active roadmap, in their order, at most 20
	Recent        [][]byte      // the latest changes of records, audit events as JSON, newest first, at most recentEvents
}

// Assessment is a completed assessment. Unknown values are nil.
type Assessment struct {
	ID            string
	OverallScore  *float64
	AdjustedScore *float64
	Verdict       *string
	Confidence    *float64
	CompletedAt   string
}

// IncidentState counts open incidents, which are those before resolved.
type IncidentState struct {
	Open       int
	BySeverity map[string]int
}

// KpiState is a key result with its values. Unknown values are nil.
type KpiState struct {
	ID, Code, Statement, MetricName, Unit, Direction string
	Baseline, Current                                *float64
	Target                                           float64
	CurrentAsOf                                      *string
}

// RegimeCount counts the obligations of a regime by status, and its deadlines.
type RegimeCount struct {
	RegimeID, RegimeName string
	ByStatus             map[string]int
	Total                int
	Overdue              int    // open obligations whose due date has passed
	NextDue              string // the next due date of an open obligation, from today on; "" for none
}

// PhaseState counts the milestones of a phase by status, without cancelled ones.
type PhaseState struct {
	Name      string
	Total     int
	Completed int
	Blocked   int
	Overdue   int
	NextDue   string // the next due date of an open milestone, from today on; "" for none
}

// ReadOverview reads the state of an organisation. Each part has an index, so that the
// overview is fast with a hundred thousand risks. It runs as a search of the user, because
// its time grows with the data.
func ReadOverview(ctx context.Context, store *db.DB, org db.Organisation, user string) (Overview, error) {
	var o Overview
	err := store.Search(ctx, user, func(ctx context.Context, pool *sqlite.Pool) error {
		r := overviewReader{store, pool}
		for _, part := range []func(context.Context, db.Org, *Overview) error{
			r.recentAssessments, r.openRiskCounts, r.riskMovement, r.openIncidentCounts, r.activeKpis,
			r.regimeCounts, r.regimeDeadlines, r.roadmapPhases, r.recentEvents,
		} {
			if err := part(ctx, org.Org, &o); err != nil {
				return err
			}
		}
		return nil
	})
	return o, err
}

// overviewReader reads the parts of an overview.
type overviewReader struct {
	db *db.DB
	*sqlite.Pool
}

// today returns the day of the store's clock, in UTC.
func (d overviewReader) today() string { return d.db.Now().UTC().Format(time.DateOnly) }

func (d overviewReader) recentAssessments(ctx context.Context, org db.Org, o *Overview) error {
	return d.Each(ctx, func(row db.Scanner) error {
		var a Assessment
		err := row.Scan(&a.ID, &a.OverallScore, &a.AdjustedScore, &a.Verdict, &a.Confidence, &a.CompletedAt)
		o.Assessments = append([]Assessment{a}, o.Assessments...)
		return err
	}, `SELECT id, overall_score, adjusted_score, verdict, confidence, completed_at FROM assessments
		WHERE org_id = ? ORDER BY completed_at DESC LIMIT 12`, org)
}

// openIncidents has the condition of the index incidents_open, so that SQLite uses it.
var openIncidents = `SELECT severity, count(*) FROM incidents
	WHERE org_id = ?1 AND (status = 'open' OR status = 'investigating' OR status = 'contained')` + unarchived(resource.Incident) + " GROUP BY severity"

func (d overviewReader) openIncidentCounts(ctx context.Context, org db.Org, o *Overview) error {
	o.Incidents.BySeverity = map[string]int{}
	return d.Each(ctx, func(row db.Scanner) error {
		var severity string
		var count int
		err := row.Scan(&severity, &count)
		o.Incidents.BySeverity[severity] = count
		o.Incidents.Open += count
		return err
	}, openIncidents, org)
}

func (d overviewReader) activeKpis(ctx context.Context, org db.Org, o *Overview) error {
	if err := d.Row(ctx, "SELECT count(*) FROM kpis WHERE org_id = ?1 AND status = 'active'"+unarchived(resource.KPI), org).Scan(&o.ActiveKpis); err != nil {
		return db.StoreError(err)
	}
	return d.Each(ctx, func(row db.Scanner) error {
		var k KpiState
		err := row.Scan(&k.ID, &k.Code, &k.Statement, &k.MetricName, &k.Unit, &k.Direction, &k.Baseline, &k.Target, &k.Current, &k.CurrentAsOf)
		o.Kpis = append(o.Kpis, k)
		return err
	}, `SELECT * FROM (SELECT id, code, statement, metric_name, unit, direction, baseline_value, target_value, current_value, current_as_of
			FROM kpis WHERE org_id = ?1 AND status = 'active'`+unarchived(resource.KPI)+` ORDER BY created_at DESC, id DESC LIMIT 50)
		ORDER BY code`, org)
}

func (d overviewReader) regimeCounts(ctx context.Context, org db.Org, o *Overview) error {
	return d.Each(ctx, func(row db.Scanner) error {
		var id, name, status string
		var count int
		if err := row.Scan(&id, &status, &count, &name); err != nil {
			return err
		}
		last := len(o.Obligations) - 1
		if last < 0 || o.Obligations[last].RegimeID != id {
			if last++; last == 50 {
				return nil
			}
			o.Obligations = append(o.Obligations, RegimeCount{RegimeID: id, RegimeName: name, ByStatus: map[string]int{}})
		}
		o.Obligations[last].ByStatus[status] = count
		o.Obligations[last].Total += count
		return nil
	}, `SELECT c.regime_id, c.status, c.n,
			(SELECT regime_name FROM obligations o WHERE o.org_id = ?1 AND o.regime_id = c.regime_id ORDER BY created_at DESC, id DESC LIMIT 1)
		FROM (SELECT regime_id, status, count(*) AS n FROM obligations WHERE org_id = ?1`+unarchived(resource.Obligation)+` GROUP BY regime_id, status LIMIT 306) c
		ORDER BY c.regime_id, c.status`, org)
}

// regimeDeadlines adds the deadlines to the regimes.
func (d overviewReader) regimeDeadlines(ctx context.Context, org db.Org, o *Overview) error {
	at := map[string]int{}
	for i, regime := range o.Obligations {
		at[regime.RegimeID] = i
	}
	return d.Each(ctx, func(row db.Scanner) error {
		var id, next string
		var overdue int
		if err := row.Scan(&id, &overdue, &next); err != nil {
			return err
		}
		if i, shown := at[id]; shown {
			o.Obligations[i].Overdue, o.Obligations[i].NextDue = overdue, next
		}
		return nil
	}, regimeDeadlines, org, d.today())
}

// regimeDeadlines reads one index of open obligations.
var regimeDeadlines = `SELECT regime_id, sum(target_date < ?2), coalesce(min(iif(target_date >= ?2, target_date, NULL)), '')
	FROM obligations WHERE org_id = ?1 AND ` + resource.Obligation.Attention.OpenSQL() + " AND target_date > ''" + unarchived(resource.Obligation) + " GROUP BY regime_id"

func (d overviewReader) roadmapPhases(ctx context.Context, org db.Org, o *Overview) error {
	return d.Each(ctx, func(row db.Scanner) error {
		var p PhaseState
		err := row.Scan(&p.Name, &p.Total, &p.Completed, &p.Blocked, &p.Overdue, &p.NextDue)
		o.Phases = append(o.Phases, p)
		return err
	}, `SELECT phase, count(*), sum(status = 'completed'), sum(status = 'blocked'), coalesce(sum(status <> 'completed' AND target_date < ?2), 0),
			coalesce(min(iif(status <> 'completed' AND target_date >= ?2, target_date, NULL)), '')
		FROM milestones WHERE org_id = ?1 AND `+resource.Milestone.List.Where+` AND status <> 'cancelled'`+unarchived(resource.Milestone)+`
		GROUP BY phase ORDER BY coalesce((SELECT min(p.key) FROM roadmaps r, json_each(r.phases) p
			WHERE r.org_id = ?1 AND r.id = roadmap_id AND json_extract(r.phases, p.fullkey || '.phase') = phase), 1000), min(target_date), phase
		LIMIT 20`, org, d.today())
}
