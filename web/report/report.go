// Package report has the board report: one page that prints to a few sheets of paper, with
// the state of the organisation and what has changed since an earlier report.
package report

import (
	"time"

	"govsvc/db/auth"
	"govsvc/db/report"
	"govsvc/server/api"
	"govsvc/web/page"
	"govsvc/web/records"
	"govsvc/web/ui"
)

// title is that of the page.
const title = "Report"

// withoutReport is the period of a report if no earlier one was saved.
const withoutReport = 90 * 24 * time.Hour

// pageData is the argument of the page "Report".
type pageData struct {
	Organisation string
	Now          time.Time
	At           string // the same, as text
	From, To     string // days of the period
	Earlier      string // title of the report that this one compares with; "" for none
	Assessment   *assessmentPart
	Figures      ui.Table
	Risks        riskPart
	Incidents    *incidentPart // nil if the plan has none
	Obligations  obligationPart
	Kpis         kpiPart
	Changes      changePart
	Compare      *ui.Filters // nil without saved reports
	Saved        ui.Table
	Save         *ui.Form // nil for roles that can't save
}

// Show returns the report.
func Show(r *page.Request) error {
	data, _, err := load(r)
	if err != nil {
		return err
	}
	return r.Render("report", title, data)
}

// Save keeps the figures of the report, so that a later one can compare with them.
func Save(r *page.Request) error {
	data, figures, err := load(r)
	if err != nil {
		return err
	}
	name := r.Value("title")
	if _, err := report.New(r.Store).Save(r.Context(), r.Actor(), name, figures); err != nil {
		return r.RenderRefused(data.Save, err, "report", title, data)
	}
	return r.RedirectWithMessage("/report", "The report is saved. The next one will compare with it.")
}

// load reads the report, and its figures to save.
func load(r *page.Request) (*pageData, report.Figures, error) {
	service := report.New(r.Store)
	saved, err := service.List(r.Context(), r.Org())
	if err != nil {
		return nil, report.Figures{}, err
	}
	earlier, err := chosen(r, service, saved)
	if err != nil {
		return nil, report.Figures{}, err
	}
	now := r.Store.Now()
	since := now.Add(-withoutReport)
	data := &pageData{Organisation: r.Session.Organisation.Name, Now: now, At: ui.MachineTime(now), To: ui.FormatDay(ui.MachineTime(now))}
	if earlier != nil {
		if at, _, ok := ui.ParseTime(earlier.At); ok {
			since = at
		}
		data.Earlier = earlier.Title
	}
	data.From = ui.FormatDay(ui.MachineTime(since))
	state, err := api.ReadBoardReport(r.Context(), r.Caller, since)
	if err != nil {
		return nil, report.Figures{}, err
	}
	figures := figuresOf(state)
	data.fill(state, figures, earlier)
	if err := data.addSaved(r, saved, earlier); err != nil {
		return nil, figures, err
	}
	return data, figures, nil
}

// fill adds the parts of the report.
func (d *pageData) fill(state api.BoardReport, figures report.Figures, earlier *report.Saved) {
	d.Assessment = assessmentPartOf(state.Assessments)
	d.Figures = figureTable(figures, earlier)
	d.Risks = riskPartOf(state, d.Now)
	d.Incidents = incidentPartOf(state, d.Now)
	d.Obligations = obligationPartOf(state, figures, d.Now)
	d.Kpis = kpiPartOf(state, figures)
	d.Changes = changePartOf(state, d.Now)
}

// chosen returns the saved report that the request compares with: the one of the query, or
// the latest; nil if there is none.
func chosen(r *page.Request, service *report.Service, saved []report.Saved) (*report.Saved, error) {
	id := r.Query("since")
	if id == "" {
		if len(saved) == 0 {
			return nil, nil //nolint:nilnil // no report was saved yet
		}
		return &saved[0], nil
	}
	found, err := service.Find(r.Context(), r.Org(), id)
	if err != nil {
		return nil, err
	}
	return &found, nil
}

// addSaved adds the saved reports, the choice between them, and the form that saves this
// one.
func (d *pageData) addSaved(r *page.Request, saved []report.Saved, earlier *report.Saved) error {
	if r.May(auth.WriteRecords) {
		d.Save = &ui.Form{Action: "/report", Submit: "Save report", Fields: []*ui.Field{{
			Name: "title", Label: "Title", Required: true, MaxLength: report.MaxTitle,
			Hint: "Such as the meeting that it is for. Later reports can compare with these figures.",
		}}}
	}
	if len(saved) == 0 {
		return nil
	}
	names, err := records.ActorNamesOf(r, saved, func(s report.Saved) string { return s.By })
	if err != nil {
		return err
	}
	field := &ui.Field{Name: "since", Label: "Compare with", Value: earlier.ID}
	d.Compare = &ui.Filters{Action: "/report", Fields: []*ui.Field{field}}
	d.Saved = ui.Table{Caption: "Saved reports", Columns: []ui.Column{{Label: "Title"}, {Label: "Saved", Kind: ui.Time}, {Label: "Author"}}}
	listed := false
	for _, s := range saved {
		field.Options = append(field.Options, ui.Option{Value: s.ID, Label: s.Title + ", " + ui.FormatDay(s.At)})
		listed = listed || s.ID == earlier.ID
		d.Saved.Rows = append(d.Saved.Rows, ui.Row{
			Href: ui.WithQuery("/report", "since", s.ID), Cells: []any{s.Title, s.At, names[s.By]},
		})
	}
	if !listed {
		field.Options = append(field.Options, ui.Option{Value: earlier.ID, Label: earlier.Title + ", " + ui.FormatDay(earlier.At)})
	}
	return nil
}
