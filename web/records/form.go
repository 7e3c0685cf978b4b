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

// MaxForm bounds the form of a record in bytes: its longest texts, in any
// script, as forms are encoded.
const MaxForm = 1 << 20

// recordForm is the form that adds a record (current is nil) or changes one.
func recordForm(r *page.Request, res *resource.Resource, current api.Record) *ui.Form {
	form := &ui.Form{Action: res.Page.Base, Submit: "Add the " + res.Singular, Cancel: res.Page.List, Hidden: map[string]string{}}
	if current != nil {
		at := Path(res.Type, ui.Text(current["id"]))
		form.Action, form.Submit, form.Cancel = at, "Save", at
	}
	for _, field := range api.FormFields(r.Document, res.Type, current != nil) {
		f := formField(field, current)
		switch {
		case f.Name == "severity_change_reason":
			f.Hint = "Needed when the change lowers or clears a severity or the likelihood, or closes, accepts or mitigates a critical risk. " +
				"At least 20 characters; it is kept as evidence with the values before and after."
		case f.Name == "roadmap_version":
			f.Hint = "Leave it empty for the latest one."
		case f.Name == "notification_deadline":
			f.Hint = "In UTC. Where an authority must be told, leave it empty for 72 hours after the declaration."
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

// wasPrefix names the hidden field with the digest of what a field held when
// the form was shown. What the user left alone is not sent on, so that two
// people who change different fields don't undo each other's work.
const wasPrefix = "was-"

func digest(value string) string {
	sum := sha256.Sum256([]byte(strings.ReplaceAll(value, "\r\n", "\n")))
	return hex.EncodeToString(sum[:8])
}

// touched is what of a sent form the user has changed.
func touched(sent url.Values) url.Values {
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

// formField is a member as a form asks for it, with what it holds now.
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
		f.Type, f.Hint = "textarea", f.Hint+" One a line."
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

// Texts that the document bounds otherwise than people write them: short are
// those of a line, long those of several.
var (
	short = map[string]bool{"category": true, "ai_role": true, "owner_role": true, "renewal_owner_role": true, "affected_systems": true, "jurisdictions": true}
	long  = map[string]bool{"note": true, "notes": true}
)

// texts are those of an array.
func texts(value any) []string {
	items, _ := value.([]any)
	list := make([]string, len(items))
	for i, item := range items {
		list[i] = ui.Text(item)
	}
	return list
}

// hint is a member's description in the document, without what concerns
// programs alone.
func hint(description string) string {
	description, _, _ = strings.Cut(description, "; null ")
	description = strings.TrimSpace(strings.ReplaceAll(description, "`", ""))
	return ui.Sentence(description)
}

// renderForm shows a form about a record, or about one to be added.
func renderForm(r *page.Request, status int, res *resource.Resource, current api.Record, title string, form *ui.Form) error {
	data := ui.FormPage{Title: title, Crumbs: crumbs(res), Form: form}
	if current != nil {
		data.Crumbs = append(data.Crumbs, ui.Link{Label: ui.Truncate(nameOf(res, current), 60), Path: Path(res.Type, ui.Text(current["id"]))})
	}
	if res.Type == "risk" && current == nil {
		data.Notice = "Its untreated baseline is set from severity and likelihood. The residual severity is rated later, once something is done about it."
	}
	return r.RenderStatus(status, "form-page", title, data)
}

// renderFormError shows a form again, with what was sent and all that is wrong with it
// beside its fields. An error that is not the user's comes back.
func renderFormError(r *page.Request, form *ui.Form, err error, res *resource.Resource, current api.Record, title string) error {
	form.Fill(r.HTTP.PostForm)
	for name := range form.Hidden {
		if sent := r.HTTP.PostForm.Get(name); sent != "" {
			form.Hidden[name] = sent
		}
	}
	if faults, ok := errors.AsType[api.Faults](err); ok {
		for _, fault := range faults {
			form.SetError(ui.FieldName(fault.Param), ui.Sentence(fault.Message))
		}
		return renderForm(r, http.StatusUnprocessableEntity, res, current, title, form)
	}
	status, err := page.SetFormError(form, err)
	if err != nil {
		return err
	}
	return renderForm(r, status, res, current, title, form)
}

// New shows the form that adds a record.
func (p *Pages) New(r *page.Request) error {
	if refused := unavailable(r, p.Resource); refused != nil {
		return p.List(r)
	}
	return renderForm(r, http.StatusOK, p.Resource, nil, "Add "+ui.WithArticle(p.Resource.Singular), recordForm(r, p.Resource, nil))
}

// Create adds a record.
func (p *Pages) Create(r *page.Request) error {
	body, err := api.FormBody(api.FormFields(r.Document, p.Resource.Type, false), r.HTTP.PostForm, nil)
	id := ""
	if err == nil {
		id, err = api.Save(r.Context(), r.Caller, p.Resource.Type, "", body)
	}
	if err != nil {
		return renderFormError(r, recordForm(r, p.Resource, nil), err, p.Resource, nil, "Add "+ui.WithArticle(p.Resource.Singular))
	}
	return r.RedirectWithMessage(Path(p.Resource.Type, id), "The "+p.Resource.Singular+" has been added.")
}

// Edit shows the form that changes a record.
func (p *Pages) Edit(r *page.Request) error {
	current, err := readRecord(r, p.Resource)
	if err != nil {
		return err
	}
	return renderForm(r, http.StatusOK, p.Resource, current, "Change the "+p.Resource.Singular, recordForm(r, p.Resource, current))
}

// Update changes what of a record the user has changed in its form.
func (p *Pages) Update(r *page.Request) error {
	current, err := readRecord(r, p.Resource)
	if err != nil {
		return err
	}
	id := ui.Text(current["id"])
	body, err := api.FormBody(api.FormFields(r.Document, p.Resource.Type, true), touched(r.HTTP.PostForm), current)
	switch {
	case err == nil && len(body) == 0:
		return r.RedirectWithMessage(Path(p.Resource.Type, id), "Nothing was changed.")
	case err == nil:
		id, err = api.Save(r.Context(), r.Caller, p.Resource.Type, id, body)
	}
	if err != nil {
		return renderFormError(r, recordForm(r, p.Resource, current), err, p.Resource, current, "Change the "+p.Resource.Singular)
	}
	return r.RedirectWithMessage(Path(p.Resource.Type, id), "The "+p.Resource.Singular+" has been changed.")
}

// ReasonField is the field for the reason of an import.
const ReasonField = "severity_change_reason"
