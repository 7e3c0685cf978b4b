package overview

import (
	"cmp"
	"slices"
	"strings"

	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/web/records"
	"govsvc/web/ui"
)

// kpiState compares KPIs with their targets.
type kpiState struct {
	Rows    []kpiRow
	Summary string // "2 of 8 on target"
	More    int    // KPIs without a row
	Path    string
	Near    string // the attainment from which a KPI is near its target
}

// kpiRow is a KPI with its attainment.
type kpiRow struct {
	Name, Path string
	Current    string
	Target     string
	Attainment string // "" without a value
	Band       api.AttainmentBand
	Bar        ui.BarPart
}

// maxKpis bounds the rows: the KPIs that are furthest from their target.
const maxKpis = 8

func kpiStateOf(result api.OverviewPage) kpiState {
	state := kpiState{Path: records.ListWith(resource.KPI, "status", "active"), Near: ui.FormatPercent(api.NearShare * 100)}
	reached := 0
	list := slices.Clone(result.Kpis)
	slices.SortStableFunc(list, func(a, b api.KpiState) int { return cmp.Compare(attainmentOf(a), attainmentOf(b)) })
	for _, k := range list {
		if attainmentOf(k) == 1 {
			reached++
		}
		if len(state.Rows) == maxKpis {
			continue
		}
		row := kpiRow{Name: cmp.Or(strings.TrimSpace(k.MetricName), k.Code), Path: records.Path("kpi", k.ID), Target: ui.FormatUnit(k.Target, k.Unit)}
		if k.Current != nil {
			row.Current = ui.FormatUnit(*k.Current, k.Unit)
		}
		if k.Attainment != nil {
			row.Band = api.BandOf(*k.Attainment)
			row.Attainment, row.Bar = ui.FormatPercent(float64(int(*k.Attainment*100))), ui.NewBar(ui.Tone(string(row.Band)), *k.Attainment)
		}
		state.Rows = append(state.Rows, row)
	}
	state.More = result.ActiveKpis - len(state.Rows)
	state.Summary = ui.FormatNumber(reached) + " of " + ui.FormatNumber(result.ActiveKpis) + " on target"
	if result.ActiveKpis > len(result.Kpis) {
		state.Summary = ui.FormatNumber(reached) + " of the " + ui.FormatNumber(len(result.Kpis)) + " newest on target"
	}
	return state
}

// attainmentOf returns the attainment for sorting. KPIs without a value are last.
func attainmentOf(k api.KpiState) float64 {
	if k.Attainment == nil {
		return 2
	}
	return *k.Attainment
}
