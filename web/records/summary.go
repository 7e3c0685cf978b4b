package records

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// listSummary is shown above the first page of a list that is not filtered or sorted: where things stand, and how they
// have come there. Parts that the resource doesn't have are empty.
type listSummary struct {
	Regimes   *RegimeProgress
	Deadlines ui.Table
	Timeline  *timeline
	Charts    []*ui.LineChart
	RAG       []ui.LegendShape // explains the markers of Charts; nil for none
	More      int              // signals with a history but without a chart
}

// Bounds of the summaries.
const (
	maxRegimes      = 8
	maxSignalCharts = 6
)

// summarize returns the summary of a resource's list, and nil if it has none.
func summarize(r *page.Request, res *resource.Resource) (*listSummary, error) {
	switch res {
	case resource.Obligation:
		return complianceSummary(r)
	case resource.Milestone:
		phases, err := api.ReadTimeline(r.Context(), r.Caller)
		if timeline := timelineOf(phases, r.Store.Now()); timeline != nil {
			return &listSummary{Timeline: timeline}, err
		}
		return nil, err
	case resource.Assessment:
		all, err := api.AssessmentHistory(r.Context(), r.Caller)
		if len(all) < 2 || err != nil {
			return nil, err
		}
		if chart := ScoreChart("scores", all); chart != nil {
			return &listSummary{Charts: []*ui.LineChart{chart}}, nil
		}
	case resource.Signal:
		return signalSummary(r)
	}
	return nil, nil //nolint:nilnil // most lists have no summary
}

func complianceSummary(r *page.Request) (*listSummary, error) {
	compliance, err := api.ReadCompliance(r.Context(), r.Caller)
	if err != nil || len(compliance.Regimes) == 0 {
		return nil, err
	}
	progress := ProgressOf(compliance.Regimes, maxRegimes)
	return &listSummary{Regimes: &progress, Deadlines: DeadlineTable(compliance.Next, 160, r.Store.Now())}, nil
}

// signalSummary draws the signals that have more than one value.
func signalSummary(r *page.Request) (*listSummary, error) {
	all, err := api.ReadSignalHistory(r.Context(), r.Caller, "")
	if err != nil {
		return nil, err
	}
	var summary listSummary
	for _, history := range all {
		chart := signalChart("signal-"+ui.Text(len(summary.Charts)), history)
		switch {
		case chart == nil:
		case len(summary.Charts) == maxSignalCharts:
			summary.More++
		default:
			summary.Charts = append(summary.Charts, chart)
		}
	}
	if len(summary.Charts) == 0 {
		return nil, nil //nolint:nilnil // no signal has a history
	}
	summary.RAG = ui.RAGLegend()
	return &summary, nil
}

// signalChart draws the values of a signal with their bands. It returns nil if fewer than
// two values are numbers.
func signalChart(id string, history api.SignalHistory) *ui.LineChart {
	var points []ui.Point
	table := ui.Table{Caption: history.Type + ", latest first", Columns: []ui.Column{{Label: "As of"}, {Label: "Value", Kind: ui.Number}, {Label: "RAG", Kind: ui.Badge}}}
	for _, v := range history.Values {
		at, _, _ := ui.ParseTime(v.At)
		day := ui.FormatDay(v.At)
		table.Rows = slices.Insert(table.Rows, 0, ui.Row{Cells: []any{day, v.Value, v.RAG}})
		if v.Value != nil {
			points = append(points, ui.Point{Label: day, Value: *v.Value, At: at, Tone: ui.Tone(v.RAG)})
		}
	}
	if len(points) < 2 {
		return nil
	}
	return ui.DrawLines(ui.LineSpec{ID: id, Title: history.Type, XLabel: "As of", YLabel: "Value", Series: []ui.Series{{Points: points}}, Table: table})
}

// addSignalHistory adds the chart of a signal's values to its page.
func addSignalHistory(r *page.Request, record api.Record, data *recordData) error {
	all, err := api.ReadSignalHistory(r.Context(), r.Caller, ui.Text(record["signal_type"]))
	if err == nil && len(all) == 1 {
		data.Chart = signalChart("course", all[0])
	}
	return err
}

// RegimeProgress shows how many obligations of each regime are met. It is the argument of
// the block "regime-progress".
type RegimeProgress struct {
	Bars   []ui.StackedBar
	Legend []ui.BarPart
	Table  ui.Table // all regimes with the number in each status
	More   int      // regimes without a bar
}

