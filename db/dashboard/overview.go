package dashboard

import (
	"context"
	"time"

	"govsvc/db"
	"govsvc/db/sqlite"
)

// Overview is the state of an organisation.
type Overview struct {
	Assessments []Assessment // the latest, oldest first, at most 12
	Risks       []RiskCount  // that are Open or InProgress
	Incidents   IncidentState
	Kpis        []KpiState // the newest 50 active ones, by code
	ActiveKpis  int
	Obligations []RegimeCount // at most 50 regimes, by id
	Vendors     []BandCount   // without exited ones
	Renewals    []Renewal     // that are due within RenewalsAhead, soonest first, at most 10
	RenewalsDue int           // the number of all renewals within RenewalsAhead
	Recent      [][]byte      // the latest changes of records, audit events as JSON, newest first, at most 25
}

// RenewalsAhead is the period of the renewals in the overview.
const RenewalsAhead = 90 * 24 * time.Hour

// Assessment is a completed assessment. Unknown values are nil.
type Assessment struct {
	ID            string
	OverallScore  *float64
	AdjustedScore *float64
	Verdict       *string
	Confidence    *float64
	CompletedAt   string
}

// RiskCount is the number of open risks with a severity and a likelihood; "" for risks
// without a rating.
type RiskCount struct {
	Severity, Likelihood string
	Count                int
}

// IncidentState counts open incidents, which are those before resolved, and the running
// notification clocks of incidents that are not closed.
type IncidentState struct {
	Open       int
	BySeverity map[string]int
	Clocks     []IncidentClock // soonest deadline first, at most 10
	Running    int             // the number of all clocks
}

// IncidentClock is an incident with a required notification that was not sent yet.
type IncidentClock struct {
	ID, Title, Severity, Status, Deadline string
}

// KpiState is a key result with its values. Unknown values are nil.
type KpiState struct {
	ID, Code, Statement, MetricName, Unit, Direction string
	Baseline, Current                                *float64
	Target                                           float64
	CurrentAsOf                                      *string
}

// RegimeCount counts the obligations of a regime by status.
type RegimeCount struct {
	RegimeID, RegimeName string
	ByStatus             map[string]int
	Total                int
}

// BandCount counts the vendors of a risk band.
type BandCount struct {
	Band  string
	Count int
}

// Renewal is a vendor whose contract ends soon.
type Renewal struct {
	ID, Name, Status, ContractEnd string
}

