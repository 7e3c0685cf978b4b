package web

import (
	"fmt"
	"slices"
	"strings"

	"govsvc/server/api"
)

// heatMap counts open risks by how bad they would be and how likely they are.
// It is a table, so that it needs no other for screen readers.
type heatMap struct {
	Columns []string // likelihoods in words, the least first
	Rows    []heatRow
}

// heatRow are the risks of a severity.
type heatRow struct {
	Severity string // in words
	Path     string // of the list of these risks; "" if there is no such list
	Cells    []heatCell
}

// heatCell are the risks of a severity and a likelihood.
type heatCell struct {
	Count int
	Tone  string
	Path  string
	Says  string // what the number is, for screen readers
}

// openStatuses are the values of the filter for open risks.
const openStatuses = "Open,InProgress"

// heatMap arranges the counts. Risks that are not rated have a row or a column
// of their own, where there are any; no list can be narrowed to them.
func (v *visit) heatMap(counts []api.RiskCount) *heatMap {
	count := map[[2]string]int{}
	unrated := [2]bool{}
	for _, c := range counts {
		count[[2]string{c.Severity, c.Likelihood}] += c.Count
		unrated[0] = unrated[0] || c.Severity == ""
		unrated[1] = unrated[1] || c.Likelihood == ""
	}
	severities, likelihoods := v.riskLevels("severity"), v.riskLevels("likelihood")
	rank := map[string]int{}
	for i, severity := range severities {
		rank[severity] = len(severities) - i
	}
	for i, likelihood := range likelihoods {
		rank[likelihood] = i + 1
	}
	if unrated[0] {
		severities = append(severities, "")
	}
	if unrated[1] {
		likelihoods = append(likelihoods, "")
	}
	heat := &heatMap{}
	for _, likelihood := range likelihoods {
		heat.Columns = append(heat.Columns, levelWords(likelihood))
	}
	for _, severity := range severities {
		row := heatRow{Severity: levelWords(severity), Path: riskPath(severity, "")}
		for _, likelihood := range likelihoods {
			n := count[[2]string{severity, likelihood}]
			cell := heatCell{Count: n, Tone: zone(rank[severity] * rank[likelihood])}
			if n > 0 && severity != "" && likelihood != "" {
				cell.Path = riskPath(severity, likelihood)
			}
			cell.Says = fmt.Sprintf("%s, severity %s, likelihood %s", plural(n, "open risk", "open risks"),
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
	return query(nounOf("risk").list, "severity", severity, "likelihood", likelihood, "status", openStatuses)
}

func levelWords(level string) string {
	if level == "" {
		return "Not rated"
	}
	return words(level)
}

// zone is the colour of a cell by the product of its ranks: of 4 severities and
// of 5 likelihoods. 0 is one that is not rated.
func zone(product int) string {
	switch {
	case product >= 12:
		return "critical"
	case product >= 8:
		return "high"
	case product >= 3:
		return "medium"
	case product > 0:
		return "good"
	}
	return "neutral"
}
