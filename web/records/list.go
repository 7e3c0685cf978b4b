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

// recordsPage is how many records a page of a list holds.
const recordsPage = 50

// recordsData is what the page of a list shows.
type recordsData struct {
	Title   string
	Actions []ui.Action
	Tabs    []ui.Link
	Current *currentVersion
	Filters ui.Filters
	Table   ui.Table
	Pager   ui.Pager
}

// currentVersion sums up the version that the records of a list belong to.
type currentVersion struct {
	Name, Path, State, Summary string
	At                         any
}

// List shows a page of the records.
func (p *Pages) List(r *page.Request) error {
	res := p.Resource
	data := recordsData{Title: res.Page.Title, Tabs: tabs(res)}
	if refused := unavailable(r, res); refused != nil {
		data.Table.Empty = *refused
		return r.RenderStatus(http.StatusForbidden, "records", data.Title, data)
	}
	filters := api.Filters(r.Document, res)
	view := viewOf(r, filters)
	result, err := api.Browse(r.Context(), r.Caller, res.Type, view)
	if err != nil {
		return err
	}
	if data.Current, err = loadCurrentVersion(r, res); err != nil {
		return err
	}
	if res.Addable && r.May(auth.WriteRecords) {
		data.Actions = []ui.Action{{Label: "Add " + ui.WithArticle(res.Singular), Path: res.Page.Base + "/new", Primary: true}}
	}
	data.Filters = filterBar(res, filters, view)
	data.Table = table(res, api.Columns(r.Document, res), view, result.Records)
	data.Table.Empty = emptyList(r, res, data.Filters.Active)
	data.Pager = ui.Pager{Shown: len(result.Records), Total: result.Total, More: result.More, One: res.Singular, Many: res.Plural}
	if result.Previous != "" {
		data.Pager.Previous = viewPath(res.Page.List, view, "cursor", result.Previous)
	}
	if result.Next != "" {
		data.Pager.Next = viewPath(res.Page.List, view, "cursor", result.Next)
	}
	return r.Render("records", data.Title, data)
}

// unavailable returns what the list shows if the plan does not include the
// resource; nil if it does.
func unavailable(r *page.Request, res *resource.Resource) *ui.Empty {
	if res.Feature == "" || slices.Contains(r.Caller.Entitlements.Features, res.Feature) {
		return nil
	}
	return &ui.Empty{
		Title:  ui.Capitalize(res.Plural) + " are not part of this organisation's plan",
		Advice: "The plan is " + string(r.Session.Organisation.Plan) + ". What was recorded under another plan is kept, and is here again once the plan includes it.",
	}
}

// viewOf returns what the address asks for.
func viewOf(r *page.Request, filters []api.Filter) api.View {
	query := r.HTTP.URL.Query()
	view := api.View{
		Filters: map[string]string{}, Search: strings.TrimSpace(query.Get("q")), Sort: query.Get("sort"),
		Cursor: query.Get("cursor"), Limit: recordsPage,
	}
	for _, filter := range filters {
		if value := strings.TrimSpace(query.Get(filter.Name)); value != "" {
			view.Filters[filter.Name] = value
		}
	}
	return view
}

// viewPath is the address of a view, with further parameters. The cursor is not
// one of them by itself: another order or filter begins at the first page.
func viewPath(path string, view api.View, further ...any) string {
	pairs := []any{"q", view.Search, "sort", view.Sort}
	for _, name := range slices.Sorted(maps.Keys(view.Filters)) {
		pairs = append(pairs, name, view.Filters[name])
	}
	return ui.WithQuery(path, append(pairs, further...)...)
}

// filterBar is the bar above a list.
func filterBar(res *resource.Resource, filters []api.Filter, view api.View) ui.Filters {
	bar := ui.Filters{
		Action: res.Page.List, Search: &ui.Field{Name: "q", Label: "Search", Value: view.Search}, Hidden: map[string]string{},
		Active: view.Search != "" || len(view.Filters) > 0, CSV: viewPath(res.Page.Base+".csv", view),
	}
	if view.Sort != "" {
		bar.Hidden["sort"] = view.Sort
	}
	for _, filter := range filters {
		bar.Fields = append(bar.Fields, filterField(filter, view.Filters[filter.Name]))
	}
	return bar
}

// filterField is what a filter is set with: a choice, a text or a date.
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