// obligationParts are the parts of a bar, in their order. Obligations that are not
// applicable are only in the table.
var obligationParts = []ui.BarPart{
	{Label: "compliant", Tone: "good"},
	{Label: "in_progress", Tone: "info"},
	{Label: "at_risk", Tone: "high"},
	{Label: "non_compliant", Tone: "critical"},
	{Label: "not_started", Tone: "neutral"},
}

// ProgressOf arranges the regimes, those with the most obligations first. most bounds the
// bars.
func ProgressOf(regimes []api.RegimeCount, most int) RegimeProgress {
	const notApplicable = "not_applicable"
	progress := RegimeProgress{Table: ui.Table{Caption: "Obligations by regime and status", Columns: []ui.Column{{Label: "Regime"}}}}
	for _, p := range obligationParts {
		progress.Table.Columns = append(progress.Table.Columns, ui.Column{Label: ui.Humanize(p.Label), Kind: ui.Number})
	}
	progress.Table.Columns = append(progress.Table.Columns, ui.Column{Label: ui.Humanize(notApplicable), Kind: ui.Number},
		ui.Column{Label: "Overdue", Kind: ui.Number}, ui.Column{Label: "Next due", Kind: ui.Time})
	regimes = slices.Clone(regimes)
	slices.SortStableFunc(regimes, func(a, b api.RegimeCount) int { return cmp.Compare(b.Total, a.Total) })
	for i, r := range regimes {
		name := cmp.Or(strings.TrimSpace(r.RegimeName), r.RegimeID)
		row := ui.Row{Href: ListWith(resource.Obligation, "regime_id", r.RegimeID), Cells: []any{name}}
		parts := slices.Clone(obligationParts)
		for j := range parts {
			parts[j].Count = r.ByStatus[parts[j].Label]
			parts[j].Label = ui.Humanize(parts[j].Label)
			row.Cells = append(row.Cells, parts[j].Count)
		}
		row.Cells = append(row.Cells, r.ByStatus[notApplicable], r.Overdue, r.NextDue)
		progress.Table.Rows = append(progress.Table.Rows, row)
		if i < most {
			total := r.Total - r.ByStatus[notApplicable]
			bar := ui.NewStackedBar(fmt.Sprintf("regime-%d", i), ui.Truncate(name, 110), row.Href, parts, total)
			bar.Note = ui.FormatNumber(r.ByStatus["compliant"]) + " of " + ui.FormatNumber(total) + " met"
			bar.Overdue, bar.NextDue = r.Overdue, r.NextDue
			progress.Bars = append(progress.Bars, bar)
		}
	}
	all := slices.Clone(obligationParts)
	for i := range all {
		all[i].Label = ui.Humanize(all[i].Label)
	}
	progress.More, progress.Legend = len(regimes)-len(progress.Bars), ui.Legend(all, progress.Bars)
	return progress
}

// DueCell returns the due date of an open record, and nil without one.
func DueCell(due string, now time.Time) any {
	if due == "" {
		return nil
	}
	return ui.Deadline{At: due, Overdue: resource.IsOverdue(due, now)}
}

// DeadlineTable lists open obligations with their due dates. most bounds the characters of
// a title.
func DeadlineTable(list []api.ReportDeadline, most int, now time.Time) ui.Table {
	table := ui.Table{Caption: "Open obligations by due date", Columns: []ui.Column{
		{Label: "Obligation"}, {Label: "Regime"}, {Label: "Priority", Kind: ui.Badge}, {Label: "Status", Kind: ui.Badge}, {Label: "Owner"}, {Label: "Due", Kind: ui.Due},
	}}
	for _, o := range list {
		table.Rows = append(table.Rows, ui.Row{Href: Path("obligation", o.ID), Cells: []any{
			ui.Truncate(o.Title, most), ui.Truncate(shortRegime(o.RegimeName), 40), o.Priority, o.Status, ui.Truncate(o.Owner, 40), DueCell(o.Due, now),
		}})
	}
	return table
}

