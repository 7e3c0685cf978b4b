package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

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
	tile   ui.Tile
	Bars   []ui.StackedBar
	More   int // regimes without a bar, which are in the table only
	Legend []ui.BarPart
	Table  ui.Table
}

// maxRegimes bounds the regimes with a bar: those with the most obligations.
const maxRegimes = 8

func regimeStateOf(regimes []api.RegimeCount) regimeState {
	state := regimeState{Table: ui.Table{Caption: "Obligations by regime and status", Columns: []ui.Column{{Label: "Regime"}}}}
	for _, p := range obligationParts {
		state.Table.Columns = append(state.Table.Columns, ui.Column{Label: ui.Humanize(p.Label), Kind: ui.Number})
	}
	state.Table.Columns = append(state.Table.Columns, ui.Column{Label: ui.Humanize(notApplicable), Kind: ui.Number})
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
		row.Cells = append(row.Cells, r.ByStatus[notApplicable])
		state.Table.Rows = append(state.Table.Rows, row)
		if i < maxRegimes {
			s := ui.NewStackedBar(fmt.Sprintf("regime-%d", i), name, path, parts, total)
			s.Note = ui.FormatNumber(r.ByStatus["compliant"]) + " of " + ui.FormatNumber(total)
			state.Bars = append(state.Bars, s)
		}
	}
	all := slices.Clone(obligationParts)
	for i := range all {
		all[i].Label = ui.Humanize(all[i].Label)
	}
	state.More, state.Legend = len(regimes)-len(state.Bars), ui.Legend(all, state.Bars)
	state.tile = ui.Tile{Label: "Obligations met", Path: records.ListWith(resource.Obligation, "status", "compliant"), Value: "–", Note: "none applicable"}
	if applicable > 0 {
		state.tile.Value = ui.FormatPercent(compliant * 100 / applicable)
		state.tile.Note = ui.FormatNumber(compliant) + " of " + ui.FormatNumber(applicable) + " applicable"
	}
	return state
}

// vendorState counts vendors by risk band, and lists contracts that end soon.
type vendorState struct {
	Bands    []bandRow
	Renewals ui.Table
	More     int // contracts without a row
	Path     string
}

// bandRow counts the vendors of a risk band.
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
			Band: b.Band, Count: b.Count, Path: records.ListWith(resource.Vendor, "initial_risk_band", b.Band, "status", currentVendors),
			Bar: ui.NewBar(ui.Tone(b.Band), float64(b.Count)/float64(most)),
		})
	}
	state.Renewals = ui.Table{
		Caption: "Contracts ending in 90 days",
		Columns: []ui.Column{{Label: "Vendor"}, {Label: "Status", Kind: ui.Badge}, {Label: "Ends", Kind: ui.Time}, {Label: "Time left", Kind: ui.Number}},
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

// currentVendors are the filter values for vendors that are in use.
const currentVendors = "active,under_review,negotiating,sunsetting,blocked"
