package web

import (
	"fmt"
	"slices"
	"strings"

	"govsvc/server/api"
	"govsvc/web/ui"
)

// openStatuses are the values of the filter for open risks.
const openStatuses = "Open,InProgress"

// heatMap arranges the counts. Risks that are not rated have a row or a column
// of their own, where there are any; no list can be narrowed to them.
func (v *visit) heatMap(counts []api.RiskCount) *ui.HeatMap {
	count := map[[2]string]int{}
	unrated := [2]bool{}
	for _, c := range counts {
		count[[2]string{c.Severity, c.Likelihood}] += c.Count
		unrated[0] = unrated[0] || c.Severity == ""
		unrated[1] = unrated[1] || c.Likelihood == ""
	}
	severities, likelihoods := v.riskLevels("severity"), v.riskLevels("likelihood")
	rows, columns := severities, likelihoods
	if unrated[0] {
		rows = append(rows, "")
	}
	if unrated[1] {
		columns = append(columns, "")
	}
	heat := &ui.HeatMap{}
	for _, likelihood := range columns {
		heat.Columns = append(heat.Columns, levelWords(likelihood))
	}
	for _, severity := range rows {
		row := ui.HeatRow{Label: levelWords(severity), Path: riskPath(severity, "")}
		for _, likelihood := range columns {
			n := count[[2]string{severity, likelihood}]
			cell := ui.HeatCell{Count: n, Tone: ui.HeatTone(severities, likelihoods, severity, likelihood)}
			if n > 0 && severity != "" && likelihood != "" {
				cell.Path = riskPath(severity, likelihood)
			}
			cell.Description = fmt.Sprintf("%s, severity %s, likelihood %s", ui.Plural(n, "open risk", "open risks"),
				strings.ToLower(levelWords(severity)), strings.ToLower(levelWords(likelihood)))
			row.Cells = append(row.Cells, cell)
		}
		heat.Rows = append(heat.Rows, row)
	}
	return heat
}

// riskLevels are the values of a filter of risks, as the document has them.
func (v *visit) riskLevels(filter string) []string {
	filters := v.family(nounOf("risk")).Filters
	at := slices.IndexFunc(filters, func(f api.Filter) bool { return f.Name == filter })
	if at < 0 {
		return nil
	}
	return slices.Clone(filters[at].Values)
}

// riskPath is the list of open risks of a severity, and of a likelihood if that
// is not "".
func riskPath(severity, likelihood string) string {
	if severity == "" {
		return ""
	}
	return ui.WithQuery(nounOf("risk").list, "severity", severity, "likelihood", likelihood, "status", openStatuses)
}

func levelWords(level string) string {
	if level == "" {
		return "Not rated"
	}
	return ui.Humanize(level)
}
