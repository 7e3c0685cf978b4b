// Package overview has the first page of the dashboard.
package overview

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"govsvc/db/auth"
	"govsvc/server/api"
	"govsvc/server/openapi"
	"govsvc/web/page"
	"govsvc/web/records"
	"govsvc/web/ui"
)

// overviewData is what the first page shows. A part that is nil or empty has
// nothing to show.
type overviewData struct {
	Now        time.Time // clocks run from it
	Begin      *beginning
	Tiles      []ui.Tile
	Assessment *assessmentState
	OpenRisks  int
	Heat       *ui.HeatMap
	Incidents  *incidentState // nil if the plan has none
	Kpis       kpiState
	Regimes    regimeState
	Vendors    vendorState
	Happenings []happening
}

// Page has the first page.
type Page struct{ severities, likelihoods []string }

// New reads the levels of the heat map from the document.
func New(document *openapi.Document) *Page {
	return &Page{riskLevels(document, "severity"), riskLevels(document, "likelihood")}
}

// beginning says what to do where there is nothing yet.
type beginning struct{ Imports, Mints bool }

// Show is the first page.
func (o *Page) Show(r *page.Request) error {
	result, err := api.Overview(r.Context(), r.Caller)
	if err != nil {
		return err
	}
	data := overviewData{Now: r.Store.Now()}
	if nothingYet(result) {
		data.Begin = &beginning{r.May(auth.WriteRecords), r.May(auth.Administer)}
		return r.Render("overview", "Overview", data)
	}
	data.Assessment = assessmentStateOf(result.Assessments)
	data.OpenRisks, data.Heat = result.OpenRisks, riskHeatMap(result.Risks, o.severities, o.likelihoods)
	data.Incidents = incidentStateOf(result.Incidents, data.Now)
	data.Kpis, data.Regimes, data.Vendors = kpiStateOf(result), regimeStateOf(result.Obligations), vendorStateOf(result, data.Now)
	data.Tiles = data.tiles(result)
	if data.Happenings, err = activities(r, result.Recent); err != nil {
		return err
	}
	return r.Render("overview", "Overview", data)
}

// nothingYet tells whether the organisation has no record that counts here.
func nothingYet(result api.OverviewPage) bool {
	return result.Latest == nil && result.OpenRisks == 0 && result.ActiveKpis == 0 && len(result.Obligations) == 0 && len(result.Vendors) == 0 &&
		(result.Incidents == nil || result.Incidents.Open == 0 && result.Incidents.Running == 0) && len(result.Recent) == 0
}

// tiles are the figures at the top.
func (d *overviewData) tiles(result api.OverviewPage) []ui.Tile {
	critical := 0
	for _, c := range result.Risks {
		if c.Severity == "CRITICAL" {
			critical += c.Count
		}
	}
	tiles := []ui.Tile{{
		Label: "Open risks", Path: ui.WithQuery(records.ListPath("risk"), "status", openStatuses),
		Value: ui.FormatNumber(result.OpenRisks), Note: ui.FormatNumber(critical) + " critical",
	}}
	if d.Incidents != nil {
		t := ui.Tile{Label: "Open incidents", Path: d.Incidents.Path, Value: ui.FormatNumber(d.Incidents.Open), Note: ui.Plural(d.Incidents.Running, "clock runs", "clocks run")}
		if overdue := d.Incidents.Overdue(); overdue > 0 {
			t.Note, t.Urgent = ui.Plural(overdue, "notification overdue", "notifications overdue"), true
		}
		tiles = append(tiles, t)
	}
	return append(tiles, d.Kpis.tile, d.Regimes.tile, ui.Tile{
		Label: "Contracts that end", Path: records.ListPath("vendor"), Value: ui.FormatNumber(result.RenewalsDue), Note: "within 90 days",
	})
}

// assessmentState is the latest assessment and those before it.
type assessmentState struct {
	Path    string
	Verdict *string
	At      string
	Scores  []score
	Trend   *ui.LineChart
}

// score is a figure of an assessment.
type score struct{ Value, Label string }

