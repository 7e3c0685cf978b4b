package web

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"govsvc/server/api"
	"govsvc/server/openapi"
	"govsvc/web/ui"
)

// maxRecordForm bounds the form of a record in bytes: its longest texts, in any
// script, as forms are encoded.
const maxRecordForm = 1 << 20

// recordForm is the form that adds a record (current is nil) or changes one.
func (v *visit) recordForm(n *noun, current api.Record) *ui.Form {
	form := &ui.Form{Action: n.base, Submit: "Add the " + n.one, Cancel: n.list, Hidden: map[string]string{}}
	if current != nil {
		at := recordPath(n.object, ui.Text(current["id"]))
		form.Action, form.Submit, form.Cancel = at, "Save", at
	}
	for _, field := range api.FormFields(v.Document, n.object, current != nil) {
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
			f.Value = v.Store.Now().UTC().Format(minutes)
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
		Name: field.Name, Label: label(field.Name), Hint: hint(field.Description), Value: ui.Text(value),
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

// showForm shows a form about a record, or about one to be added.
func (v *visit) showForm(status int, n *noun, current api.Record, title string, form *ui.Form) error {
	data := ui.FormPage{Title: title, Crumbs: n.crumbs(), Form: form}
	if current != nil {
		data.Crumbs = append(data.Crumbs, ui.Link{Label: ui.Truncate(n.nameOf(current), 60), Path: recordPath(n.object, ui.Text(current["id"]))})
	}
	if n.object == "risk" && current == nil {
		data.Notice = "Its untreated baseline is set from severity and likelihood. The residual severity is rated later, once something is done about it."
	}
	return v.renderStatus(status, "form-page", title, data)
}

// refuse shows a form again, with what was sent and all that is wrong with it
// beside its fields. An error that is not the user's comes back.
func (v *visit) refuse(form *ui.Form, err error, n *noun, current api.Record, title string) error {
	form.Fill(v.r.PostForm)
	for name := range form.Hidden {
		if sent := v.r.PostForm.Get(name); sent != "" {
			form.Hidden[name] = sent
		}
	}
	if faults, ok := errors.AsType[api.Faults](err); ok {
		for _, fault := range faults {
			form.SetError(member(fault.Param), ui.Sentence(fault.Message))
		}
		return v.showForm(http.StatusUnprocessableEntity, n, current, title, form)
	}
	status, err := setFormError(form, err)
	if err != nil {
		return err
	}
	return v.showForm(status, n, current, title, form)
}

// member is the field of a form that a fault is about: frameworks_applied for
// frameworks_applied[1].
func member(param string) string {
	name, _, _ := strings.Cut(param, "[")
	return name
}

// newRecord shows the form that adds a record.
func (v *visit) newRecord(n *noun) error {
	if refused := v.lacks(v.family(n)); refused != nil {
		return v.records(n)
	}
	return v.showForm(http.StatusOK, n, nil, "Add "+ui.WithArticle(n.one), v.recordForm(n, nil))
}

// addRecord adds a record.
func (v *visit) addRecord(n *noun) error {
	body, err := api.FormBody(api.FormFields(v.Document, n.object, false), v.r.PostForm, nil)
	id := ""
	if err == nil {
		id, err = api.Save(v.r.Context(), v.caller, n.object, "", body)
	}
	if err != nil {
		return v.refuse(v.recordForm(n, nil), err, n, nil, "Add "+ui.WithArticle(n.one))
	}
	v.flash("The " + n.one + " has been added.")
	v.redirect(recordPath(n.object, id))
	return nil
}

// editRecord shows the form that changes a record.
func (v *visit) editRecord(n *noun) error {
	current, err := v.read(n)
	if err != nil {
		return err
	}
	return v.showForm(http.StatusOK, n, current, "Change the "+n.one, v.recordForm(n, current))
}

// changeRecord changes what of a record the user has changed in its form.
func (v *visit) changeRecord(n *noun) error {
	current, err := v.read(n)
	if err != nil {
		return err
	}
	id := ui.Text(current["id"])
	body, err := api.FormBody(api.FormFields(v.Document, n.object, true), touched(v.r.PostForm), current)
	switch {
	case err == nil && len(body) == 0:
		v.flash("Nothing was changed.")
		v.redirect(recordPath(n.object, id))
		return nil
	case err == nil:
		id, err = api.Save(v.r.Context(), v.caller, n.object, id, body)
	}
	if err != nil {
		return v.refuse(v.recordForm(n, current), err, n, current, "Change the "+n.one)
	}
	v.flash("The " + n.one + " has been changed.")
	v.redirect(recordPath(n.object, id))
	return nil
}
