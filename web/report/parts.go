package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"govsvc/db/dashboard"
	"govsvc/db/report"
	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/web/records"
	"govsvc/web/ui"
)

// Bounds of the parts, so that the report has at most six pages.
const (
	maxName    = 110 // characters of a title
	maxOwner   = 40  // characters of an owner
	maxRegimes = 8
	maxKpis    = 10
)

// assessmentPart is the verdict and the trend.
type assessmentPart struct {
	Verdict  string
	Sentence string
	At       string
	Trend    *ui.LineChart
}

func assessmentPartOf(all []api.Assessment) *assessmentPart {
	if len(all) == 0 {
		return nil
	}
	latest := all[len(all)-1]
	part := &assessmentPart{At: latest.CompletedAt}
	if latest.Verdict != nil {
		part.Verdict = *latest.Verdict
	}
	if len(all) > 1 && latest.OverallScore != nil {
		before := all[len(all)-2]
		if before.OverallScore != nil {
			part.Sentence = fmt.Sprintf("The overall score is %s, after %s on %s.", ui.FormatNumber(*latest.OverallScore), ui.FormatNumber(*before.OverallScore), ui.FormatDay(before.CompletedAt))
		}
		if before.Verdict != nil && latest.Verdict != nil && *before.Verdict != *latest.Verdict {
			part.Sentence += fmt.Sprintf(" The verdict was %s.", strings.ToLower(ui.Humanize(*before.Verdict)))
		}
	}
	part.Trend = records.ScoreChart("scores", all)
	if part.Trend != nil {
		part.Trend.Table = ui.Table{} // the assessments' page has the values
	}
	return part
}

// riskPart lists the gravest open risks.
type riskPart struct {
	Summary string
	Table   ui.Table
}

func riskPartOf(state api.BoardReport, now time.Time) riskPart {
	bySeverity := map[string]int{}
	for _, c := range state.Risks {
		bySeverity[c.Severity] += c.Count
	}
	counts := make([]string, 0, len(resource.Severities)+1)
	for _, severity := range slices.Backward(resource.Severities) {
		counts = append(counts, ui.FormatNumber(bySeverity[severity])+" "+strings.ToLower(severity))
	}
	if n := bySeverity[""]; n > 0 {
		counts = append(counts, ui.FormatNumber(n)+" not rated")
	}
	part := riskPart{Summary: ui.Plural(state.OpenRisks, "open risk", "open risks") + ": " + strings.Join(counts, ", ") + "."}
	part.Table = ui.Table{Caption: "Open risks, gravest first", Columns: []ui.Column{
		{Label: "Risk"}, {Label: "Severity", Kind: ui.Badge}, {Label: "Likelihood"}, {Label: "Residual", Kind: ui.Badge}, {Label: "Movement"}, {Label: "Owner"}, {Label: "Due", Kind: ui.Due},
	}}
	for _, k := range state.TopRisks {
		part.Table.Rows = append(part.Table.Rows, ui.Row{Href: records.Path("risk", k.ID), Cells: []any{
			ui.Truncate(k.Title, maxName), k.Severity, ui.Humanize(k.Likelihood), k.Residual, movement(k), ui.Truncate(k.Owner, maxOwner), records.DueCell(k.Due, now),
		}})
	}
	return part
}

// movement says how the rating of a risk has changed.
func movement(k api.TopRisk) string {
	before, after := slices.Index(resource.Severities, k.SeverityBefore), slices.Index(resource.Severities, k.Severity)
	likelihoodBefore, likelihood := slices.Index(resource.Likelihoods, k.LikelihoodBefore), slices.Index(resource.Likelihoods, k.Likelihood)
	from := func(level string) string { return strings.ToLower(cmp.Or(ui.Humanize(level), "not rated")) }
	switch {
	case k.New:
		return "New"
	case after > before:
		return "Up from " + from(k.SeverityBefore)
	case after < before:
		return "Down from " + from(k.SeverityBefore)
	case likelihood > likelihoodBefore:
		return "Likelihood up from " + from(k.LikelihoodBefore)
	case likelihood < likelihoodBefore:
		return "Likelihood down from " + from(k.LikelihoodBefore)
	}
	return "Unchanged"
}

// incidentPart lists the running clocks.
type incidentPart struct {
	Summary string
	Table   ui.Table
	More    int // clocks without a row
}

func incidentPartOf(state api.BoardReport, now time.Time) *incidentPart {
	if state.Incidents == nil {
		return nil
	}
	var counts []string
	for _, severity := range []string{"critical", "high", "medium", "low"} {
		if n := state.Incidents.BySeverity[severity]; n > 0 {
			counts = append(counts, ui.FormatNumber(n)+" "+severity)
		}
	}
	part := &incidentPart{Summary: ui.Plural(state.Incidents.Open, "open incident", "open incidents"), More: state.PendingClocks - len(state.Clocks)}
	if len(counts) > 0 {
		part.Summary += ": " + strings.Join(counts, ", ")
	}
	part.Summary += ". " + ui.Plural(state.PendingClocks, "notification is", "notifications are") + " pending"
	if state.OverdueClocks > 0 {
		part.Summary += ", " + ui.FormatNumber(state.OverdueClocks) + " overdue"
	}
	part.Summary += "."
	part.Table = ui.Table{Caption: "Notification clocks", Shown: true, Columns: []ui.Column{
		{Label: "Incident"}, {Label: "Severity", Kind: ui.Badge}, {Label: "Status"}, {Label: "Notify by", Kind: ui.Time}, {Label: "Time left"},
	}}
	for _, i := range state.Clocks {
		left := ""
		if at, _, ok := ui.ParseTime(i.Deadline); ok {
			left = ui.FormatTimeLeft(at.Sub(now))
		}
		part.Table.Rows = append(part.Table.Rows, ui.Row{Href: records.Path("incident", i.ID), Cells: []any{
			ui.Truncate(i.Title, maxName), i.Severity, ui.Humanize(i.Status), i.Deadline, left,
		}})
	}
	return part
}

