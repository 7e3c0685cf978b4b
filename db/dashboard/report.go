package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/db/sqlite"
)

// Bounds of the lists of a board report, so that it has few pages with any number of
// records.
const (
	reportRisks     = 10
	reportClocks    = 6
	reportDeadlines = 8
	reportNew       = 5
)

// Report is what a board report shows besides the overview.
type Report struct {
	TopRisks       []TopRisk        // open ones, gravest first
	Clocks         []ReportIncident // with a pending notification, soonest deadline first
	PendingClocks  int              // all of them
	OverdueClocks  int
	Obligations    map[string]int   // all by status
	Overdue        int              // obligations that are open
	Deadlines      []ReportDeadline // of open obligations, soonest first, also passed ones
	Milestones     MilestoneCount   // of the active roadmap, without cancelled ones
	NewRisks       []TopRisk        // added since and still open, gravest first
	AddedRisks     int              // all that were added since, up to CountedRecords
	NewIncidents   []ReportIncident // declared since, newest first
	AddedIncidents int              // all of them, up to CountedRecords
}

// TopRisk is a risk of a report.
type TopRisk struct {
	ID, Key, Title, Status, Owner  string
	Severity, Likelihood, Residual string // "" if not rated
	Due                            string // "" for none
	New                            bool   // added since the instant that the report compares with
	SeverityBefore                 string // the ratings at that instant
	LikelihoodBefore               string
}

// ReportIncident is an incident of a report.
type ReportIncident struct {
	ID, Title, Severity, Status string
	Deadline                    string // of the notification; "" if it needs none
	CreatedAt                   string
}

// ReportDeadline is an open obligation with a due date.
type ReportDeadline struct {
	ID, Title, RegimeName, Priority, Status, Owner, Due string
}

// MilestoneCount counts milestones.
type MilestoneCount struct{ Total, Completed, Overdue int }

// ReadReport reads the lists of a board report. since is the stored timestamp that it
// compares with. It runs as a search of the user.
func ReadReport(ctx context.Context, store *db.DB, org db.Organisation, user, since string) (Report, error) {
	var r Report
	err := store.Search(ctx, user, func(ctx context.Context, pool *sqlite.Pool) error {
		reader := reportReader{pool, org.Org, since, db.Timestamp(store.Now())}
		for _, part := range []func(context.Context, *Report) error{
			reader.topRisks, reader.movement, reader.clocks, reader.obligations, reader.deadlines, reader.milestones, reader.newRisks, reader.newIncidents,
		} {
			if err := part(ctx, &r); err != nil {
				return db.StoreError(err)
			}
		}
		return nil
	})
	return r, err
}

// reportReader reads the parts of a report.
type reportReader struct {
	*sqlite.Pool
	org   db.Org
	since string
	now   string
}

// today returns the day of now.
func (d reportReader) today() string { return d.now[:len("2006-01-02")] }

const topRisk = `SELECT id, risk_id, coalesce(nullif(trim(title), ''), risk_id), status, coalesce(owner_name, ''),
	coalesce(severity, ''), coalesce(likelihood, ''), coalesce(residual_severity, ''), coalesce(target_date, ''), created_at > ?2 FROM risks`

func scanTopRisk(row db.Scanner) (TopRisk, error) {
	var k TopRisk
	err := row.Scan(&k.ID, &k.Key, &k.Title, &k.Status, &k.Owner, &k.Severity, &k.Likelihood, &k.Residual, &k.Due, &k.New)
	k.SeverityBefore, k.LikelihoodBefore = k.Severity, k.Likelihood
	return k, err
}

// ratedRisks reads open risks with a severity and a likelihood, which may be null, along
// the index risks_open.
var ratedRisks = topRisk + ` WHERE org_id = ?1 AND status IN ('Open', 'InProgress') AND severity IS ?3 AND likelihood IS ?4` +
	unarchived(resource.Risk) + " LIMIT ?5"

