package records

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/db/dashboard"
	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// bulkBar is the form below a list that changes the selected records.
type bulkBar struct {
	Action string
	Query  string      // of the list
	Fields []*ui.Field // status and owner; an empty value keeps that of the record
	All    string      // label of the check box that selects the records of all pages; "" for none
	Error  string
}

// Bulk has the pages that change several records of a list at once.
type Bulk struct{ *Pages }

// bulkChange is a change of several records, as a form sends it.
type bulkChange struct {
	ids    []string
	all    bool              // all records of the view, instead of ids
	values map[string]string // by member; without those to keep
	reason string
}

// selectName is the name of the check boxes of the rows of a ui.Table.
const selectName = "id"

// ChangesTogether reports whether several records can be changed at once: they have a
// status.
func (p *Pages) ChangesTogether() bool {
	return p.Editable && slices.ContainsFunc(p.columns, func(c api.Column) bool { return c.Name == "status" })
}

// members returns the members that can be changed in several records at once: the
// status and the owner, if the resource has them.
func (b Bulk) members(r *page.Request) []string {
	var members []string
	for _, field := range api.FormFields(r.Document, b.Type, true) {
		if field.Name == "status" || field.Name == b.OwnerMember() {
			members = append(members, field.Name)
		}
	}
	return members
}

// bar returns the form that changes the selected records, and adds the check boxes to
// the table. It returns nil if the user can't change several records.
func (b Bulk) bar(r *page.Request, view listView, result api.ViewPage, refused refusedAction, table *ui.Table) *bulkBar {
	members := b.members(r)
	if !b.ChangesTogether() || len(table.Rows) == 0 || !r.May(auth.WriteRecords) {
		return nil
	}
	table.Select = "bulk"
	for i := range table.Rows {
		table.Rows[i].Selected = slices.Contains(refused.changes.ids, table.Rows[i].ID)
	}
	bar := &bulkBar{Action: b.Page.Base + "/bulk", Query: view.query(), Error: refused.bulk}
	for _, field := range api.FormFields(r.Document, b.Type, true) {
		if !slices.Contains(members, field.Name) {
			continue
		}
		f := &ui.Field{Name: field.Name, Prefix: "bulk-", Label: Label(field.Name), Value: refused.changes.values[field.Name]}
		if len(field.Enum) > 0 {
			f.Options = ui.Options(field.Enum...)
		} else {
			f.Type, f.MaxLength = "text", field.MaxLength
		}
		bar.Fields = append(bar.Fields, f)
	}
	if n := len(result.Records); result.Total > n && !result.More && result.Total <= api.MaxSaveAll {
		bar.All = "Select all " + ui.Plural(result.Total, b.Singular, b.Plural) + " of this list"
	}
	return bar
}

// read reads a change of several records from the sent form.
func (b Bulk) read(r *page.Request) bulkChange {
	change := bulkChange{all: r.Value("all") != "", reason: r.Value(ReasonField), values: map[string]string{}}
	for _, id := range r.HTTP.PostForm[selectName] {
		change.ids = append(change.ids, strings.ToLower(strings.TrimSpace(id)))
	}
	change.ids = slices.Compact(slices.Sorted(slices.Values(change.ids)))
	for _, member := range b.members(r) {
		if value := r.Value(member); value != "" {
			change.values[member] = value
		}
	}
	return change
}

// refusal is why a bulk change can't be previewed, as a sentence for people.
type refusal string

func (r refusal) Error() string { return string(r) }

// records reads the selected records in the order of the list.
func (b Bulk) records(r *page.Request, change bulkChange) ([]api.Record, error) {
	tooMany := refusal("Select at most " + strconv.Itoa(api.MaxSaveAll) + " " + b.Plural + ".")
	var selected []api.Record
	if change.all {
		view := b.view(sentQuery(r), dashboard.ListSettings{})
		for view.Limit = api.MaxViewLimit; ; {
			result, err := api.Browse(r.Context(), r.Caller, b.Type, view.View)
			if err != nil {
				return nil, err
			}
			if selected = append(selected, result.Records...); len(selected) > api.MaxSaveAll {
				return nil, tooMany
			}
			if result.Next == "" {
				return selected, nil
			}
			view.Cursor = result.Next
		}
	}
	if len(change.ids) > api.MaxSaveAll {
		return nil, tooMany
	}
	for _, id := range change.ids {
		record, err := api.ReadRecord(r.Context(), r.Caller, b.Type, id)
		if err != nil {
			return nil, err
		}
		selected = append(selected, record)
	}
	return selected, nil
}

