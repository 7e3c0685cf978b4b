package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"govsvc/server/api"
	"govsvc/web/records"
	"govsvc/web/ui"
)

// obligationParts are the statuses of obligations that apply, in the order of
// their bars.
var obligationParts = []ui.BarPart{
	{Label: "compliant", Tone: "good"},
	{Label: "in_progress", Tone: "info"},
	{Label: "at_risk", Tone: "high"},
	{Label: "non_compliant", Tone: "critical"},
	{Label: "not_started", Tone: "neutral"},
}

const notApplicable = "not_applicable"

// regimeState are obligations by regime and status.
type regimeState struct {
	tile   ui.Tile
	Stacks []ui.StackedBar
	More   int // regimes that have no bar, but a row in the table
	Legend []ui.BarPart
	Table  ui.Table
}

// regimesShown are those with a bar: the ones with most obligations.
const regimesShown = 8

func regimeStateOf(regimes []api.RegimeCount) regimeState {
	list := records.ListPath("obligation")
	state := regimeState{Table: ui.Table{Caption: "Obligations by regime and status", Columns: []ui.Column{{Label: "Regime"}}}}
	for _, p := range obligationParts {
		state.Table.Columns = append(state.Table.Columns, ui.Column{Label: ui.Humanize(p.Label), Kind: ui.Number})
	}
	state.Table.Columns = append(state.Table.Columns, ui.Column{Label: ui.Humanize(notApplicable), Kind: ui.Number})
	regimes = slices.Clone(regimes)
	slices.SortStableFunc(regimes, func(a, b api.RegimeCount) int { return cmp.Compare(b.Total, a.Total) })
	compliant, apply := 0, 0
	for i, r := range regimes {
		whole := r.Total - r.ByStatus[notApplicable]
		compliant, apply = compliant+r.ByStatus["compliant"], apply+whole
		name := cmp.Or(strings.TrimSpace(r.RegimeName), r.RegimeID)
		path := ui.WithQuery(list, "regime_id", r.RegimeID)
		row := ui.Row{Href: path, Cells: []any{name}}
		parts := slices.Clone(obligationParts)
		for j := range parts {
			parts[j].Count = r.ByStatus[parts[j].Label]
			row.Cells = append(row.Cells, parts[j].Count)
			parts[j].Label = ui.Humanize(parts[j].Label)
		}
		row.Cells = append(row.Cells, r.ByStatus[notApplicable])
		state.Table.Rows = append(state.Table.Rows, row)
		if i < regimesShown {
			s := ui.NewStackedBar(fmt.Sprintf("regime-%d", i), name, path, parts, whole)
			s.Note = ui.FormatNumber(r.ByStatus["compliant"]) + " of " + ui.FormatNumber(whole)
			state.Stacks = append(state.Stacks, s)
		}
	}
	all := slices.Clone(obligationParts)
	for i := range all {
		all[i].Label = ui.Humanize(all[i].Label)
	}
	state.More, state.Legend = len(regimes)-len(state.Stacks), ui.Legend(all, state.Stacks)
	state.tile = ui.Tile{Label: "Obligations met", Path: ui.WithQuery(list, "status", "compliant"), Value: "–", Note: "none apply"}
	if apply > 0 {
		state.tile.Value = ui.FormatPercent(compliant * 100 / apply)
		state.tile.Note = ui.FormatNumber(compliant) + " of " + ui.FormatNumber(apply) + " that apply"
	}
	return state
}

// vendorState are vendors by risk band, and contracts that end.
type vendorState struct {
	Bands    []bandRow
	Renewals ui.Table
	More     int // contracts that are not listed
	Path     string
}

// bandRow is how many vendors are in a risk band.
type bandRow struct {
	Band, Path string
	Count      int
	Bar        ui.BarPart
}

func vendorStateOf(result api.OverviewPage, now time.Time) vendorState {
	state := vendorState{Path: records.ListPath("vendor"), More: result.RenewalsDue - len(result.Renewals)}
	most := 0
	for _, b := range result.Vendors {
		most = max(most, b.Count)
	}
	for _, b := range result.Vendors {
		state.Bands = append(state.Bands, bandRow{
			Band: b.Band, Count: b.Count, Path: ui.WithQuery(state.Path, "initial_risk_band", b.Band, "status", staying),
			Bar: ui.NewBar(ui.Tone(b.Band), float64(b.Count)/float64(most)),
		})
	}
	state.Renewals = ui.Table{
		Caption: "Contracts that end within 90 days",
		Columns: []ui.Column{{Label: "Vendor"}, {Label: "Status", Kind: ui.Badge}, {Label: "Ends", Kind: ui.Time}, {Label: "In", Kind: ui.Number}},
	}
	for _, r := range result.Renewals {
		row := ui.Row{Href: records.Path("vendor", r.ID), Cells: []any{r.Name, r.Status, r.ContractEnd, nil}}
		if end, _, ok := ui.ParseTime(r.ContractEnd); ok {
			days := int(end.Sub(now.Truncate(24*time.Hour)).Hours() / 24)
			row.Cells[3] = ui.Plural(days, "day", "days")
			if days == 0 {
				row.Cells[3] = "today"
			}
		}
		state.Renewals.Rows = append(state.Renewals.Rows, row)
	}
	return state
}

// staying are the values of the filter for vendors that have not been left.
const staying = "active,under_review,negotiating,sunsetting,blocked"
