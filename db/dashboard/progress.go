package dashboard

import (
	"cmp"
	"context"
	"slices"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/db/sqlite"
)

// Compliance is the progress of the obligations, and the next deadlines.
type Compliance struct {
	Regimes []RegimeCount    // at most 50
	Next    []ReportDeadline // open obligations, soonest first, at most reportDeadlines
}

// ReadCompliance reads the progress of the obligations. It runs as a search of the user.
func ReadCompliance(ctx context.Context, store *db.DB, org db.Organisation, user string) (Compliance, error) {
	var c Compliance
	err := store.Search(ctx, user, func(ctx context.Context, pool *sqlite.Pool) (err error) {
		var o Overview
		r := overviewReader{store, pool}
		if err = r.regimeCounts(ctx, org.Org, &o); err != nil {
			return err
		}
		if err = r.regimeDeadlines(ctx, org.Org, &o); err != nil {
			return err
		}
		c.Regimes = o.Obligations
		c.Next, err = readDeadlines(ctx, pool, org.Org, reportDeadlines)
		return err
	})
	return c, err
}

// Bounds of a timeline.
const (
	timelinePhases = 12
	timelineRows   = 10 // milestones of a phase
)

// TimelinePhase is a phase of the active roadmap with its milestones, without cancelled
// ones.
type TimelinePhase struct {
	Name                      string
	Total, Completed, Overdue int
	Milestones                []TimelineMilestone // open ones first, then by due date; at most timelineRows
}

// TimelineMilestone is a milestone of a timeline.
type TimelineMilestone struct {
	ID, Title, Status, RAG string
	Progress               float64
	Due                    string // "" for none
}

// timelineOrder reads the names of the phases of the active roadmap, in their order.
const timelineOrder = `SELECT coalesce(p.value ->> 'phase', '') FROM roadmaps r, json_each(r.phases) p
	WHERE r.org_id = ?1 AND r.id = (SELECT id FROM roadmaps WHERE org_id = ?1 ORDER BY version_number DESC LIMIT 1) ORDER BY p.key LIMIT 1000`

// timeline reads the first milestones of each phase, with the counts of the phase.
var timeline = `SELECT phase, id, title, status, rag_status, progress_pct, due, total, completed, overdue FROM (
		SELECT phase, id, title, status, rag_status, progress_pct, coalesce(target_date, '') AS due,
			count(*) OVER of_phase AS total, sum(status = 'completed') OVER of_phase AS completed,
			coalesce(sum(status <> 'completed' AND target_date < ?2) OVER of_phase, 0) AS overdue,
			row_number() OVER (PARTITION BY phase ORDER BY status = 'completed', target_date IS NULL, target_date, sequence) AS place
		FROM milestones WHERE org_id = ?1 AND ` + resource.Milestone.List.Where + ` AND status <> 'cancelled'` + unarchived(resource.Milestone) + `
		WINDOW of_phase AS (PARTITION BY phase))
	WHERE place <= ?3 ORDER BY phase, place LIMIT 5000`

// ReadTimeline reads the phases of the active roadmap in their order, at most
// timelinePhases. It runs as a search of the user.
func ReadTimeline(ctx context.Context, store *db.DB, org db.Organisation, user string) ([]TimelinePhase, error) {
	var phases []TimelinePhase
	err := store.Search(ctx, user, func(ctx context.Context, pool *sqlite.Pool) error {
		order := map[string]int{}
		err := pool.Each(ctx, func(row db.Scanner) error {
			var name string
			err := row.Scan(&name)
			if _, known := order[name]; !known {
				order[name] = len(order) + 1
			}
			return err
		}, timelineOrder, org.Org)
		if err != nil {
			return err
		}
		err = pool.Each(ctx, func(row db.Scanner) error {
			var p TimelinePhase
			var m TimelineMilestone
			if err := row.Scan(&p.Name, &m.ID, &m.Title, &m.Status, &m.RAG, &m.Progress, &m.Due, &p.Total, &p.Completed, &p.Overdue); err != nil {
				return err
			}
			if n := len(phases); n == 0 || phases[n-1].Name != p.Name {
				phases = append(phases, p)
			}
			last := &phases[len(phases)-1]
			last.Milestones = append(last.Milestones, m)
			return nil
		}, timeline, org.Org, store.Now().UTC().Format("2006-01-02"), timelineRows)
		place := func(p TimelinePhase) int { return cmp.Or(order[p.Name], len(order)+1) }
		slices.SortStableFunc(phases, func(a, b TimelinePhase) int { return cmp.Compare(place(a), place(b)) })
		return err
	})
	return phases[:min(len(phases), timelinePhases)], err
}

// assessmentHistory bounds the assessments of a chart.
const assessmentHistory = 40

// AssessmentHistory reads the latest assessments, oldest first.
func AssessmentHistory(ctx context.Context, store *db.DB, org db.Organisation) ([]Assessment, error) {
	var all []Assessment
	err := store.Each(ctx, func(row db.Scanner) error {
		var a Assessment
		err := row.Scan(&a.ID, &a.OverallScore, &a.AdjustedScore, &a.Verdict, &a.Confidence, &a.CompletedAt)
		all = append(all, a)
		return err
	}, `SELECT id, overall_score, adjusted_score, verdict, confidence, completed_at FROM assessments
		WHERE org_id = ? ORDER BY completed_at DESC LIMIT ?`, org.Org, assessmentHistory)
	slices.Reverse(all)
	return all, err
}

// Bounds of the history of signals.
const (
	signalTypes  = 50
	signalValues = 40 // of a type
)

// SignalHistory is the latest values of a type of signal, oldest first.
type SignalHistory struct {
	Type, CurrentID string
	Values          []SignalValue
}

// SignalValue is a measured value. A signal may have a band without a number.
type SignalValue struct {
	At, RAG string
	Value   *float64
}

const currentSignals = "SELECT signal_type, id FROM signals WHERE org_id = ? AND current = 1 ORDER BY signal_type LIMIT ?"

// signalHistory reads the values of a type along the unique key.
const signalHistory = "SELECT as_of, coalesce(rag, ''), numeric_value FROM signals WHERE org_id = ? AND signal_type = ? ORDER BY as_of DESC LIMIT ?"

// ReadSignalHistory reads the values of the types of signals, by type: of one type, or with
// "" of the first signalTypes. It runs as a search of the user.
func ReadSignalHistory(ctx context.Context, store *db.DB, org db.Organisation, user, signalType string) ([]SignalHistory, error) {
	var all []SignalHistory
	err := store.Search(ctx, user, func(ctx context.Context, pool *sqlite.Pool) error {
		if signalType != "" {
			all = []SignalHistory{{Type: signalType}}
		} else if err := pool.Each(ctx, func(row db.Scanner) error {
			var h SignalHistory
			err := row.Scan(&h.Type, &h.CurrentID)
			all = append(all, h)
			return err
		}, currentSignals, org.Org, signalTypes); err != nil {
			return err
		}
		for i := range all {
			err := pool.Each(ctx, func(row db.Scanner) error {
				var v SignalValue
				err := row.Scan(&v.At, &v.RAG, &v.Value)
				all[i].Values = append(all[i].Values, v)
				return err
			}, signalHistory, org.Org, all[i].Type, signalValues)
			if err != nil {
				return err
			}
			slices.Reverse(all[i].Values)
		}
		return nil
	})
	return all, err
}