// bulkPlan is what a bulk change does to the selected records.
type bulkPlan struct {
	bulkChange
	records  []api.Record // those that change
	same     int          // the number of those that have the values already
	reasons  int          // the number of records whose change needs a reason
	versions string       // changes when one of the records does
}

// plan finds what a bulk change does. It writes nothing.
func (b Bulk) plan(r *page.Request, change bulkChange) (bulkPlan, error) {
	plan := bulkPlan{bulkChange: change}
	if len(change.values) == 0 {
		return plan, refusal("Choose what to change: a new value for at least one field.")
	}
	selected, err := b.records(r, change)
	if err != nil {
		return plan, err
	}
	if len(selected) == 0 {
		return plan, refusal("Select at least one of the " + b.Plural + ".")
	}
	if plan.versions, err = digestOf(selected); err != nil {
		return plan, err
	}
	plan.ids = nil
	for _, record := range selected {
		plan.ids = append(plan.ids, ui.Text(record["id"]))
		changes := false
		for member, value := range change.values {
			changes = changes || ui.Text(record[member]) != value
		}
		if !changes {
			plan.same++
			continue
		}
		plan.records = append(plan.records, record)
		if b.Resource == resource.Risk && needsReason(record, change.values) {
			plan.reasons++
		}
	}
	if len(plan.records) == 0 {
		return plan, refusal("All of the selected " + b.Plural + " have these values already.")
	}
	return plan, nil
}

// digestOf returns a digest of records, in any order.
func digestOf(records []api.Record) (string, error) {
	lines := make([]string, len(records))
	for i, record := range records {
		text, err := json.Marshal(record)
		if err != nil {
			return "", err
		}
		lines[i] = string(text)
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:16]), nil
}

// needsReason reports whether a change of a risk needs a reason.
func needsReason(record api.Record, values map[string]string) bool {
	before := db.Rating{}.With(record)
	change := map[string]any{}
	for member, value := range values {
		change[member] = value
	}
	return db.NeedsReason(before, before.With(change))
}

// bulkData is the argument of the page that shows a bulk change before it is made.
type bulkData struct {
	Title  string
	Crumbs []ui.Link
	Notes  []string
	Table  ui.Table
	Form   *ui.Form
}

// Preview shows what a change of the selected records does. Nothing is changed yet.
func (b Bulk) Preview(r *page.Request) error {
	change := b.read(r)
	plan, err := b.plan(r, change)
	if why, ok := errors.AsType[refusal](err); ok {
		return b.show(r, http.StatusUnprocessableEntity, sentQuery(r), refusedAction{bulk: string(why), changes: change})
	}
	if err != nil {
		return err
	}
	return b.render(r, http.StatusOK, plan, b.form(r, plan), "")
}

// form returns the form that makes a planned change.
func (b Bulk) form(r *page.Request, plan bulkPlan) *ui.Form {
	form := &ui.Form{
		Action: b.Page.Base + "/bulk/apply", Submit: "Change " + ui.Plural(len(plan.records), b.Singular, b.Plural),
		Cancel: b.view(sentQuery(r), dashboard.ListSettings{}).path(b.Page.List),
		Hidden: map[string]string{"versions": plan.versions, "query": r.Value("query")}, Carried: url.Values{selectName: plan.ids},
	}
	for member, value := range plan.values {
		form.Hidden[member] = value
	}
	if plan.reasons == 0 {
		return form
	}
	for _, field := range api.FormFields(r.Document, b.Type, true) {
		if field.Name == ReasonField {
			f := formField(field, url.Values{ReasonField: {plan.reason}})
			f.Required, f.Hint = true, "At least 20 characters. It is kept as evidence with each of the "+b.Plural+", with the values before and after."
			form.Fields = []*ui.Field{f}
		}
	}
	return form
}