// topRisks reads the gravest open risks, from the gravest rating down until there are
// enough.
func (d reportReader) topRisks(ctx context.Context, r *Report) error {
	for _, severity := range gravestFirst(resource.Severities) {
		for _, likelihood := range gravestFirst(resource.Likelihoods) {
			if len(r.TopRisks) == reportRisks {
				return nil
			}
			err := d.Each(ctx, func(row db.Scanner) error {
				risk, err := scanTopRisk(row)
				r.TopRisks = append(r.TopRisks, risk)
				return err
			}, ratedRisks, d.org, d.since, severity, likelihood, reportRisks-len(r.TopRisks))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// gravestFirst returns the levels of a scale, the last of which is the gravest, and nil for
// records without a level at the end.
func gravestFirst(levels []string) []any {
	all := make([]any, 0, len(levels)+1)
	for _, level := range slices.Backward(levels) {
		all = append(all, level)
	}
	return append(all, nil)
}

// ratingChanges reads what the audit log says about a risk since an instant, oldest first.
// The event that created the risk has no former status.
const ratingChanges = `SELECT coalesce(event -> '$.metadata.changes.severity', ''), coalesce(event -> '$.metadata.changes.likelihood', ''),
		coalesce(event -> '$.metadata.changes.status.from' = 'null', 0)
	FROM audit_events INDEXED BY audit_events_by_resource
	WHERE resource_id = ?1 AND org_id = ?2 AND time > ?3 AND event ->> 'resource_type' = 'risk' ORDER BY seq LIMIT 200`

// movement adds the former ratings to the top risks: those before their first change.
func (d reportReader) movement(ctx context.Context, r *Report) error {
	for i := range r.TopRisks {
		risk := &r.TopRisks[i]
		if risk.New {
			continue
		}
		known := [2]bool{}
		err := d.Each(ctx, func(row db.Scanner) error {
			var texts [2]string
			var created bool
			if err := row.Scan(&texts[0], &texts[1], &created); err != nil || created {
				return err
			}
			for j, former := range []*string{&risk.SeverityBefore, &risk.LikelihoodBefore} {
				var change struct{ From *string }
				if known[j] || texts[j] == "" || json.Unmarshal([]byte(texts[j]), &change) != nil {
					continue
				}
				known[j], *former = true, ""
				if change.From != nil {
					*former = *change.From
				}
			}
			return nil
		}, ratingChanges, risk.ID, d.org, d.since)
		if err != nil {
			return err
		}
	}
	return nil
}

// pendingClocks has the condition of the index incidents_clocks.
var pendingClocks = " FROM incidents WHERE org_id = ?1 AND " + resource.Incident.Attention.OpenSQL() + unarchived(resource.Incident)

const reportIncident = "SELECT id, title, severity, status, coalesce(notification_deadline, ''), created_at"

func (d reportReader) clocks(ctx context.Context, r *Report) error {
	if err := d.Row(ctx, "SELECT count(*), coalesce(sum(notification_deadline < ?2), 0)"+pendingClocks, d.org, d.now).Scan(&r.PendingClocks, &r.OverdueClocks); err != nil {
		return err
	}
	return d.incidents(ctx, &r.Clocks, reportIncident+pendingClocks+" ORDER BY notification_deadline, seq LIMIT ?2", d.org, reportClocks)
}

func (d reportReader) incidents(ctx context.Context, into *[]ReportIncident, query string, args ...any) error {
	return d.Each(ctx, func(row db.Scanner) error {
		var i ReportIncident
		err := row.Scan(&i.ID, &i.Title, &i.Severity, &i.Status, &i.Deadline, &i.CreatedAt)
		*into = append(*into, i)
		return err
	}, query, args...)
}

// openDeadlines reads the open obligations by their due dates. Callers add a limit.
var openDeadlines = `SELECT id, title, regime_name, priority_band, status, coalesce(owner_role, ''), target_date
	FROM obligations WHERE org_id = ?1 AND ` + resource.Obligation.Attention.OpenSQL() + ` AND target_date > ''` +
	unarchived(resource.Obligation) + " ORDER BY target_date, seq LIMIT ?2"

func (d reportReader) obligations(ctx context.Context, r *Report) error {
	r.Obligations = map[string]int{}
	err := d.Each(ctx, func(row db.Scanner) error {
		var status string
		var count int
		err := row.Scan(&status, &count)
		r.Obligations[status] = count
		return err
	}, "SELECT status, count(*) FROM obligations WHERE org_id = ?1"+unarchived(resource.Obligation)+" GROUP BY status", d.org)
	if err != nil {
		return err
	}
	return d.Row(ctx, "SELECT count(*) FROM obligations WHERE org_id = ?1 AND "+resource.Obligation.Attention.OpenSQL()+" AND target_date > '' AND target_date < ?2"+
		unarchived(resource.Obligation), d.org, d.today()).Scan(&r.Overdue)
}

func (d reportReader) deadlines(ctx context.Context, r *Report) (err error) {
	r.Deadlines, err = readDeadlines(ctx, d.Pool, d.org, reportDeadlines)
	return err
}

func readDeadlines(ctx context.Context, pool *sqlite.Pool, org db.Org, limit int) ([]ReportDeadline, error) {
	var all []ReportDeadline
	err := pool.Each(ctx, func(row db.Scanner) error {
		var o ReportDeadline
		err := row.Scan(&o.ID, &o.Title, &o.RegimeName, &o.Priority, &o.Status, &o.Owner, &o.Due)
		all = append(all, o)
		return err
	}, openDeadlines, org, limit)
	return all, err
}

func (d reportReader) milestones(ctx context.Context, r *Report) error {
	return d.Row(ctx, `SELECT count(*), coalesce(sum(status = 'completed'), 0), coalesce(sum(status <> 'completed' AND target_date < ?2), 0)
		FROM milestones WHERE org_id = ?1 AND `+resource.Milestone.List.Where+` AND status <> 'cancelled'`+unarchived(resource.Milestone),
		d.org, d.today()).Scan(&r.Milestones.Total, &r.Milestones.Completed, &r.Milestones.Overdue)
}

// addedSince selects the records of a table that were added since an instant, newest
// first, up to CountedRecords.
func addedSince(table string) string {
	return fmt.Sprintf("(SELECT seq FROM %s WHERE org_id = ?1 AND created_at > ?2 ORDER BY created_at DESC LIMIT %d)", table, CountedRecords)
}

// newOpenRisks reads the gravest of the open risks that were added since.
var newOpenRisks = topRisk + " WHERE seq IN " + addedSince("risks") + " AND status IN ('Open', 'InProgress')" + unarchived(resource.Risk) +
	" ORDER BY " + rankSQL("severity", resource.Severities) + " DESC, " + rankSQL("likelihood", resource.Likelihoods) + " DESC, seq LIMIT ?3"

func (d reportReader) newRisks(ctx context.Context, r *Report) error {
	if err := d.Row(ctx, "SELECT count(*) FROM "+addedSince("risks"), d.org, d.since).Scan(&r.AddedRisks); err != nil {
		return err
	}
	return d.Each(ctx, func(row db.Scanner) error {
		risk, err := scanTopRisk(row)
		r.NewRisks = append(r.NewRisks, risk)
		return err
	}, newOpenRisks, d.org, d.since, reportNew)
}

// rankSQL returns the place of a value in a scale as an expression, from 1; 0 for others.
func rankSQL(column string, levels []string) string {
	var key strings.Builder
	key.WriteString("CASE " + column)
	for i, level := range levels {
		fmt.Fprintf(&key, " WHEN '%s' THEN %d", level, i+1)
	}
	return key.String() + " ELSE 0 END"
}

func (d reportReader) newIncidents(ctx context.Context, r *Report) error {
	if err := d.Row(ctx, "SELECT count(*) FROM "+addedSince("incidents"), d.org, d.since).Scan(&r.AddedIncidents); err != nil {
		return err
	}
	return d.incidents(ctx, &r.NewIncidents, reportIncident+" FROM incidents WHERE org_id = ?1 AND created_at > ?2"+
		unarchived(resource.Incident)+" ORDER BY created_at DESC, id DESC LIMIT ?3", d.org, d.since, reportNew)
}
