package records

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"

	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/server/openapi"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// edit is a change of a record in a form. The form has a digest of the value of each
// field when it was opened. A field that the user has not changed is not written, so
// that two people can edit different fields of a record at the same time. A field that
// both have changed is a conflict.
type edit struct {
	resource *resource.Resource
	current  api.Record
	fields   []openapi.Field
	saved    url.Values // of an unchanged form of the current record
	sent     url.Values // nil if the form is opened
}

// The names of hidden fields and of choices.
const (
	wasPrefix    = "was-"     // and a field: the digest of its value when the form was opened
	conflictName = "conflict" // fields with a conflict that the user was asked about
	keepPrefix   = "keep-"    // and a field: keepMine or keepTheirs
	keepMine     = "mine"
	keepTheirs   = "theirs"
)

func newEdit(r *page.Request, res *resource.Resource, current api.Record, sent url.Values) *edit {
	fields := api.FormFields(r.Document, res.Type, true)
	return &edit{res, current, fields, api.FormValues(fields, current), sent}
}

// form returns the form with what was typed.
func (e *edit) form() *ui.Form {
	form := recordForm(e.resource, e.fields, e.current, overlay(e.fields, e.saved, e.sent))
	for _, field := range e.fields {
		was := e.sent.Get(wasPrefix + field.Name)
		if was == "" || e.inConflict(field) {
			was = digest(field, e.saved)
		}
		form.Hidden[wasPrefix+field.Name] = was
	}
	return form
}

// digest identifies the value of a field in a form.
func digest(field openapi.Field, values url.Values) string {
	sum := sha256.Sum256([]byte(formText(field, values)))
	return hex.EncodeToString(sum[:8])
}

// formText returns the value of a field in a form as a text, with a line for each cell
// of a row.
func formText(field openapi.Field, values url.Values) string {
	if api.RowColumns(field) == nil {
		return strings.ReplaceAll(last(values[field.Name]), "\r\n", "\n")
	}
	var rows []string
	for _, row := range api.FormRows(field, values) {
		rows = append(rows, strings.Join(row, "\n"))
	}
	return strings.Join(rows, "\n\n")
}

func last(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return texts[len(texts)-1]
}

// changed reports whether the user has changed a field.
func (e *edit) changed(field openapi.Field) bool {
	was := e.sent.Get(wasPrefix + field.Name)
	return e.sent.Has(field.Name) && (was == "" || was != digest(field, e.sent))
}

// inConflict reports whether the user and someone else have changed a field to different
// values, now or when the user was asked.
func (e *edit) inConflict(field openapi.Field) bool {
	if !e.changed(field) || digest(field, e.sent) == digest(field, e.saved) {
		return false
	}
	was := e.sent.Get(wasPrefix + field.Name)
	return was != "" && was != digest(field, e.saved) || slices.Contains(e.sent[conflictName], field.Name)
}

// choice returns which value of a field in conflict the user has chosen. A choice counts
// only for the value that the user has seen.
func (e *edit) choice(field openapi.Field) string {
	choice := e.sent.Get(keepPrefix + field.Name)
	if choice != keepMine && choice != keepTheirs || e.sent.Get(wasPrefix+field.Name) != digest(field, e.saved) {
		return ""
	}
	return choice
}

// undecided reports whether the user must choose.
func (e *edit) undecided() bool {
	return slices.ContainsFunc(e.fields, func(field openapi.Field) bool { return e.inConflict(field) && e.choice(field) == "" })
}

// changes returns the fields to write.
func (e *edit) changes() url.Values {
	changes := url.Values{}
	for _, field := range e.fields {
		theirs := e.inConflict(field) && e.choice(field) == keepTheirs
		if e.changed(field) && !theirs {
			copyField(changes, e.sent, field)
		}
	}
	return changes
}

// copyField copies the values of a field, with its rows.
func copyField(to, from url.Values, field openapi.Field) {
	for name, values := range from {
		if name == field.Name || strings.HasPrefix(name, field.Name+".") && api.RowColumns(field) != nil {
			to[name] = values
		}
	}
}

// overlay returns values with the fields that were sent in their place.
func overlay(fields []openapi.Field, values, sent url.Values) url.Values {
	all := url.Values{}
	for _, field := range fields {
		from := values
		if sent.Has(field.Name) {
			from = sent
		}
		copyField(all, from, field)
	}
	return all
}

// addConflicts adds the fields in conflict to the form, with who saved the other value and
// when.
func (e *edit) addConflicts(r *page.Request, form *ui.Form) error {
	var all []*ui.Conflict
	for _, field := range e.fields {
		if e.inConflict(field) {
			all = append(all, &ui.Conflict{
				Name: field.Name, Label: Label(field.Name), Choice: e.choice(field),
				Mine: shownText(field, e.sent), Theirs: shownText(field, e.saved),
			})
		}
	}
	if form.Conflicts = all; len(all) == 0 {
		return nil
	}
	form.Carried = url.Values{}
	for _, conflict := range all {
		form.Carried.Add(conflictName, conflict.Name)
	}
	events, err := api.History(r.Context(), r.Caller, e.resource.Type, ui.Text(e.current["id"]))
	if err != nil {
		return err
	}
	names, err := EventActors(r, events)
	if err != nil {
		return err
	}
	for _, conflict := range all {
		at := slices.IndexFunc(events, func(event api.AuditEvent) bool {
			return slices.ContainsFunc(event.Changes, func(c api.FieldChange) bool { return c.Field == conflict.Name })
		})
		if at >= 0 {
			conflict.By, conflict.At = names[events[at].Actor], events[at].Time
		}
	}
	return nil
}

// shownText returns the value of a field in a form for people.
func shownText(field openapi.Field, values url.Values) string {
	text := formText(field, values)
	switch {
	case field.Type == "boolean":
		return map[string]string{"true": "Yes", "false": "No"}[text]
	case len(field.Enum) > 0:
		return ui.Humanize(text)
	case field.Format == "date-time" && text != "":
		return strings.Replace(text, "T", " ", 1) + " UTC"
	}
	return ui.Truncate(text, MaxValueLength)
}
