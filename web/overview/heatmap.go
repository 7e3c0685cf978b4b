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

// openStatuses are the filter values for open risks.
const openStatuses = "Open,InProgress"

// riskState is the heat map of the open risks with its movement.
type riskState struct {
	Open    int
	Path    string
	Summary string // "24 open, 5 critical"
	Change  string // of the number of open risks
	Known   bool   // the movement is known
	Days    int    // that the movement covers
	Heat    *ui.HeatMap
}

func riskStateOf(result api.OverviewPage, severities, likelihoods []string) riskState {
	critical := 0
	for _, c := range result.Risks {
		if c.Severity == "CRITICAL" {
			critical += c.Count
		}
	}
	state := riskState{
		Open: result.OpenRisks, Path: records.ListWith(resource.Risk, "status", openStatuses), Known: result.MovementKnown, Days: api.MovementDays,
		Summary: ui.FormatNumber(result.OpenRisks) + " open, " + ui.FormatNumber(critical) + " critical",
		Heat:    riskHeatMap(result.Risks, result.MovementKnown, severities, likelihoods),
	}
	switch moved := result.OpenRisks - result.OpenBefore; {
	case !state.Known:
	case moved > 0:
		state.Change = ui.FormatNumber(moved) + " more than"
	case moved < 0:
		state.Change = ui.FormatNumber(-moved) + " fewer than"
	default:
		state.Change = "As many as"
	}
	return state
}

// riskHeatMap arranges the counts in a heat map. Unrated risks, if any, have a row or
// a column without a link, because no filter selects them.
func riskHeatMap(counts []api.RiskCount, moved bool, severities, likelihoods []string) *ui.HeatMap {
	count, before := map[[2]string]int{}, map[[2]string]int{}
	unrated := [2]bool{}
	for _, c := range counts {
		at := [2]string{c.Severity, c.Likelihood}
		count[at] += c.Count
		before[at] += c.Before
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
		heat.Columns = append(heat.Columns, levelLabel(likelihood))
	}
	for _, severity := range rows {
		row := ui.HeatRow{Label: levelLabel(severity), Path: riskPath(severity, "")}
		for _, likelihood := range columns {
			n := count[[2]string{severity, likelihood}]
			cell := ui.HeatCell{Count: n, Tone: ui.HeatTone(severities, likelihoods, severity, likelihood)}
			if n > 0 && severity != "" && likelihood != "" {
				cell.Path = riskPath(severity, likelihood)
			}
			// The description has the shown text, as speech control needs.
			shown, what, when := ui.FormatNumber(n), "open risks", ""
			if n == 1 {
				what = "open risk"
			}
			if change := n - before[[2]string{severity, likelihood}]; moved && change != 0 {
				cell.Change = ui.FormatSigned(change)
				shown, when = shown+" "+cell.Change, fmt.Sprintf(", changed in %d days", api.MovementDays)
			}
			cell.Description = fmt.Sprintf("%s %s, severity %s, likelihood %s%s", shown, what,
				strings.ToLower(levelLabel(severity)), strings.ToLower(levelLabel(likelihood)), when)
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
	if at < 0 {
		return nil
	}
	return slices.Clone(filters[at].Values)
}

// riskPath returns the list of open risks with a severity and, unless it is "", a
// likelihood.
func riskPath(severity, likelihood string) string {
	if severity == "" {
		return ""
	}
	return records.ListWith(resource.Risk, "severity", severity, "likelihood", likelihood, "status", openStatuses)
}

func levelLabel(level string) string {
	if level == "" {
		return "Not rated"
	}
	return ui.Humanize(level)
}
