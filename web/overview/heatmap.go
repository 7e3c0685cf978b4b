package overview

import (
	"fmt"
	"slices"
	"strings"

	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/server/openapi"
	"govsvc/web/records"
	"govsvc/web/ui"
)

// openStatuses are the values of the filter for open risks.
const openStatuses = "Open,InProgress"

// riskHeatMap arranges the counts. Risks that are not rated have a row or a column
// of their own, where there are any; no list can be narrowed to them.
func riskHeatMap(counts []api.RiskCount, severities, likelihoods []string) *ui.HeatMap {
	count := map[[2]string]int{}
	unrated := [2]bool{}
	for _, c := range counts {
		count[[2]string{c.Severity, c.Likelihood}] += c.Count
		unrated[0] = unrated[0] || c.Severity == ""
		unrated[1] = unrated[1] || c.Likelihood == ""
	}
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

// riskLevels returns the values of a filter of risks in the document.
func riskLevels(document *openapi.Document, filter string) []string {
	filters := api.Filters(document, resource.Risk)
	at := slices.IndexFunc(filters, func(f api.Filter) bool { return f.Name == filter })
	return slices.Clone(filters[at].Values)
}

// riskPath is the list of open risks of a severity, and of a likelihood if that
// is not "".
func riskPath(severity, likelihood string) string {
	if severity == "" {
		return ""
	}
	return ui.WithQuery(records.ListPath("risk"), "severity", severity, "likelihood", likelihood, "status", openStatuses)
}

func levelWords(level string) string {
	if level == "" {
		return "Not rated"
	}
	return ui.Humanize(level)
}