// render shows a planned change with its form.
func (b Bulk) render(r *page.Request, status int, plan bulkPlan, form *ui.Form, notice string) error {
	data := bulkData{Title: form.Submit, Crumbs: breadcrumbs(b.Resource), Form: form, Table: b.table(plan)}
	if notice != "" {
		data.Notes = append(data.Notes, notice)
	}
	if plan.same > 0 {
		data.Notes = append(data.Notes, ui.Plural(plan.same, "selected "+b.Singular+" has", "selected "+b.Plural+" have")+" these values already and will not change.")
	}
	if plan.reasons > 0 {
		data.Notes = append(data.Notes, ui.Plural(plan.reasons, b.Singular+" needs", b.Plural+" need")+" a justification: a critical risk is closed, accepted or mitigated only with one.")
	}
	return r.RenderStatus(status, "bulk", data.Title, data)
}

// table returns the records of a planned change with the values before and after.
func (b Bulk) table(plan bulkPlan) ui.Table {
	table := ui.Table{Caption: "Changes", Columns: []ui.Column{{Label: ui.Capitalize(b.Singular)}}}
	var fields []api.Column
	for _, column := range b.columns {
		if _, changes := plan.values[column.Name]; changes {
			fields = append(fields, column)
			label, kind := Label(column.Name), kindOf(column.Field)
			table.Columns = append(table.Columns, ui.Column{Label: label + " now", Kind: kind}, ui.Column{Label: "New " + strings.ToLower(label), Kind: kind})
		}
	}
	for _, record := range plan.records {
		row := ui.Row{Href: Path(b.Type, ui.Text(record["id"])), Cells: []any{nameOf(b.Resource, record)}}
		if names := b.Page.Names; len(names) > 1 && ui.Text(record[names[0]]) != "" {
			row.Under = ui.Text(record[names[1]])
		}
		for _, field := range fields {
			row.Cells = append(row.Cells, cellValue(field.Field, record), plan.values[field.Name])
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// Apply changes the selected records: all of them, or none. If one of them has
// changed since the preview, it shows the preview again.
func (b Bulk) Apply(r *page.Request) error {
	change := b.read(r)
	change.all = false
	plan, err := b.plan(r, change)
	if why, ok := errors.AsType[refusal](err); ok {
		return b.show(r, http.StatusUnprocessableEntity, sentQuery(r), refusedAction{bulk: string(why), changes: change})
	}
	if err != nil {
		return err
	}
	form := b.form(r, plan)
	if r.Value("versions") != plan.versions {
		return b.render(r, http.StatusConflict, plan, form, "Some of these "+b.Plural+" have changed in the meantime. Check the list and confirm again. Nothing has been changed.")
	}
	if err := b.save(r.Context(), r.Caller, plan); err != nil {
		return b.refused(r, plan, form, err)
	}
	return r.RedirectWithMessage(form.Cancel, ui.Plural(len(plan.records), b.Singular+" has", b.Plural+" have")+" been changed.")
}

// save makes a planned change. The reason goes to the records that need one.
func (b Bulk) save(ctx context.Context, c *api.Caller, plan bulkPlan) error {
	changes := make([]api.RecordChange, len(plan.records))
	for i, record := range plan.records {
		body := map[string]any{}
		for member, value := range plan.values {
			body[member] = value
		}
		if plan.reason != "" && b.Resource == resource.Risk && needsReason(record, plan.values) {
			body[ReasonField] = plan.reason
		}
		changes[i] = api.RecordChange{ID: ui.Text(record["id"]), Body: body}
	}
	return api.SaveAll(ctx, c, b.Type, changes)
}

// refused shows the preview again with the error of a change that was refused.
func (b Bulk) refused(r *page.Request, plan bulkPlan, form *ui.Form, err error) error {
	id, cause := api.FailedRecord(err)
	status, err := setRecordError(form, cause)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(plan.records, func(record api.Record) bool { return ui.Text(record["id"]) == id })
	if form.Error != "" && at >= 0 {
		form.Error = nameOf(b.Resource, plan.records[at]) + ": " + form.Error
	}
	return b.render(r, status, plan, form, "Nothing has been changed.")
}
