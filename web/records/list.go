// Package records has the lists and pages of records, the forms that add and
// change them, and what other pages need to show records: labels, values, paths
// and the names of actors.
package records

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"govsvc/db/auth"
	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/server/transfer"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// recordsOnPage is the number of records on a page of a list.
const recordsOnPage = 50

// recordsData is the argument of the page of a list.
type recordsData struct {
	Title   string
	Actions []ui.Action
	Tabs    []ui.Link
	Current *currentVersion
	Filters ui.Filters
	Table   ui.Table
	Pager   ui.Pager
}

// currentVersion summarises the version that the records of a list belong to.
type currentVersion struct {
	Name, Path, State, Summary string
	At                         any
}

// List returns the list of the records.
func (p *Pages) List(r *page.Request) error {
	data := recordsData{Title: p.Page.Title, Tabs: tabs(p.Resource)}
	if reason := unavailable(r, p.Resource); reason != nil {
		data.Table.Empty = *reason
		return r.RenderStatus(http.StatusForbidden, "records", p.Page.Title, data)
	}
	view := p.view(r)
	result, err := api.Browse(r.Context(), r.Caller, p.Type, view)
	if err != nil {
		return err
	}
	if data.Current, err = loadCurrentVersion(r, p.Resource); err != nil {
		return err
	}
	if p.Addable && r.May(auth.WriteRecords) {
		data.Actions = []ui.Action{{Label: "Add " + ui.WithArticle(p.Singular), Path: p.Page.Base + "/new", Primary: true}}
	}
	data.Filters = p.filterBar(view)
	data.Table = p.table(view, result.Records)
	data.Table.Empty = p.emptyList(r, data.Filters.Active)
	data.Pager = ui.Pager{Shown: len(result.Records), Total: result.Total, More: result.More, One: p.Singular, Many: p.Plural}
	if result.Previous != "" {
		data.Pager.Previous = viewPath(p.Page.List, view, "cursor", result.Previous)
	}
	if result.Next != "" {
		data.Pager.Next = viewPath(p.Page.List, view, "cursor", result.Next)
	}
	return r.Render("records", p.Page.Title, data)
}

// unavailable returns the text for plans without the resource, and nil for others.
func unavailable(r *page.Request, res *resource.Resource) *ui.Empty {
	if res.Feature == "" || slices.Contains(r.Caller.Entitlements.Features, res.Feature) {
		return nil
	}
	return &ui.Empty{
		Title:  ui.Capitalize(res.Plural) + " are not part of this organisation's plan",
		Advice: "The plan is " + string(r.Session.Organisation.Plan) + ". Existing records are kept, and are shown once the plan includes them.",
	}
}

// view reads the filters and the order from the query parameters.
func (p *Pages) view(r *page.Request) api.View {
	parameters := r.HTTP.URL.Query()
	view := api.View{
		Filters: map[string]string{}, Search: strings.TrimSpace(parameters.Get("q")), Sort: parameters.Get("sort"),
		Cursor: parameters.Get("cursor"), Limit: recordsOnPage,
	}
	for _, filter := range p.filters {
		if value := strings.TrimSpace(parameters.Get(filter.Name)); value != "" {
			view.Filters[filter.Name] = value
		}
	}
	return view
}

// viewPath returns the URL of a view, with further parameters. It omits the cursor,
// so that another order or filter begins at the first page.
func viewPath(path string, view api.View, further ...any) string {
	pairs := []any{"q", view.Search, "sort", view.Sort}
	for _, name := range slices.Sorted(maps.Keys(view.Filters)) {
		pairs = append(pairs, name, view.Filters[name])
	}
	return ui.WithQuery(path, append(pairs, further...)...)
}

// filterBar returns the filters above the list.
func (p *Pages) filterBar(view api.View) ui.Filters {
	bar := ui.Filters{
		Action: p.Page.List, Search: &ui.Field{Name: "q", Label: "Search", Value: view.Search}, Hidden: map[string]string{},
		Active: view.Search != "" || len(view.Filters) > 0, CSV: viewPath(p.Page.Base+".csv", view),
	}
	if view.Sort != "" {
		bar.Hidden["sort"] = view.Sort
	}
	for _, filter := range p.filters {
		bar.Fields = append(bar.Fields, filterField(filter, view.Filters[filter.Name]))
	}
	return bar
}

