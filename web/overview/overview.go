// Package overview has the first page of the dashboard.
package overview

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"govsvc/db/auth"
	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/server/openapi"
	"govsvc/web/page"
	"govsvc/web/records"
	"govsvc/web/ui"
)

// pageData is the argument of the page "Overview". Parts without content are nil or
// empty.
type pageData struct {
	Now        time.Time // reference for clocks
	FirstSteps *firstSteps
	Tiles      []ui.Tile
	Assessment *assessmentState
	OpenRisks  int
	Heat       *ui.HeatMap
	Incidents  *incidentState // nil if the plan has none
	Kpis       kpiState
	Regimes    regimeState
	Vendors    vendorState
	Activities []activity
}

// Page has the first page.
type Page struct{ severities, likelihoods []string }

// New reads the levels of risks from the document.
func New(document *openapi.Document) *Page {
	return &Page{riskLevels(document, "severity"), riskLevels(document, "likelihood")}
}

// firstSteps are suggestions for an organisation without records.
type firstSteps struct{ Import, CreateKeys bool }

// Show returns the first page.
func (o *Page) Show(r *page.Request) error {
	result, err := api.Overview(r.Context(), r.Caller)
	if err != nil {
		return err
	}
	data := pageData{Now: r.Store.Now()}
	if isEmpty(result) {
		data.FirstSteps = &firstSteps{r.May(auth.WriteRecords), r.May(auth.Administer)}
		return r.Render("overview", "Overview", data)
	}
	data.Assessment = assessmentStateOf(result.Assessments)
	data.OpenRisks, data.Heat = result.OpenRisks, riskHeatMap(result.Risks, o.severities, o.likelihoods)
	data.Incidents = incidentStateOf(result.Incidents, data.Now)
	data.Kpis, data.Regimes, data.Vendors = kpiStateOf(result), regimeStateOf(result.Obligations), vendorStateOf(result, data.Now)
	data.Tiles = data.tiles(result)
	if data.Activities, err = activities(r, result.Recent); err != nil {
		return err
	}
	return r.Render("overview", "Overview", data)
}

// isEmpty reports whether the organisation has no records for this page.
func isEmpty(result api.OverviewPage) bool {
	return result.Latest == nil && result.OpenRisks == 0 && result.ActiveKpis == 0 && len(result.Obligations) == 0 && len(result.Vendors) == 0 &&
		(result.Incidents == nil || result.Incidents.Open == 0 && result.Incidents.Running == 0) && len(result.Recent) == 0
}

// tiles returns the figures at the top.
func (d *pageData) tiles(result api.OverviewPage) []ui.Tile {
	critical := 0
	for _, c := range result.Risks {
		if c.Severity == "CRITICAL" {
			critical += c.Count
		}
	}
	tiles := []ui.Tile{{
		Label: "Open risks", Path: records.ListWith(resource.Risk, "status", openStatuses),
		Value: ui.FormatNumber(result.OpenRisks), Note: ui.FormatNumber(critical) + " critical",
	}}
	if d.Incidents != nil {
		t := ui.Tile{Label: "Open incidents", Path: d.Incidents.Path, Value: ui.FormatNumber(d.Incidents.Open), Note: ui.Plural(d.Incidents.Running, "clock running", "clocks running")}
		if overdue := d.Incidents.Overdue(); overdue > 0 {
			t.Note, t.Urgent = ui.Plural(overdue, "notification overdue", "notifications overdue"), true
		}
		tiles = append(tiles, t)
	}
	return append(tiles, d.Kpis.tile, d.Regimes.tile, ui.Tile{
		Label: "Contracts ending", Path: records.ListPath("vendor"), Value: ui.FormatNumber(result.RenewalsDue), Note: "in 90 days",
	})
}

// assessmentState is the latest assessment with the trend of all assessments.
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
	table := ui.Table{Caption: "Assessments, latest first", Columns: []ui.Column{
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

// kpiState compares KPIs with their targets.
type kpiState struct {
	tile ui.Tile
	Rows []kpiRow
	More int // KPIs without a row
	Path string
}

// kpiRow is a KPI with its attainment.
type kpiRow struct {
	Name, Path string
	Current    string
	Target     string
	Attainment string // "" without a value
	Bar        ui.BarPart
}

// maxKpis bounds the rows: the KPIs that are furthest from their target.
const maxKpis = 8

func kpiStateOf(result api.OverviewPage) kpiState {
	state := kpiState{Path: records.ListWith(resource.KPI, "status", "active")}
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
		row := kpiRow{
			Name: cmp.Or(strings.TrimSpace(k.MetricName), k.Code), Path: records.Path("kpi", k.ID), Target: ui.FormatUnit(k.Target, k.Unit), Bar: ui.BarPart{Tone: "info"},
		}
		if k.Current != nil {
			row.Current = ui.FormatUnit(*k.Current, k.Unit)
		}
		if k.Attainment != nil {
			if *k.Attainment == 1 {
				row.Bar.Tone = "good"
			}
			row.Attainment, row.Bar = ui.FormatPercent(float64(int(*k.Attainment*100))), ui.NewBar(row.Bar.Tone, *k.Attainment)
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

// attainmentOf returns the attainment for sorting. KPIs without a value are last.
func attainmentOf(k api.KpiState) float64 {
	if k.Attainment == nil {
		return 2
	}
	return *k.Attainment
}
