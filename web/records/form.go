package records

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/server/openapi"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// MaxForm bounds the form of a record in bytes. It has room for the longest texts in
// any script, as forms encode them.
const MaxForm = 1 << 20

// recordForm returns the form that adds a record, if current is nil, or edits it.
func recordForm(r *page.Request, res *resource.Resource, current api.Record) *ui.Form {
	form := &ui.Form{Action: res.Page.Base, Submit: "Add " + res.Singular, Cancel: res.Page.List, Hidden: map[string]string{}}
	if current != nil {
		at := Path(res.Type, ui.Text(current["id"]))
		form.Action, form.Submit, form.Cancel = at, "Save changes", at
	}
	for _, field := range api.FormFields(r.Document, res.Type, current != nil) {
		f := formField(field, current)
		switch {
		case f.Name == "severity_change_reason":
			f.Hint = "Required if you lower or clear a severity or the likelihood, or close, accept or mitigate a critical risk. " +
				"At least 20 characters. It is kept as evidence, with the values before and after."
		case f.Name == "roadmap_version":
			f.Hint = "Leave it empty for the latest version."
		case f.Name == "notification_deadline":
			f.Hint = "In UTC. If a notification is required, leave it empty for 72 hours after the declaration."
		case f.Name == "as_of" && current == nil:
			f.Value = r.Store.Now().UTC().Format(minutes)
		}
		if current != nil {
			form.Hidden[wasPrefix+f.Name] = digest(f.Value)
		}
		form.Fields = append(form.Fields, f)
	}
	return form
}

// wasPrefix is the name prefix of hidden fields with the digest of the original
// value of a field. Unchanged fields are not written, so that two people can edit
// different fields of a record at the same time.
const wasPrefix = "was-"

func digest(value string) string {
	sum := sha256.Sum256([]byte(strings.ReplaceAll(value, "\r\n", "\n")))
	return hex.EncodeToString(sum[:8])
}

// changedFields returns the fields of a sent form that the user changed.
func changedFields(sent url.Values) url.Values {
	changed := url.Values{}
	for name, values := range sent {
		was := sent.Get(wasPrefix + name)
		if strings.HasPrefix(name, wasPrefix) || was != "" && len(values) > 0 && was == digest(values[len(values)-1]) {
			continue
		}
		changed[name] = values
	}
	return changed
}

// formField returns the field for a member, with its current value.
func formField(field openapi.Field, current api.Record) *ui.Field {
	value := current[field.Name]
	f := &ui.Field{
		Name: field.Name, Label: Label(field.Name), Hint: hint(field.Description), Value: ui.Text(value),
		Required: field.Required || current != nil && !field.Nullable && value != nil, MaxLength: field.MaxLength, MinLength: field.MinLength,
	}
	if current == nil {
		f.Value = field.Default
	}
	switch {
	case field.Type == "boolean":
		f.Type, f.Required, f.Options = "select", true, []ui.Option{{Value: "true", Label: "Yes"}, {Value: "false", Label: "No"}}
		f.Value = "false"
		if value == true {
			f.Value = "true"
		}
	case len(field.Enum) > 0:
		f.Type, f.MaxLength, f.MinLength = "select", 0, 0
		f.Options = ui.Options(slices.DeleteFunc(slices.Clone(field.Enum), func(one string) bool { return one == "" })...)
	case field.Type == "number" || field.Type == "integer":
		f.InputMode = "decimal"
	case field.Type == "array":
		f.Type, f.Hint = "textarea", f.Hint+" One per line."
		f.Value = strings.Join(texts(value), "\n")
	case field.Format == "date":
		f.Type = "date"
	case field.Format == "date-time":
		f.Type, f.Hint = "datetime-local", f.Hint+" In UTC."
		if at, _, ok := ui.ParseTime(value); ok {
			f.Value = at.Format(minutes)
		}
	case field.MaxLength > 2000 && !short[field.Name] || long[field.Name]:
		f.Type, f.Rows = "textarea", min(4+len(f.Value)/200, 14)
	}
	return f
}

