package report

import (
	"strconv"

	"govsvc/db/report"
	"govsvc/server/api"
	"govsvc/web/ui"
)

// figuresOf returns the figures of a report.
func figuresOf(state api.BoardReport) report.Figures {
	figures := report.Figures{OpenRisks: state.OpenRisks, ActiveKpis: state.ActiveKpis, MilestonesCompleted: state.Milestones.Completed, Milestones: state.Milestones.Total}
	if n := len(state.Assessments); n > 0 {
		latest := state.Assessments[n-1]
		figures.OverallScore, figures.AdjustedScore = latest.OverallScore, latest.AdjustedScore
		if latest.Verdict != nil {
			figures.Verdict = *latest.Verdict
		}
	}
	for _, c := range state.Risks {
		switch c.Severity {
		case "CRITICAL":
			figures.CriticalRisks += c.Count
		case "HIGH":
			figures.HighRisks += c.Count
		}
	}
	if state.Incidents != nil {
		figures.OpenIncidents, figures.PendingNotifications = &state.Incidents.Open, &state.PendingClocks
	}
	figures.ObligationsMet, figures.ObligationsOverdue = state.Report.Obligations["compliant"], state.Overdue
	for status, n := range state.Report.Obligations {
		if status != "not_applicable" {
			figures.ObligationsApplicable += n
		}
	}
	for _, k := range state.Kpis {
		if k.Attainment != nil && *k.Attainment >= 1 {
			figures.KpisOnTarget++
		}
	}
	return figures
}

// figure is a row of the figures.
type figure struct {
	label string
	value func(report.Figures) *float64 // nil if it is unknown
	of    func(report.Figures) int      // the number of all; nil for none
}

func number(n int) *float64 {
	f := float64(n)
	return &f
}

func numberAt(n *int) *float64 {
	if n == nil {
		return nil
	}
	return number(*n)
}

// figures lists the rows in their order.
var figures = []figure{
	{label: "Overall score", value: func(f report.Figures) *float64 { return f.OverallScore }},
	{label: "Adjusted score", value: func(f report.Figures) *float64 { return f.AdjustedScore }},
	{label: "Open risks", value: func(f report.Figures) *float64 { return number(f.OpenRisks) }},
	{label: "Open critical risks", value: func(f report.Figures) *float64 { return number(f.CriticalRisks) }},
	{label: "Open high risks", value: func(f report.Figures) *float64 { return number(f.HighRisks) }},
	{label: "Open incidents", value: func(f report.Figures) *float64 { return numberAt(f.OpenIncidents) }},
	{label: "Pending notifications", value: func(f report.Figures) *float64 { return numberAt(f.PendingNotifications) }},
	{
		label: "Obligations met", value: func(f report.Figures) *float64 { return number(f.ObligationsMet) },
		of: func(f report.Figures) int { return f.ObligationsApplicable },
	},
	{label: "Overdue obligations", value: func(f report.Figures) *float64 { return number(f.ObligationsOverdue) }},
	{
		label: "KPIs on target", value: func(f report.Figures) *float64 { return number(f.KpisOnTarget) },
		of: func(f report.Figures) int { return f.ActiveKpis },
	},
	{
		label: "Milestones completed", value: func(f report.Figures) *float64 { return number(f.MilestonesCompleted) },
		of: func(f report.Figures) int { return f.Milestones },
	},
}

// figureTable returns the figures, next to those of an earlier report unless it is nil.
func figureTable(now report.Figures, earlier *report.Saved) ui.Table {
	table := ui.Table{Caption: "Figures of this report", Columns: []ui.Column{{Label: "Figure"}, {Label: "Now", Kind: ui.Number}}}
	if earlier != nil {
		table.Columns = append(table.Columns, ui.Column{Label: ui.FormatDay(earlier.At), Kind: ui.Number}, ui.Column{Label: "Change", Kind: ui.Number})
	}
	for _, f := range figures {
		value := f.value(now)
		if value == nil {
			continue
		}
		row := ui.Row{Cells: []any{f.label, f.text(now)}}
		if earlier != nil {
			row.Cells = append(row.Cells, f.text(earlier.Figures), nil)
			if before := f.value(earlier.Figures); before != nil {
				row.Cells[3] = signed(*value - *before)
			}
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

func (f figure) text(of report.Figures) any {
	value := f.value(of)
	switch {
	case value == nil:
		return nil
	case f.of != nil:
		return ui.FormatNumber(*value) + " of " + ui.FormatNumber(f.of(of))
	}
	return *value
}

// signed formats a difference with its sign.
func signed(change float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(change, 'f', 2, 64), 64)
	switch {
	case rounded == 0:
		return "no change"
	case rounded > 0:
		return "+" + ui.FormatNumber(rounded)
	}
	return ui.FormatNumber(rounded)
}
