package web

import (
	"net/http"

	"govsvc/server/api"
)

// checkinsOf adds a key result's course: a picture with its target, and a table
// of all check-ins.
func (v *visit) checkinsOf(record api.Record, data *recordData) error {
	checkins, err := api.CheckinHistory(v.r.Context(), v.caller, text(record["id"]))
	if err != nil {
		return err
	}
	unit := text(record["unit"])
	table := Table{
		Caption: "Check-ins", Shown: true,
		Columns: []Column{{Label: "Period from", Kind: Time}, {Label: "Value, " + unit, Kind: Number}, {Label: "Source"}, {Label: "Evidence"}, {Label: "Note", Kind: Long}, {Label: "Recorded", Kind: Time}},
	}
	var points []Point
	for i, c := range checkins {
		value, _ := float(c["value"])
		points = append(points, Point{utc(c["period_start"]), value})
		latest := checkins[len(checkins)-1-i]
		table.Rows = append(table.Rows, Row{Cells: []any{
			latest["period_start"], latest["value"], latest["source"], latest["evidence_ref"], latest["note"], latest["created_at"],
		}})
	}
	if len(points) == 0 {
		table.Empty = Empty{Title: "No check-ins yet", Advice: "A check-in is the value of one period. The first one starts the picture."}
	}
	var target *float64
	if value, ok := float(record["target_value"]); ok {
		target = &value
	}
	data.Chart = lineChart("course", text(record["metric_name"])+", "+unit, "Period from", "Value, "+unit, points, target)
	if data.Chart != nil {
		data.Chart.Table = Table{} // the check-ins stand below
	}
	if share := api.Attainment(record); share != nil {
		data.Facts = append([]Fact{{Label: "Attainment", Kind: Percent, Value: *share * 100}}, data.Facts...)
	}
	data.Tables = append(data.Tables, table)
	return nil
}

// checkinForm is the form for a check-in of a key result.
func (v *visit) checkinForm(kpi api.Record) *Form {
	at := recordPath("kpi", text(kpi["id"]))
	form := &Form{Action: at + "/checkins", Submit: "Add the check-in", Cancel: at}
	for _, field := range api.FormFields(v.Document, "kpi_checkin", false) {
		if field.Name == "key_result_id" || field.Name == "key_result_code" {
			continue // the page's own
		}
		f := formField(field, nil)
		switch f.Name {
		case "value":
			f.Hint = "In " + text(kpi["unit"]) + ". The target is " + number(kpi["target_value"]) + "."
		case "period_start":
			f.Type = "date"
			f.Hint = "The first day of the period. Leave it empty for the present one. A value that is there for the period is replaced."
		case "source":
			f.Value = "manual"
		}
		form.Fields = append(form.Fields, f)
	}
	return form
}

// newCheckin shows the form.
func (v *visit) newCheckin() error {
	kpi, err := v.read(nounOf("kpi"))
	if err != nil {
		return err
	}
	return v.showForm(http.StatusOK, nounOf("kpi"), kpi, "Add a check-in", v.checkinForm(kpi))
}

// addCheckin records the value of a period.
func (v *visit) addCheckin() error {
	n := nounOf("kpi")
	kpi, err := v.read(n)
	if err != nil {
		return err
	}
	form := v.checkinForm(kpi)
	body, err := api.FormBody(api.FormFields(v.Document, "kpi_checkin", false), v.r.PostForm, nil)
	if err == nil {
		delete(body, "key_result_code")
		body["key_result_id"] = kpi["id"]
		_, err = api.Save(v.r.Context(), v.caller, "kpi_checkin", "", body)
	}
	if err != nil {
		return v.refuse(form, err, n, kpi, "Add a check-in")
	}
	v.flash("The check-in has been recorded.")
	v.redirect(recordPath("kpi", text(kpi["id"])))
	return nil
}