// table is a page of the list. The first column has the name of a record, with its
// key below it, and leads to its page.
func table(res *resource.Resource, columns []api.Column, view api.View, records []api.Record) ui.Table {
	table := ui.Table{Caption: ui.Capitalize(res.Plural)}
	for _, column := range columns {
		table.Columns = append(table.Columns, heading(res, column, view))
	}
	for _, record := range records {
		row := ui.Row{Href: res.Page.Base + ui.Path(record["id"])}
		if len(res.Page.Names) > 1 && ui.Text(record[res.Page.Names[0]]) != "" {
			row.Under = ui.Text(record[res.Page.Names[1]])
		}
		for i, column := range columns {
			if i == 0 {
				row.Cells = append(row.Cells, nameOf(res, record))
				continue
			}
			value := shown(column.Field, record)
			if column.Name == "regime_name" { // with its number, it would take the room of the rest
				short, _, _ := strings.Cut(ui.Text(value), " (")
				value = ui.Truncate(short, 24)
			}
			row.Cells = append(row.Cells, value)
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// heading is the head of a column, with the way to sort by it: first as people
// mostly want it, the gravest and the latest on top, then the other way round.
func heading(res *resource.Resource, column api.Column, view api.View) ui.Column {
	head := ui.Column{Label: Label(column.Name), Kind: kindOf(column.Field)}
	if !column.Sorts {
		return head
	}
	down := head.Kind != ui.PlainText && head.Kind != ui.Code && head.Kind != ui.Long
	switch view.Sort {
	case column.Name:
		head.Sorted, down = "ascending", true
	case "-" + column.Name:
		head.Sorted, down = "descending", false
	}
	view.Sort = column.Name
	if down {
		view.Sort = "-" + column.Name
	}
	head.Sort = viewPath(res.Page.List, view)
	return head
}

// emptyList stands where a list is empty, and says what to do next.
func emptyList(r *page.Request, res *resource.Resource, filtered bool) ui.Empty {
	if filtered {
		return ui.Empty{
			Title: "No " + res.Singular + " fits these filters", Advice: "Take some of them away, or look for other words.",
			Action: &ui.Action{Label: "Clear the filters", Path: res.Page.List},
		}
	}
	empty := ui.Empty{Title: "No " + res.Plural + " yet", Advice: res.Page.Empty}
	switch {
	case !r.May(auth.WriteRecords):
	case res.Addable:
		empty.Action = &ui.Action{Label: "Add " + ui.WithArticle(res.Singular), Path: res.Page.Base + "/new", Primary: true}
	default:
		empty.Action = &ui.Action{Label: "Import a file", Path: "/import", Primary: true}
	}
	return empty
}

// tabs lead to the lists that share a title; none where there is one list.
func tabs(res *resource.Resource) []ui.Link {
	if res.Page.Tab == "" {
		return nil
	}
	var tabs []ui.Link
	for _, other := range resource.Pages() {
		if other.Page.Title == res.Page.Title {
			tabs = append(tabs, ui.Link{Label: other.Page.Tab, Path: other.Page.List, Here: other == res})
		}
	}
	return tabs
}

// loadCurrentVersion reads the latest version that the list's records belong to;
// nil if there is none.
func loadCurrentVersion(r *page.Request, res *resource.Resource) (*currentVersion, error) {
	versions := res.Page.VersionOf
	if versions == nil {
		return nil, nil //nolint:nilnil // most lists have no versions
	}
	result, err := api.Browse(r.Context(), r.Caller, versions.Type, api.View{Limit: 1})
	if err != nil || len(result.Records) == 0 {
		return nil, err
	}
	latest := result.Records[0]
	current := &currentVersion{
		Name: titleOf(versions, latest), Path: Path(versions.Type, ui.Text(latest["id"])),
		Summary: ui.Text(latest["executive_summary"]), At: latest["generated_at"],
	}
	if versions.Page.State != "" {
		current.State = ui.Text(latest[versions.Page.State])
	}
	return current, nil
}

// Export answers with all records of a view as CSV, which can be imported
// again.
func (p *Pages) Export(r *page.Request) error {
	view := viewOf(r, api.Filters(r.Document, p.Resource))
	sent := r.NewDownload(strings.ReplaceAll(p.Resource.Type, "_", "-")+".csv", "text/csv; charset=utf-8", 0)
	sheet, err := transfer.NewSheetWriter(r.Document, p.Resource.Type, sent)
	if err != nil {
		return err
	}
	err = api.ExportView(r.Context(), r.Caller, p.Resource.Type, view, sheet.Write)
	if err == nil {
		err = sheet.Flush()
	}
	return sent.End(err)
}