// The length limits of the document do not always match the usual length of a text.
// short lists members with one line, long those with several lines.
var (
	short = map[string]bool{"category": true, "ai_role": true, "owner_role": true, "renewal_owner_role": true, "affected_systems": true, "jurisdictions": true}
	long  = map[string]bool{"note": true, "notes": true}
)

// texts returns the values of an array as texts.
func texts(value any) []string {
	items, _ := value.([]any)
	list := make([]string, len(items))
	for i, item := range items {
		list[i] = ui.Text(item)
	}
	return list
}

// hint returns the description of a member in the document, without the parts for
// programs.
func hint(description string) string {
	description, _, _ = strings.Cut(description, "; null ")
	description = strings.TrimSpace(strings.ReplaceAll(description, "`", ""))
	return ui.Sentence(description)
}

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

// renderFormError shows a form again with the sent values and a message at each invalid
// field. It returns any error that the user did not cause.
func renderFormError(r *page.Request, form *ui.Form, err error, res *resource.Resource, current api.Record, title string) error {
	form.Fill(r.HTTP.PostForm)
	for name := range form.Hidden {
		if sent := r.HTTP.PostForm.Get(name); sent != "" {
			form.Hidden[name] = sent
		}
	}
	if invalid, ok := errors.AsType[api.ValidationErrors](err); ok {
		for _, e := range invalid {
			form.SetError(ui.FieldName(e.Param), ui.Sentence(e.Message))
		}
		useLabels(form)
		return renderForm(r, http.StatusUnprocessableEntity, res, current, title, form)
	}
	status, err := page.SetFormError(form, err)
	if err != nil {
		return err
	}
	useLabels(form)
	return renderForm(r, status, res, current, title, form)
}

// useLabels replaces the name of a member in its error: by its label at the start, and
// by "value" after "this".
func useLabels(form *ui.Form) {
	for _, field := range form.Fields {
		first, rest, _ := strings.Cut(field.Error, " ")
		if strings.EqualFold(first, field.Name) {
			field.Error = field.Label + " " + rest
		}
		field.Error = strings.ReplaceAll(field.Error, "this "+field.Name, "this value")
	}
}

// New shows the form that adds a record.
func (p *Pages) New(r *page.Request) error {
	if reason := unavailable(r, p.Resource); reason != nil {
		return p.List(r)
	}
	return renderForm(r, http.StatusOK, p.Resource, nil, "Add "+ui.WithArticle(p.Singular), recordForm(r, p.Resource, nil))
}

// Create adds a record.
func (p *Pages) Create(r *page.Request) error {
	body, err := api.FormBody(api.FormFields(r.Document, p.Type, false), r.HTTP.PostForm, nil)
	id := ""
	if err == nil {
		id, err = api.Save(r.Context(), r.Caller, p.Type, "", body)
	}
	if err != nil {
		return renderFormError(r, recordForm(r, p.Resource, nil), err, p.Resource, nil, "Add "+ui.WithArticle(p.Singular))
	}
	return r.RedirectWithMessage(Path(p.Type, id), "The "+p.Singular+" has been added.")
}

// Edit shows the form that changes a record.
func (p *Pages) Edit(r *page.Request) error {
	current, err := readRecord(r, p.Resource)
	if err != nil {
		return err
	}
	return renderForm(r, http.StatusOK, p.Resource, current, "Edit "+p.Singular, recordForm(r, p.Resource, current))
}

// Update changes what of a record the user has changed in its form.
func (p *Pages) Update(r *page.Request) error {
	current, err := readRecord(r, p.Resource)
	if err != nil {
		return err
	}
	id := ui.Text(current["id"])
	body, err := api.FormBody(api.FormFields(r.Document, p.Type, true), changedFields(r.HTTP.PostForm), current)
	switch {
	case err == nil && len(body) == 0:
		return r.RedirectWithMessage(Path(p.Type, id), "Nothing was changed.")
	case err == nil:
		id, err = api.Save(r.Context(), r.Caller, p.Type, id, body)
	}
	if err != nil {
		return renderFormError(r, recordForm(r, p.Resource, current), err, p.Resource, current, "Edit "+p.Singular)
	}
	return r.RedirectWithMessage(Path(p.Type, id), "The changes have been saved.")
}

// ReasonField is the member with the reason for a lower rating.
const ReasonField = "severity_change_reason"
