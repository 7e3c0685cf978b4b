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

// List shows a page of a family's records.
func (p *Pages) List(r *page.Request) error {
	data := recordsData{Title: p.title, Tabs: p.tabs()}
	if refused := unavailable(r, p.family); refused != nil {
		data.Table.Empty = *refused
		return r.RenderStatus(http.StatusForbidden, "records", p.title, data)
	}
	view := viewOf(r, p.family)
	result, err := api.Browse(r.Context(), r.Caller, p.object, view)
	if err != nil {
		return err
	}
	if data.Current, err = loadCurrentVersion(r, p.noun); err != nil {
		return err
	}
	if p.adds && r.May(auth.WriteRecords) {
		data.Actions = []ui.Action{{Label: "Add " + ui.WithArticle(p.one), Path: p.base + "/new", Primary: true}}
	}
	data.Filters = filterBar(p.noun, p.family, view)
	data.Table = p.table(p.family, view, result.Records)
	data.Table.Empty = emptyList(r, p.noun, data.Filters.Active)
	data.Pager = ui.Pager{Shown: len(result.Records), Total: result.Total, More: result.More, One: p.one, Many: p.many}
	if result.Previous != "" {
		data.Pager.Previous = viewPath(p.list, view, "cursor", result.Previous)
	}
	if result.Next != "" {
		data.Pager.Next = viewPath(p.list, view, "cursor", result.Next)
	}
	return r.Render("records", p.title, data)
}

// unavailable is what stands where the plan has no such family; nil if it has.
func unavailable(r *page.Request, family api.Family) *ui.Empty {
	if family.Feature == "" || slices.Contains(r.Caller.Entitlements.Features, family.Feature) {
		return nil
	}
	return &ui.Empty{
		Title:  ui.Capitalize(family.Plural) + " are not part of this organisation's plan",
		Advice: "The plan is " + string(r.Session.Organisation.Plan) + ". What was recorded under another plan is kept, and is here again once the plan includes it.",
	}
}

// viewOf is what the address asks for.
func viewOf(r *page.Request, family api.Family) api.View {
	asked := r.HTTP.URL.Query()
	view := api.View{
		Filters: map[string]string{}, Search: strings.TrimSpace(asked.Get("q")), Sort: asked.Get("sort"),
		Cursor: asked.Get("cursor"), Limit: recordsPage,
	}
	for _, filter := range family.Filters {
		if value := strings.TrimSpace(asked.Get(filter.Name)); value != "" {
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
func filterBar(n *noun, family api.Family, view api.View) ui.Filters {
	bar := ui.Filters{
		Action: n.list, Search: &ui.Field{Name: "q", Label: "Search", Value: view.Search}, Hidden: map[string]string{},
		Active: view.Search != "" || len(view.Filters) > 0, CSV: viewPath(n.base+".csv", view),
	}
	if view.Sort != "" {
		bar.Hidden["sort"] = view.Sort
	}
	for _, filter := range family.Filters {
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

// table is a page of the list. What a record is called comes first and leads to
// its page.
func (n *noun) table(family api.Family, view api.View, records []api.Record) ui.Table {
	table := ui.Table{Caption: ui.Capitalize(n.many)}
	columns := n.columns(family)
	for _, column := range columns {
		table.Columns = append(table.Columns, n.heading(column, view))
	}
	for _, record := range records {
		row := ui.Row{Href: n.base + ui.Path(record["id"])}
		if len(n.names) > 1 && ui.Text(record[n.names[0]]) != "" {
			row.Under = ui.Text(record[n.names[1]])
		}
		for i, column := range columns {
			if i == 0 {
				row.Cells = append(row.Cells, n.nameOf(record))
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

// columns puts the one that records are called by first. Their key stands below
// it, which leaves more room.
func (n *noun) columns(family api.Family) []api.Column {
	columns := slices.DeleteFunc(slices.Clone(family.Columns), func(c api.Column) bool {
		return slices.Contains(n.names[1:], c.Name) || slices.Contains(n.spares, c.Name)
	})
	at := slices.IndexFunc(columns, func(c api.Column) bool { return c.Name == n.names[0] })
	if at > 0 {
		first := columns[at]
		columns = slices.Insert(slices.Delete(columns, at, at+1), 0, first)
	}
	return columns
}

// heading is the head of a column, with the way to sort by it: first as people
// mostly want it, the gravest and the latest on top, then the other way round.
func (n *noun) heading(column api.Column, view api.View) ui.Column {
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
	head.Sort = viewPath(n.list, view)
	return head
}

// emptyList stands where a list is empty, and says what to do next.
func emptyList(r *page.Request, n *noun, filtered bool) ui.Empty {
	if filtered {
		return ui.Empty{
			Title: "No " + n.one + " fits these filters", Advice: "Take some of them away, or look for other words.",
			Action: &ui.Action{Label: "Clear the filters", Path: n.list},
		}
	}
	empty := ui.Empty{Title: "No " + n.many + " yet", Advice: n.origin}
	switch {
	case !r.May(auth.WriteRecords):
	case n.adds:
		empty.Action = &ui.Action{Label: "Add " + ui.WithArticle(n.one), Path: n.base + "/new", Primary: true}
	default:
		empty.Action = &ui.Action{Label: "Import a file", Path: "/import", Primary: true}
	}
	return empty
}

// tabs lead to the lists that share a title; none where there is but one.
func (n *noun) tabs() []ui.Link {
	if n.tab == "" {
		return nil
	}
	var tabs []ui.Link
	for _, other := range nouns {
		if other.title == n.title {
			tabs = append(tabs, ui.Link{Label: other.tab, Path: other.list, Here: other == n})
		}
	}
	return tabs
}

// loadCurrentVersion reads the latest version of what the list's records belong
// to; nil if there is none.
func loadCurrentVersion(r *page.Request, n *noun) (*currentVersion, error) {
	of, ok := versions[n.object]
	if !ok {
		return nil, nil //nolint:nilnil // most lists have no versions
	}
	result, err := api.Browse(r.Context(), r.Caller, of.object, api.View{Limit: 1})
	if err != nil || len(result.Records) == 0 {
		return nil, err
	}
	record, whole := result.Records[0], nounOf(of.object)
	current := &currentVersion{
		Name: whole.titleOf(record), Path: Path(of.object, ui.Text(record["id"])),
		Summary: ui.Text(record["executive_summary"]), At: record["generated_at"],
	}
	if of.state != "" {
		current.State = ui.Text(record[of.state])
	}
	return current, nil
}

// Export answers with all records of a view as CSV, which can be imported
// again.
func (p *Pages) Export(r *page.Request) error {
	view := viewOf(r, p.family)
	sent := r.NewDownload(strings.ReplaceAll(p.object, "_", "-")+".csv", "text/csv; charset=utf-8", 0)
	sheet, err := transfer.NewSheetWriter(r.Document, p.object, sent)
	if err != nil {
		return err
	}
	err = api.ExportView(r.Context(), r.Caller, p.object, view, sheet.Write)
	if err == nil {
		err = sheet.Flush()
	}
	return sent.End(err)
}
