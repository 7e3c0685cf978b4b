package records

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/server/openapi"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// MaxForm bounds the form of a record in bytes. It has room for the longest texts in
// any script, as forms encode them.
const MaxForm = 1 << 20

// renderForm shows the form of a record. current is nil for a new record.
func renderForm(r *page.Request, status int, res *resource.Resource, current api.Record, title string, form *ui.Form) error {
	data := ui.FormPage{Title: title, Crumbs: breadcrumbs(res), Form: form}
	if current != nil {
		data.Crumbs = append(data.Crumbs, ui.Link{Label: ui.Truncate(nameOf(res, current), 60), Path: Path(res.Type, ui.Text(current["id"]))})
	}
	if res == resource.Risk && current == nil {
		data.Notice = "The untreated baseline is set from severity and likelihood. Rate the residual severity later, once the risk is treated."
	}
	return r.RenderStatus(status, "form-page", title, data)
}

// renderRefused shows a form again with a message at each invalid field. It returns any
// error that the user did not cause.
func renderRefused(r *page.Request, form *ui.Form, err error, res *resource.Resource, current api.Record, title string) error {
	status, err := setRecordError(form, err)
	if err != nil {
		return err
	}
	return renderForm(r, status, res, current, title, form)
}

// setRecordError puts the errors of a refused record at their fields. It returns the
// status of the answer, or an error that the user did not cause.
func setRecordError(form *ui.Form, err error) (status int, unexpected error) {
	if invalid, ok := errors.AsType[api.ValidationErrors](err); ok {
		for _, e := range invalid {
			form.SetError(e.Param, e.Message)
		}
		return http.StatusUnprocessableEntity, nil
	}
	return page.SetFormError(form, err)
}

// New shows the form that adds a record.
func (p *Pages) New(r *page.Request) error {
	if reason := unavailable(r, p.Resource); reason != nil {
		return p.List(r)
	}
	form, err := p.newForm(r, nil)
	if err != nil {
		return err
	}
	return renderForm(r, http.StatusOK, p.Resource, nil, p.newTitle(), form)
}

func (p *Pages) newTitle() string { return "Add " + ui.WithArticle(p.Singular) }

// newForm returns the form that adds a record, with the values that were sent or, if sent
// is nil, with defaults.
func (p *Pages) newForm(r *page.Request, sent url.Values) (*ui.Form, error) {
	fields := api.FormFields(r.Document, p.Type, false)
	values := url.Values(api.FormValues(fields, nil))
	if sent == nil {
		if err := p.setDefaults(r, fields, values); err != nil {
			return nil, err
		}
	}
	return recordForm(p.Resource, fields, nil, overlay(fields, values, sent)), nil
}

// setDefaults proposes the values of a new record: the present time, and the version
// after the latest.
func (p *Pages) setDefaults(r *page.Request, fields []openapi.Field, values url.Values) error {
	for _, field := range fields {
		switch field.Name {
		case "as_of", "generated_at", "completed_at":
			values.Set(field.Name, r.Store.Now().UTC().Format(minutes))
		case "version_number":
			latest, err := api.Browse(r.Context(), r.Caller, p.Type, api.View{Limit: 1})
			if err != nil {
				return err
			}
			next := 1
			for _, record := range latest.Records {
				if n, err := strconv.Atoi(ui.Text(record[field.Name])); err == nil {
					next = n + 1
				}
			}
			values.Set(field.Name, strconv.Itoa(next))
		}
	}
	return nil
}

// Create adds a record.
func (p *Pages) Create(r *page.Request) error {
	sent := r.HTTP.PostForm
	form, err := p.newForm(r, sent)
	if err != nil {
		return err
	}
	if addRow(form, sent.Get(addRowName)) {
		return renderForm(r, http.StatusOK, p.Resource, nil, p.newTitle(), form)
	}
	body, err := api.FormBody(api.FormFields(r.Document, p.Type, false), sent, nil)
	id := ""
	if err == nil {
		id, err = api.Save(r.Context(), r.Caller, p.Type, "", body)
	}
	if err != nil {
		return renderRefused(r, form, err, p.Resource, nil, p.newTitle())
	}
	return r.RedirectWithMessage(Path(p.Type, id), "The "+p.Singular+" has been added.")
}

// Edit shows the form that changes a record.
func (p *Pages) Edit(r *page.Request) error {
	current, err := readRecord(r, p.Resource)
	if err != nil {
		return err
	}
	e := newEdit(r, p.Resource, current, nil)
	return renderForm(r, http.StatusOK, p.Resource, current, "Edit "+p.Singular, e.form())
}

// Update changes what the user has changed in the form of a record. If another change
// comes between the reading and the writing, it reads the record again.
func (p *Pages) Update(r *page.Request) error {
	const attempts = 3
	var err error
	for range attempts {
		if err = p.update(r); !errors.Is(err, db.ErrChanged) {
			return err
		}
	}
	return err
}

func (p *Pages) update(r *page.Request) error {
	current, err := readRecord(r, p.Resource)
	if err != nil {
		return err
	}
	e := newEdit(r, p.Resource, current, r.HTTP.PostForm)
	id, form, title := ui.Text(current["id"]), e.form(), "Edit "+p.Singular
	if err := e.addConflicts(r, form); err != nil {
		return err
	}
	switch {
	case addRow(form, r.Value(addRowName)):
		return renderForm(r, http.StatusOK, p.Resource, current, title, form)
	case e.undecided():
		form.Error = "This record has changed since you opened the form. Choose which values to keep. Nothing is saved yet."
		return renderForm(r, http.StatusConflict, p.Resource, current, title, form)
	}
	body, err := api.FormBody(e.fields, e.changes(), current)
	switch {
	case err == nil && len(body) == 0:
		return r.RedirectWithMessage(Path(p.Type, id), "Nothing was changed.")
	case err == nil:
		id, err = api.SaveRead(r.Context(), r.Caller, p.Resource, id, body, ui.Text(current["updated_at"]))
	}
	switch {
	case errors.Is(err, db.ErrChanged):
		return err
	case err != nil:
		return renderRefused(r, form, err, p.Resource, current, title)
	}
	return r.RedirectWithMessage(Path(p.Type, id), "The changes have been saved.")
}

// ReasonField is the member with the reason for a lower rating.
const ReasonField = "severity_change_reason"
