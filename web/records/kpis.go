package records

import (
	"net/http"
	"net/url"

	"govsvc/db/auth"
	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// addCheckins adds a chart of the values of a KPI with its target, and a table of all
// check-ins.
func addCheckins(r *page.Request, record api.Record, data *recordData) error {
	checkins, err := api.CheckinHistory(r.Context(), r.Caller, ui.Text(record["id"]))
	if err != nil {
		return err
	}
	unit := ui.Text(record["unit"])
	table := ui.Table{
		Caption: "Check-ins", Shown: true,
		Columns: []ui.Column{{Label: "Period from", Kind: ui.Time}, {Label: "Value, " + unit, Kind: ui.Number}, {Label: "Source"}, {Label: "Evidence"}, {Label: "Note", Kind: ui.Long}, {Label: "Recorded", Kind: ui.Time}},
	}
	var points []ui.Point
	for i, c := range checkins {
		value, _ := ui.Float(c["value"])
		at, _, _ := ui.ParseTime(c["period_start"])
		points = append(points, ui.Point{Label: ui.FormatTime(c["period_start"]), Value: value, At: at})
		latest := checkins[len(checkins)-1-i]
		row := ui.Row{Cells: []any{
			latest["period_start"], latest["value"], latest["source"], latest["evidence_ref"], latest["note"], latest["created_at"],
		}}
		if r.May(auth.WriteRecords) {
			row.Actions = []ui.Action{{
				Label: "Edit", About: "the check-in of " + ui.FormatTime(latest["period_start"]),
				Path: ui.WithQuery(Path("kpi", ui.Text(record["id"]))+"/checkins/new", "period", latest["period_start"]),
			}}
		}
		table.Rows = append(table.Rows, row)
	}
	if len(points) == 0 {
		table.Empty = ui.Empty{Title: "No check-ins yet", Advice: "A check-in is the value of one period. The chart starts with the first one."}
	}
	data.Chart = kpiChart(record, points)
	if data.Chart != nil {
		data.Chart.Table = ui.Table{} // the table of check-ins has the same values
	}
	if share := api.Attainment(record); share != nil {
		data.Facts = append([]ui.Fact{{Label: "Attainment", Kind: ui.Percent, Value: *share * 100}}, data.Facts...)
	}
	data.Tables = append(data.Tables, table)
	return nil
}

// kpiChart draws the values of a KPI, with its target and its baseline.
func kpiChart(record api.Record, points []ui.Point) *ui.LineChart {
	unit := ui.Text(record["unit"])
	spec := ui.LineSpec{
		ID: "course", Title: ui.Text(record["metric_name"]) + ", " + unit, XLabel: "Period from", YLabel: "Value, " + unit,
		Series: []ui.Series{{Points: points}},
	}
	for _, line := range []struct{ kind, member string }{{ui.Target, "target_value"}, {ui.Baseline, "baseline_value"}} {
		if value, ok := ui.Float(record[line.member]); ok {
			label := Label(line.member) + " " + ui.FormatUnit(record[line.member], unit)
			spec.References = append(spec.References, ui.Reference{Kind: line.kind, Label: label, Value: value})
		}
	}
	return ui.DrawLines(spec)
}

// checkinForm returns the form for a check-in of a KPI, with the values of checkin unless it
// is nil.
func checkinForm(r *page.Request, kpi, checkin api.Record) *ui.Form {
	at := Path("kpi", ui.Text(kpi["id"]))
	unit := ui.Text(kpi["unit"])
	form := &ui.Form{Action: at + "/checkins", Submit: "Add check-in", Cancel: at}
	if checkin != nil {
		form.Submit = "Save changes"
	}
	fields := api.FormFields(r.Document, "kpi_checkin", false)
	values := url.Values(api.FormValues(fields, checkin))
	if checkin == nil {
		values.Set("source", "manual")
		values.Set("period_start", resource.EndedPeriod(ui.Text(kpi["measurement_frequency"]), ui.Text(kpi["current_as_of"]), ui.Text(kpi["created_at"]), r.Store.Now()))
	}
	for _, field := range fields {
		if field.Name == "key_result_id" || field.Name == "key_result_code" {
			continue // the KPI of the page
		}
		f := formField(field, values)
		switch f.Name {
		case "value":
			f.Hint = "Unit: " + unit + ". Target: " + ui.FormatUnit(kpi["target_value"], unit) + "."
		case "period_start":
			f.Type = "date"
			f.Hint = "The first day of the period. Leave it empty for the current one. An existing value of the period is replaced."
		}
		form.Fields = append(form.Fields, f)
	}
	return form
}

// NewCheckin shows the form for a check-in. With the parameter period, it has the values of
// the check-in of this period.
func NewCheckin(r *page.Request) error {
	kpi, err := readRecord(r, resource.KPI)
	if err != nil {
		return err
	}
	checkins, err := api.CheckinHistory(r.Context(), r.Caller, ui.Text(kpi["id"]))
	if err != nil {
		return err
	}
	for _, checkin := range checkins {
		if period := r.Query("period"); period != "" && checkin["period_start"] == period {
			return renderForm(r, http.StatusOK, resource.KPI, kpi, "Edit check-in", checkinForm(r, kpi, checkin))
		}
	}
	return renderForm(r, http.StatusOK, resource.KPI, kpi, addCheckinTitle, checkinForm(r, kpi, nil))
}

const addCheckinTitle = "Add check-in"

// CreateCheckin records the value of a period.
func CreateCheckin(r *page.Request) error {
	res := resource.KPI
	kpi, err := readRecord(r, res)
	if err != nil {
		return err
	}
	form := checkinForm(r, kpi, nil)
	body, err := api.FormBody(api.FormFields(r.Document, "kpi_checkin", false), r.HTTP.PostForm, nil)
	if err == nil {
		delete(body, "key_result_code")
		body["key_result_id"] = kpi["id"]
		_, err = api.Save(r.Context(), r.Caller, "kpi_checkin", "", body)
	}
	if err != nil {
		return renderRefused(r, form.Fill(r.HTTP.PostForm), err, res, kpi, addCheckinTitle)
	}
	return r.RedirectWithMessage(Path("kpi", ui.Text(kpi["id"])), "The check-in has been recorded.")
}