// obligationPart shows the progress of each regime and the next deadlines.
type obligationPart struct {
	Summary   string
	Regimes   records.RegimeProgress
	Deadlines ui.Table
}

func obligationPartOf(state api.BoardReport, figures report.Figures, now time.Time) obligationPart {
	part := obligationPart{
		Summary: fmt.Sprintf("%s of %s applicable obligations are met, %s overdue.", ui.FormatNumber(figures.ObligationsMet),
			ui.FormatNumber(figures.ObligationsApplicable), ui.Plural(figures.ObligationsOverdue, "is", "are")),
		Regimes: records.ProgressOf(state.OverviewPage.Obligations, maxRegimes),
	}
	part.Deadlines = records.DeadlineTable(state.Deadlines, maxName, now)
	part.Deadlines.Caption, part.Deadlines.Shown = "Next deadlines", true
	return part
}

// kpiPart lists the key results that are furthest from their targets.
type kpiPart struct {
	Summary string
	Table   ui.Table
	More    int // active ones without a row
}

func kpiPartOf(state api.BoardReport, figures report.Figures) kpiPart {
	part := kpiPart{Summary: fmt.Sprintf("%s of %s are on target.", ui.FormatNumber(figures.KpisOnTarget), ui.Plural(figures.ActiveKpis, "active KPI", "active KPIs"))}
	if figures.ActiveKpis > len(state.Kpis) {
		part.Summary = fmt.Sprintf("%s of the %s newest KPIs are on target. %s are active.", ui.FormatNumber(figures.KpisOnTarget), ui.FormatNumber(len(state.Kpis)), ui.FormatNumber(figures.ActiveKpis))
	}
	part.Table = ui.Table{Caption: "KPIs, furthest from target first", Columns: []ui.Column{
		{Label: "KPI"}, {Label: "Baseline", Kind: ui.Number}, {Label: "Value", Kind: ui.Number}, {Label: "Target", Kind: ui.Number}, {Label: "Attainment", Kind: ui.Percent}, {Label: "As of"},
	}}
	list := slices.Clone(state.Kpis)
	slices.SortStableFunc(list, func(a, b api.KpiState) int { return cmp.Compare(attainment(a), attainment(b)) })
	for _, k := range list[:min(len(list), maxKpis)] {
		row := ui.Row{Href: records.Path("kpi", k.ID), Cells: []any{
			ui.Truncate(cmp.Or(strings.TrimSpace(k.MetricName), k.Code), maxName), withUnit(k.Baseline, k.Unit), withUnit(k.Current, k.Unit), ui.FormatUnit(k.Target, k.Unit), nil, nil,
		}}
		if k.Attainment != nil {
			row.Cells[4] = float64(int(*k.Attainment * 100))
		}
		if k.CurrentAsOf != nil {
			row.Cells[5] = ui.FormatDay(*k.CurrentAsOf)
		}
		part.Table.Rows = append(part.Table.Rows, row)
	}
	part.More = state.ActiveKpis - len(part.Table.Rows)
	return part
}

func withUnit(value *float64, unit string) any {
	if value == nil {
		return nil
	}
	return ui.FormatUnit(*value, unit)
}

// attainment returns the attainment for sorting. KPIs without a value are last.
func attainment(k api.KpiState) float64 {
	if k.Attainment == nil {
		return 2
	}
	return *k.Attainment
}

// changePart lists what was added in the period.
type changePart struct {
	Summary   string
	Risks     ui.Table
	Incidents ui.Table
}

func changePartOf(state api.BoardReport, now time.Time) changePart {
	part := changePart{Summary: addedText(state.AddedRisks, "risk was added", "risks were added")}
	part.Risks = ui.Table{Caption: "New open risks, gravest first", Shown: true, Columns: []ui.Column{
		{Label: "Risk"}, {Label: "Severity", Kind: ui.Badge}, {Label: "Likelihood"}, {Label: "Status"}, {Label: "Owner"}, {Label: "Due", Kind: ui.Due},
	}}
	for _, k := range state.NewRisks {
		part.Risks.Rows = append(part.Risks.Rows, ui.Row{Href: records.Path("risk", k.ID), Cells: []any{
			ui.Truncate(k.Title, maxName), k.Severity, ui.Humanize(k.Likelihood), ui.Humanize(k.Status), ui.Truncate(k.Owner, maxOwner), records.DueCell(k.Due, now),
		}})
	}
	if state.Incidents == nil {
		part.Summary += "."
		return part
	}
	part.Summary += " and " + addedText(state.AddedIncidents, "incident was declared", "incidents were declared") + "."
	part.Incidents = ui.Table{Caption: "New incidents, latest first", Shown: true, Columns: []ui.Column{
		{Label: "Incident"}, {Label: "Severity", Kind: ui.Badge}, {Label: "Status"}, {Label: "Declared", Kind: ui.Time},
	}}
	for _, i := range state.NewIncidents {
		part.Incidents.Rows = append(part.Incidents.Rows, ui.Row{Href: records.Path("incident", i.ID), Cells: []any{
			ui.Truncate(i.Title, maxName), i.Severity, ui.Humanize(i.Status), i.CreatedAt,
		}})
	}
	return part
}

// addedText counts what was added. The count has a bound.
func addedText(n int, one, many string) string {
	if n >= dashboard.CountedRecords {
		return "at least " + ui.Plural(n, one, many)
	}
	return ui.Plural(n, one, many)
}