// ScoreChart draws the scores of assessments, which are oldest first, with the verdicts in
// its table. It returns nil if no assessment has a score.
func ScoreChart(id string, assessments []api.Assessment) *ui.LineChart {
	overall, adjusted := ui.Series{Name: "Overall score"}, ui.Series{Name: "Adjusted score"}
	table := ui.Table{Caption: "Assessments, latest first", Columns: []ui.Column{
		{Label: "Completed"}, {Label: "Verdict", Kind: ui.Badge}, {Label: "Overall", Kind: ui.Number}, {Label: "Adjusted", Kind: ui.Number},
	}}
	for _, a := range assessments {
		at, _, _ := ui.ParseTime(a.CompletedAt)
		day := ui.FormatDay(a.CompletedAt)
		if a.OverallScore != nil {
			overall.Points = append(overall.Points, ui.Point{Label: day, Value: *a.OverallScore, At: at})
		}
		if a.AdjustedScore != nil {
			adjusted.Points = append(adjusted.Points, ui.Point{Label: day, Value: *a.AdjustedScore, At: at})
		}
		table.Rows = slices.Insert(table.Rows, 0, ui.Row{Href: Path("assessment", a.ID), Cells: []any{day, a.Verdict, a.OverallScore, a.AdjustedScore}})
	}
	return ui.DrawLines(ui.LineSpec{
		ID: id, Title: "Scores over time", XLabel: "Completed", YLabel: "Score, 0 to 100", Series: []ui.Series{overall, adjusted},
		Include: []float64{0, 100}, Table: table,
	})
}

// timeline shows the milestones of a roadmap on an axis of dates. It is the argument of the
// block "timeline".
type timeline struct {
	Ticks  []ui.Tick
	Today  string // place on the axis
	Phases []timelinePhase
}

// timelinePhase is a phase with its first milestones.
type timelinePhase struct {
	Name    string
	Summary string // "2 of 4 completed, 1 overdue"
	Path    string // list of its milestones
	From    string // the span of the due dates; "" without any
	Width   string
	Rows    []timelineRow
	More    int // milestones without a row
}

// timelineRow is a milestone.
type timelineRow struct {
	Title, Path string
	Status, RAG string
	Due         string
	Overdue     bool
	Marker      *ui.Marker // nil without a due date
}

// timelineOf places the milestones. It returns nil if there are none.
func timelineOf(phases []api.TimelinePhase, now time.Time) *timeline {
	if len(phases) == 0 {
		return nil
	}
	from, to := bounds(phases, now)
	t := &timeline{Ticks: ui.TimeTicks(from, to), Today: ui.Percentage(ui.TimeShare(now, from, to))}
	for _, p := range phases {
		phase := timelinePhase{
			Name: p.Name, Path: ListWith(resource.Milestone, "phase", p.Name), More: p.Total - len(p.Milestones),
			Summary: ui.FormatNumber(p.Completed) + " of " + ui.FormatNumber(p.Total) + " completed",
		}
		if p.Overdue > 0 {
			phase.Summary += ", " + ui.FormatNumber(p.Overdue) + " overdue"
		}
		first, last := 2.0, -1.0
		for _, m := range p.Milestones {
			row := timelineRow{
				Title: m.Title, Path: Path("milestone", m.ID), Status: m.Status, RAG: m.RAG, Due: m.Due,
				Overdue: m.Status != "completed" && m.Due != "" && resource.IsOverdue(m.Due, now),
			}
			if at, _, ok := ui.ParseTime(m.Due); ok {
				share := ui.TimeShare(at, from, to)
				first, last = min(first, share), max(last, share)
				marker := ui.NewMarker(share, ui.Tone(m.RAG), strings.ToLower(ui.Humanize(m.Status))+", due "+ui.FormatDay(m.Due))
				row.Marker = &marker
			}
			phase.Rows = append(phase.Rows, row)
		}
		if last >= 0 {
			phase.From, phase.Width = ui.Percentage(first), ui.Percentage(last-first)
		}
		t.Phases = append(t.Phases, phase)
	}
	return t
}

// bounds returns the first and the last instant of the axis: of the due dates and today.
func bounds(phases []api.TimelinePhase, now time.Time) (from, to time.Time) {
	from, to = now, now
	for _, p := range phases {
		for _, m := range p.Milestones {
			at, _, ok := ui.ParseTime(m.Due)
			if ok && at.Before(from) {
				from = at
			}
			if ok && at.After(to) {
				to = at
			}
		}
	}
	return from, to
}
