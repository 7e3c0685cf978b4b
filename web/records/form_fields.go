package records

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/server/openapi"
	"govsvc/web/ui"
)

// recordForm returns the form that adds a record, if current is nil, or edits it. values
// are those of the fields.
func recordForm(res *resource.Resource, fields []openapi.Field, current api.Record, values url.Values) *ui.Form {
	form := &ui.Form{Action: res.Page.Base, Submit: "Add " + res.Singular, Cancel: res.Page.List, Hidden: map[string]string{}}
	if current != nil {
		at := Path(res.Type, ui.Text(current["id"]))
		form.Action, form.Submit, form.Cancel = at, "Save changes", at
	}
	for _, field := range fields {
		if current != nil && !field.Nullable && current[field.Name] != nil {
			field.Required = true
		}
		f := formField(field, values)
		if own := hints[res.Type+"."+field.Name]; own != "" {
			f.Hint = own
		}
		form.Fields = append(form.Fields, f)
	}
	form.Sections = formSections(res.Type, form.Fields)
	return form
}

// hints replace the description of the document.
var hints = map[string]string{
	"risk.severity_change_reason": "Required if you lower or clear a severity or the likelihood, or close, accept or mitigate a critical risk. " +
		"At least 20 characters. It is kept as evidence, with the values before and after.",
	"risk.source":                    "How the risk entered the register.",
	"milestone.roadmap_version":      "Leave it empty for the latest version.",
	"incident.notification_deadline": "In UTC. If a notification is required, leave it empty for 72 hours after the declaration.",
	"incident.incident_key":          "The reference of this incident in other systems. An import finds the incident by it.",
	"kpi.current_value":              "Check-ins set it. A value that is older than the latest check-in is not saved.",
	"kpi.current_as_of":              "In UTC. Check-ins set it.",
	"kpi.code":                       "It is unique within the organisation. Imports find the KPI by it.",
	"kpi.unit":                       "For example %, USD, days, ratio or count.",
	"kpi.objective_id":               "The UUID of the objective that the KPI belongs to.",
}

// formField returns the field for a member, with its value.
func formField(field openapi.Field, values url.Values) *ui.Field {
	f := &ui.Field{
		Name: field.Name, Label: Label(field.Name), Hint: hint(field.Description), Value: last(values[field.Name]),
		Required: field.Required, MaxLength: field.MaxLength, MinLength: field.MinLength,
	}
	switch {
	case api.RowColumns(field) != nil:
		setRows(f, field, values)
	case field.Type == "boolean":
		f.Type, f.Required, f.Options = "select", true, []ui.Option{{Value: "true", Label: "Yes"}, {Value: "false", Label: "No"}}
	case len(field.Enum) > 0:
		f.Type, f.MaxLength, f.MinLength = "select", 0, 0
		f.Options = ui.Options(slices.DeleteFunc(slices.Clone(field.Enum), func(one string) bool { return one == "" })...)
	case field.Type == "number" || field.Type == "integer":
		f.InputMode = "decimal"
	case field.Type == "array":
		f.Type, f.Hint = "textarea", f.Hint+" One per line."
	case field.Format == "date":
		f.Type = "date"
	case field.Format == "date-time":
		f.Type, f.Hint = "datetime-local", f.Hint+" In UTC."
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

// rowNames name a row of a member.
var rowNames = map[string]string{
	"phases": "Phase", "framework_blend": "Framework", "regimes": "Regime", "cross_vendor_risks": "Risk", "recommended_actions": "Action",
}

// cellLabels are the labels of columns of rows that differ from that of a member.
var cellLabels = map[string]string{
	"framework_blend.name": "Framework", "framework_blend.value": "Weight, from 0 to 1", "cross_vendor_risks.text": "Risk",
}

// setRows gives a field its rows, and an empty one if there is none.
func setRows(f *ui.Field, field openapi.Field, values url.Values) {
	rows := api.FormRows(field, values)
	f.Type, f.Value, f.MaxLength, f.MinLength = "rows", "", 0, 0
	f.CanAdd = !api.OneRow(field) && len(rows) < api.MaxRows
	if len(rows) == 0 {
		rows = [][]string{make([]string, len(api.RowColumns(field)))}
	}
	if !api.OneRow(field) {
		f.Hint += fmt.Sprintf(" Empty rows are left out. At most %d rows.", api.MaxRows)
	}
	for i, row := range rows {
		f.Groups = append(f.Groups, rowGroup(field, i, row))
	}
}

// rowGroup returns the fields of a row.
func rowGroup(field openapi.Field, number int, row []string) ui.Group {
	group := ui.Group{Label: Label(field.Name)}
	if name := rowNames[field.Name]; name != "" {
		group.Label = fmt.Sprintf("%s %d", name, number+1)
	}
	for i, column := range api.RowColumns(field) {
		cell := formField(column, url.Values{column.Name: {row[i]}})
		if label := cellLabels[field.Name+"."+column.Name]; label != "" {
			cell.Label = label
		}
		cell.Name, cell.Hint = api.RowField(field.Name, number, column.Name), ""
		if cell.Type == "textarea" {
			cell.Rows = min(2+len(cell.Value)/80, 8)
		}
		group.Fields = append(group.Fields, cell)
	}
	return group
}

// addRowName is the name of the buttons that add a row to a field.
const addRowName = "add-row"

// addRow adds an empty row to a field and reports whether a button asked for it.
func addRow(form *ui.Form, name string) bool {
	field := form.Field(name)
	if name == "" || field == nil || !field.CanAdd {
		return false
	}
	empty := field.Groups[len(field.Groups)-1]
	number := len(field.Groups)
	added := ui.Group{Label: strings.TrimRight(empty.Label, "0123456789") + fmt.Sprint(number+1)}
	for i, cell := range empty.Fields {
		next := *cell
		next.Value, next.Error, next.Autofocus = "", "", i == 0
		next.Name = api.RowField(name, number, cell.Name[strings.LastIndex(cell.Name, ".")+1:])
		added.Fields = append(added.Fields, &next)
	}
	field.Groups = append(field.Groups, added)
	return true
}

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