// filterField returns the field of a filter: a choice, a text or a date.
func filterField(filter api.Filter, value string) *ui.Field {
	field := &ui.Field{Name: filter.Name, Label: Label(filter.Name), Value: value}
	switch {
	case filter.Instant:
		field.Type, field.Value = "date", ui.DateInput(value)
	case filter.Values == nil:
		field.Type, field.MaxLength = "text", 200
	default:
		field.Options = ui.Options(filter.Values...)
		if several := strings.Split(value, ","); len(several) > 1 {
			for i, one := range several {
				several[i] = ui.Humanize(one)
			}
			field.Options = append([]ui.Option{{Value: value, Label: strings.Join(several, " or ")}}, field.Options...)
		}
	}
	return field
}

// table returns the records of a page. The first column has the name of the record
// and links to its page.
func (p *Pages) table(view api.View, records []api.Record) ui.Table {
	table, names := ui.Table{Caption: ui.Capitalize(p.Plural)}, p.Page.Names
	for _, column := range p.columns {
		table.Columns = append(table.Columns, p.heading(column, view))
	}
	for _, record := range records {
		row := ui.Row{Href: p.Page.Base + ui.Path(record["id"]), Cells: []any{nameOf(p.Resource, record)}}
		if len(names) > 1 && ui.Text(record[names[0]]) != "" {
			row.Under = ui.Text(record[names[1]])
		}
		for _, column := range p.columns[1:] {
			value := cellValue(column.Field, record)
			if column.Name == "regime_name" { // without its number, which is too wide for a list
				short, _, _ := strings.Cut(ui.Text(value), " (")
				value = ui.Truncate(short, 24)
			}
			row.Cells = append(row.Cells, value)
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// heading returns the head of a column, with the link that sorts by it. The first
// click sorts values with a rank, numbers and times descending, texts ascending.
func (p *Pages) heading(column api.Column, view api.View) ui.Column {
	head := ui.Column{Label: Label(column.Name), Kind: kindOf(column.Field)}
	if !column.Sorts {
		return head
	}
	descending := head.Kind != ui.PlainText && head.Kind != ui.Code && head.Kind != ui.Long
	switch view.Sort {
	case column.Name:
		head.Sorted, descending = "ascending", true
	case "-" + column.Name:
		head.Sorted, descending = "descending", false
	}
	view.Sort = column.Name
	if descending {
		view.Sort = "-" + column.Name
	}
	head.Sort = viewPath(p.Page.List, view)
	return head
}

// emptyList returns the text of an empty list, with the first action.
func (p *Pages) emptyList(r *page.Request, filtered bool) ui.Empty {
	if filtered {
		return ui.Empty{
			Title: "No matching " + p.Plural, Advice: "Remove some filters, or search for other words.",
			Action: &ui.Action{Label: "Clear filters", Path: p.Page.List},
		}
	}
	empty := ui.Empty{Title: "No " + p.Plural + " yet", Advice: p.Page.Empty}
	switch {
	case !r.May(auth.WriteRecords):
	case p.Addable:
		empty.Action = &ui.Action{Label: "Add " + ui.WithArticle(p.Singular), Path: p.Page.Base + "/new", Primary: true}
	default:
		empty.Action = &ui.Action{Label: "Import a file", Path: "/import", Primary: true}
	}
	return empty
}

// loadCurrentVersion reads the latest version that the records of a list belong to.
// It returns nil if there is none.
func loadCurrentVersion(r *page.Request, res *resource.Resource) (*currentVersion, error) {
	version := res.Page.VersionOf
	if version == nil {
		return nil, nil //nolint:nilnil // most resources have no versions
	}
	result, err := api.Browse(r.Context(), r.Caller, version.Type, api.View{Limit: 1})
	if err != nil || len(result.Records) == 0 {
		return nil, err
	}
	record := result.Records[0]
	current := &currentVersion{
		Name: titleOf(version, record), Path: Path(version.Type, ui.Text(record["id"])),
		Summary: ui.Text(record["executive_summary"]), At: record["generated_at"],
	}
	if version.Page.State != "" {
		current.State = ui.Text(record[version.Page.State])
	}
	return current, nil
}

// Export sends all records of a view as CSV, which can be imported again.
func (p *Pages) Export(r *page.Request) error {
	view := p.view(r)
	download := r.NewDownload(strings.ReplaceAll(p.Type, "_", "-")+".csv", "text/csv; charset=utf-8", 0)
	sheet, err := transfer.NewSheetWriter(r.Document, p.Type, download)
	if err != nil {
		return err
	}
	err = api.ExportView(r.Context(), r.Caller, p.Type, view, sheet.Write)
	if err == nil {
		err = sheet.Flush()
	}
	return download.End(err)
}