func assessmentStateOf(all []api.Assessment) *assessmentState {
	if len(all) == 0 {
		return nil
	}
	latest := all[len(all)-1]
	state := &assessmentState{Path: records.Path("assessment", latest.ID), Verdict: latest.Verdict, At: latest.CompletedAt}
	for _, one := range []struct {
		label string
		value *float64
	}{{"overall", latest.OverallScore}, {"adjusted", latest.AdjustedScore}} {
		if one.value != nil {
			state.Scores = append(state.Scores, score{ui.FormatNumber(*one.value), one.label})
		}
	}
	if latest.Confidence != nil {
		state.Scores = append(state.Scores, score{ui.FormatPercent(*latest.Confidence * 100), "confidence"})
	}
	var points []ui.Point
	table := ui.Table{Caption: "Assessments, the latest first", Columns: []ui.Column{
		{Label: "Completed"}, {Label: "Verdict", Kind: ui.Badge}, {Label: "Overall", Kind: ui.Number}, {Label: "Adjusted", Kind: ui.Number},
	}}
	for _, a := range all {
		if a.OverallScore != nil {
			points = append(points, ui.Point{Label: ui.FormatDay(a.CompletedAt), Value: *a.OverallScore})
		}
		table.Rows = slices.Insert(table.Rows, 0, ui.Row{
			Href: records.Path("assessment", a.ID), Cells: []any{ui.FormatDay(a.CompletedAt), a.Verdict, a.OverallScore, a.AdjustedScore},
		})
	}
	if state.Trend = ui.NewLineChart("score", "Overall score", "Completed", "Overall", points, nil); state.Trend != nil {
		state.Trend.Table = table
	}
	return state
}

// kpiState are key results against their targets.
type kpiState struct {
	tile ui.Tile
	Rows []kpiRow
	More int // that are not listed
	Path string
}

// kpiRow is a key result and how much of its target it has reached.
type kpiRow struct {
	Name, Path string
	Now        string
	Target     string
	Reached    string // "" before there is a value
	Bar        ui.BarPart
}

// kpisShown are those that are listed: the ones furthest from their target.
const kpisShown = 8

func kpiStateOf(result api.OverviewPage) kpiState {
	state := kpiState{Path: ui.WithQuery(records.ListPath("kpi"), "status", "active")}
	reached := 0
	list := slices.Clone(result.Kpis)
	slices.SortStableFunc(list, func(a, b api.KpiState) int { return cmp.Compare(attained(a), attained(b)) })
	for _, k := range list {
		if attained(k) == 1 {
			reached++
		}
		if len(state.Rows) == kpisShown {
			continue
		}
		row := kpiRow{
			Name: cmp.Or(strings.TrimSpace(k.MetricName), k.Code), Path: records.Path("kpi", k.ID), Target: measured(k.Target, k.Unit), Bar: ui.BarPart{Tone: "info"},
		}
		if k.Current != nil {
			row.Now = measured(*k.Current, k.Unit)
		}
		if k.Attainment != nil {
			if *k.Attainment == 1 {
				row.Bar.Tone = "good"
			}
			row.Reached, row.Bar = ui.FormatPercent(float64(int(*k.Attainment*100))), ui.NewBar(row.Bar.Tone, *k.Attainment)
		}
		state.Rows = append(state.Rows, row)
	}
	state.More = result.ActiveKpis - len(state.Rows)
	state.tile = ui.Tile{Label: "KPIs on target", Path: state.Path, Value: ui.FormatNumber(reached), Note: "of " + ui.FormatNumber(result.ActiveKpis)}
	if result.ActiveKpis > len(result.Kpis) {
		state.tile.Note = "of the " + ui.FormatNumber(len(result.Kpis)) + " newest"
	}
	return state
}

// measured is a value in its unit, if saying that tells anything.
func measured(value float64, unit string) string {
	if unit == "count" || unit == "ratio" || unit == "index" {
		return ui.FormatNumber(value)
	}
	return ui.FormatUnit(value, unit)
}

// attained puts those without a value last.
func attained(k api.KpiState) float64 {
	if k.Attainment == nil {
		return 2
	}
	return *k.Attainment
}
