package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/web/records"
	"govsvc/web/ui"
)

// obligationParts are the statuses of applicable obligations, in the order of the
// parts of a bar.
var obligationParts = []ui.BarPart{
	{Label: "compliant", Tone: "good"},
	{Label: "in_progress", Tone: "info"},
	{Label: "at_risk", Tone: "high"},
	{Label: "non_compliant", Tone: "critical"},
	{Label: "not_started", Tone: "neutral"},
}

const notApplicable = "not_applicable"

// regimeState counts obligations by regime and status.
type regimeState struct {
	Bars    []ui.StackedBar
	More    int // regimes without a bar, which are in the table only
	Legend  []ui.BarPart
	Table   ui.Table
	Summary string // "54 of 116 met"; "" if none applies
}

// maxRegimes bounds the regimes with a bar: those with the most obligations.
const maxRegimes = 8

func regimeStateOf(regimes []api.RegimeCount) regimeState {
	state := regimeState{Table: ui.Table{Caption: "Obligations by regime and status", Columns: []ui.Column{{Label: "Regime"}}}}
	for _, p := range obligationParts {
		state.Table.Columns = append(state.Table.Columns, ui.Column{Label: ui.Humanize(p.Label), Kind: ui.Number})
	}
	state.Table.Columns = append(state.Table.Columns, ui.Column{Label: ui.Humanize(notApplicable), Kind: ui.Number},
		ui.Column{Label: "Overdue", Kind: ui.Number}, ui.Column{Label: "Next due", Kind: ui.Time})
	regimes = slices.Clone(regimes)
	slices.SortStableFunc(regimes, func(a, b api.RegimeCount) int { return cmp.Compare(b.Total, a.Total) })
	compliant, applicable := 0, 0
	for i, r := range regimes {
		total := r.Total - r.ByStatus[notApplicable]
		compliant, applicable = compliant+r.ByStatus["compliant"], applicable+total
		name := cmp.Or(strings.TrimSpace(r.RegimeName), r.RegimeID)
		path := records.ListWith(resource.Obligation, "regime_id", r.RegimeID)
		row := ui.Row{Href: path, Cells: []any{name}}
		parts := slices.Clone(obligationParts)
		for j := range parts {
			parts[j].Count = r.ByStatus[parts[j].Label]
			row.Cells = append(row.Cells, parts[j].Count)
			parts[j].Label = ui.Humanize(parts[j].Label)
		}
		row.Cells = append(row.Cells, r.ByStatus[notApplicable], r.Overdue, r.NextDue)
		state.Table.Rows = append(state.Table.Rows, row)
		if i < maxRegimes {
			s := ui.NewStackedBar(fmt.Sprintf("regime-%d", i), name, path, parts, total)
			s.Note = ui.FormatNumber(r.ByStatus["compliant"]) + " of " + ui.FormatNumber(total) + " met"
			s.Overdue, s.NextDue = r.Overdue, r.NextDue
			state.Bars = append(state.Bars, s)
		}
	}
	all := slices.Clone(obligationParts)
	for i := range all {
		all[i].Label = ui.Humanize(all[i].Label)
	}
	state.More, state.Legend = len(regimes)-len(state.Bars), ui.Legend(all, state.Bars)
	if applicable > 0 {
		state.Summary = ui.FormatNumber(compliant) + " of " + ui.FormatNumber(applicable) + " met (" + ui.FormatPercent(compliant*100/applicable) + ")"
	}
	return state
}