// ReadOverview reads the state of an organisation. Each part has an index, so that the
// overview is fast with a hundred thousand risks. It runs as a search of the user, because
// its time grows with the data.
func ReadOverview(ctx context.Context, store *db.DB, org db.Organisation, user string) (Overview, error) {
	var o Overview
	err := store.Search(ctx, user, func(ctx context.Context, pool *sqlite.Pool) error {
		r := overviewReader{store, pool}
		for _, part := range []func(context.Context, db.Org, *Overview) error{
			r.recentAssessments, r.openRiskCounts, r.incidentClocks, r.openIncidentCounts, r.activeKpis,
			r.regimeCounts, r.vendorBandCounts, r.renewals, r.recentEvents,
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

func (d overviewReader) recentAssessments(ctx context.Context, org db.Org, o *Overview) error {
	return d.Each(ctx, func(row db.Scanner) error {
		var a Assessment
		err := row.Scan(&a.ID, &a.OverallScore, &a.AdjustedScore, &a.Verdict, &a.Confidence, &a.CompletedAt)
		o.Assessments = append([]Assessment{a}, o.Assessments...)
		return err
	}, `SELECT id, overall_score, adjusted_score, verdict, confidence, completed_at FROM assessments
		WHERE org_id = ? ORDER BY completed_at DESC LIMIT 12`, org)
}

const openRisks = `SELECT coalesce(severity, ''), coalesce(likelihood, ''), count(*) FROM risks
	WHERE org_id = ? AND status IN ('Open', 'InProgress') GROUP BY severity, likelihood`

func (d overviewReader) openRiskCounts(ctx context.Context, org db.Org, o *Overview) error {
	return d.Each(ctx, func(row db.Scanner) error {
		var c RiskCount
		err := row.Scan(&c.Severity, &c.Likelihood, &c.Count)
		o.Risks = append(o.Risks, c)
		return err
	}, openRisks, org)
}

const runningClocks = ` FROM incidents WHERE org_id = ? AND notification_required = 1 AND notified_at IS NULL AND status <> 'closed'`

func (d overviewReader) incidentClocks(ctx context.Context, org db.Org, o *Overview) error {
	if err := d.Row(ctx, "SELECT count(*)"+runningClocks, org).Scan(&o.Incidents.Running); err != nil {
		return db.StoreError(err)
	}
	return d.Each(ctx, func(row db.Scanner) error {
		var c IncidentClock
		err := row.Scan(&c.ID, &c.Title, &c.Severity, &c.Status, &c.Deadline)
		o.Incidents.Clocks = append(o.Incidents.Clocks, c)
		return err
	}, "SELECT id, title, severity, status, notification_deadline"+runningClocks+" ORDER BY notification_deadline, seq LIMIT 10", org)
}

// openIncidents has the condition of the index incidents_open, so that SQLite uses it.
const openIncidents = `SELECT severity, count(*) FROM incidents
	WHERE org_id = ? AND (status = 'open' OR status = 'investigating' OR status = 'contained') GROUP BY severity`

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
	if err := d.Row(ctx, "SELECT count(*) FROM kpis WHERE org_id = ? AND status = 'active'", org).Scan(&o.ActiveKpis); err != nil {
		return db.StoreError(err)
	}
	return d.Each(ctx, func(row db.Scanner) error {
		var k KpiState
		err := row.Scan(&k.ID, &k.Code, &k.Statement, &k.MetricName, &k.Unit, &k.Direction, &k.Baseline, &k.Target, &k.Current, &k.CurrentAsOf)
		o.Kpis = append(o.Kpis, k)
		return err
	}, `SELECT * FROM (SELECT id, code, statement, metric_name, unit, direction, baseline_value, target_value, current_value, current_as_of
			FROM kpis WHERE org_id = ? AND status = 'active' ORDER BY created_at DESC, id DESC LIMIT 50)
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
		FROM (SELECT regime_id, status, count(*) AS n FROM obligations WHERE org_id = ?1 GROUP BY regime_id, status LIMIT 306) c
		ORDER BY c.regime_id, c.status`, org)
}

const vendorBands = `SELECT initial_risk_band, count(*) FROM vendors WHERE org_id = ? AND status <> 'exited' GROUP BY initial_risk_band
	ORDER BY CASE initial_risk_band WHEN 'CRITICAL' THEN 1 WHEN 'HIGH' THEN 2 WHEN 'MEDIUM' THEN 3 ELSE 4 END`

func (d overviewReader) vendorBandCounts(ctx context.Context, org db.Org, o *Overview) error {
	return d.Each(ctx, func(row db.Scanner) error {
		var b BandCount
		err := row.Scan(&b.Band, &b.Count)
		o.Vendors = append(o.Vendors, b)
		return err
	}, vendorBands, org)
}

const ending = " FROM vendors WHERE org_id = ? AND status <> 'exited' AND contract_end BETWEEN ? AND ?"

func (d overviewReader) renewals(ctx context.Context, org db.Org, o *Overview) error {
	today := d.db.Now().Format(time.DateOnly)
	last := d.db.Now().Add(RenewalsAhead).Format(time.DateOnly)
	if err := d.Row(ctx, "SELECT count(*)"+ending, org, today, last).Scan(&o.RenewalsDue); err != nil {
		return db.StoreError(err)
	}
	return d.Each(ctx, func(row db.Scanner) error {
		var r Renewal
		err := row.Scan(&r.ID, &r.Name, &r.Status, &r.ContractEnd)
		o.Renewals = append(o.Renewals, r)
		return err
	}, "SELECT id, vendor_name, status, contract_end"+ending+" ORDER BY contract_end, seq LIMIT 10", org, today, last)
}

// recentEvents reads changes of records, without reads and sign-ins, which are far more
// frequent. An import counts as one change. It searches a bounded number of events. A
// quotation mark within a text has a backslash, so that no text matches a member.
func (d overviewReader) recentEvents(ctx context.Context, org db.Org, o *Overview) error {
	return d.Each(ctx, func(row db.Scanner) error {
		var event []byte
		err := row.Scan(&event)
		o.Recent = append(o.Recent, event)
		return err
	}, `SELECT event FROM (SELECT seq, event FROM audit_events WHERE org_id = ? ORDER BY seq DESC LIMIT 10000)
		WHERE instr(event, '"category":"data_change"') AND event ->> 'category' = 'data_change'
		AND (NOT instr(event, '"import_id":"') OR instr(event, '"action":"import.completed"')) ORDER BY seq DESC LIMIT 25`, org)
}
