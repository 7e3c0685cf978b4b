package records

import (
	"slices"

	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// addDerived adds to a list what the members of its records do not say: the trend of KPIs
// and the time that is left for the notifications of incidents.
func addDerived(r *page.Request, res *resource.Resource, table *ui.Table, list []api.Record) error {
	switch res {
	case resource.KPI:
		return addTrends(r, table, list)
	case resource.Incident:
		addClocks(r, table, list)
	}
	return nil
}

// addTrends adds the columns of attainment and trend to a list of KPIs.
func addTrends(r *page.Request, table *ui.Table, list []api.Record) error {
	trends, err := api.KPITrends(r.Context(), r.Caller, list)
	if err != nil {
		return err
	}
	table.Columns = append(table.Columns, ui.Column{Label: "Attainment", Kind: ui.Attained}, ui.Column{Label: "Trend", Kind: ui.Trend})
	for i, kpi := range list {
		var attainment ui.Attainment
		if share := api.Attainment(kpi); share != nil {
			attainment = ui.NewAttainment(ui.Tone(string(api.BandOf(*share))), *share)
		}
		var target *float64
		if value, ok := ui.Float(kpi["target_value"]); ok {
			target = &value
		}
		table.Rows[i].Cells = append(table.Rows[i].Cells, attainment, ui.NewSparkline(trends[ui.Text(kpi["id"])], target))
	}
	return nil
}

// addClocks adds the time that is left to the deadlines in a list of incidents.
func addClocks(r *page.Request, table *ui.Table, list []api.Record) {
	column := slices.IndexFunc(table.Columns, func(c ui.Column) bool { return c.Label == Label("notification_deadline") })
	if column < 0 {
		return
	}
	now := r.Store.Now()
	table.Columns[column].Kind = ui.Clock
	for i, incident := range list {
		cell := ui.Countdown{At: incident["notification_deadline"], Now: now}
		switch clock := clockOf(incident, now); {
		case clock == nil:
		case clock.Left != "":
			cell.State, cell.Tone, cell.Running = clock.Left, clock.Tone, true
		case incident["notified_at"] != nil && cell.At != nil:
			cell.State, cell.Tone = "Notified", clock.Tone
		}
		table.Rows[i].Cells[column] = cell
	}
}
