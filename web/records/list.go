// Package records has the lists and pages of records, the forms that add and
// change them, and what other pages need to show records: labels, values, paths
// and the names of actors.
package records

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"govsvc/db/auth"
	"govsvc/db/dashboard"
	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// recordsData is the argument of the page of a list.
type recordsData struct {
	Title   string
	Actions []ui.Action
	Tabs    []ui.Link
	Current *currentVersion
	Summary *listSummary
	Views   *viewBar // nil without a list
	Columns *ui.Form
	CSV     downloads
	Filters ui.Filters
	Table   ui.Table
	Bulk    *bulkBar // nil if the user can't change several records
	Pager   ui.Pager
	Clocks  bool // the list has running clocks
}

// currentVersion summarises the version that the records of a list belong to.
type currentVersion struct {
	Name, Path, State, Summary string
	At                         any
}

// List returns the list of the records.
func (p *Pages) List(r *page.Request) error {
	return p.show(r, http.StatusOK, r.HTTP.URL.Query(), refusedAction{})
}

// refusedAction is an action of a list that was refused, for the list that is shown
// again. The zero value is none.
type refusedAction struct {
	view    string // the error of a view's form
	bulk    string // the error of a bulk change
	changes bulkChange
}

// show renders the list that the query parameters ask for.
func (p *Pages) show(r *page.Request, status int, parameters url.Values, refused refusedAction) error {
	data := recordsData{Title: p.Page.Title, Tabs: tabs(p.Resource)}
	if reason := unavailable(r, p.Resource); reason != nil {
		data.Table.Empty = *reason
		return r.RenderStatus(http.StatusForbidden, "records", p.Page.Title, data)
	}
	settings, err := dashboard.ReadListSettings(r.Context(), r.Store, r.Org(), r.Session.User.ID, p.Type)
	if err != nil {
		return err
	}
	view := p.view(parameters, settings)
	result, err := api.Browse(r.Context(), r.Caller, p.Type, view.View)
	if err != nil {
		return err
	}
	if data.Current, err = loadCurrentVersion(r, p.Resource); err != nil {
		return err
	}
	if data.Filters, err = p.filterBar(r, view); err != nil {
		return err
	}
	if p.Addable && r.May(auth.WriteRecords) {
		data.Actions = []ui.Action{{Label: "Add " + ui.WithArticle(p.Singular), Path: p.Page.Base + "/new", Primary: true}}
	}
	if !data.Filters.Active && view.Cursor == "" && view.Sort == "" && view.address == "" {
		if data.Summary, err = summarize(r, p.Resource); err != nil {
			return err
		}
	}
	data.Columns, data.CSV = p.columnsForm(view), p.downloads(view)
	data.Views = p.viewBar(view, settings.Views, refused.view)
	data.Table = p.table(view, result.Records, r.Store.Now())
	if err := addDerived(r, p.Resource, &data.Table, result.Records); err != nil {
		return err
	}
	data.Clocks = p.Resource == resource.Incident
	data.Table.Empty = p.emptyList(r, data.Filters.Active)
	data.Bulk = Bulk{p}.bar(r, view, result, refused, &data.Table)
	data.Pager = p.pager(view, result)
	return r.RenderStatus(status, "records", p.Page.Title, data)
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

// listView is what a request asks of a list, with the columns and the page size that
// the user chose.
type listView struct {
	api.View
	columns []api.Column // that are shown
	address string       // the parameter columns of the address, "" without it
}

// view reads a view from the query parameters.
func (p *Pages) view(parameters url.Values, settings dashboard.ListSettings) listView {
	view := listView{View: api.View{
		Filters: map[string]string{}, Search: strings.TrimSpace(parameters.Get("q")), Sort: parameters.Get("sort"),
		Cursor: parameters.Get("cursor"), Limit: pageSize(settings.PageSize),
	}}
	for _, filter := range p.filters {
		if value := strings.TrimSpace(parameters.Get(filter.Name)); value != "" {
			view.Filters[filter.Name] = value
		}
	}
	names := settings.Columns
	if given := parameters.Get(columnsParameter); given != "" {
		names = strings.Split(given, ",")
	}
	view.columns = p.chosenColumns(names)
	if parameters.Get(columnsParameter) != "" {
		view.address = columnNames(view.columns)
	}
	return view
}

// path returns the address of the view in a list or a download, with further
// parameters. It omits the cursor, so that another order or filter begins at the first
// page.
func (v listView) path(path string, further ...any) string {
	pairs := []any{"q", v.Search, "sort", v.Sort, columnsParameter, v.address}
	for _, name := range slices.Sorted(maps.Keys(v.Filters)) {
		pairs = append(pairs, name, v.Filters[name])
	}
	return ui.WithQuery(path, append(pairs, further...)...)
}

// query returns the query parameters of the view, without the cursor.
func (v listView) query() string { return strings.TrimPrefix(v.path(""), "?") }

// pager returns the links to the pages before and after this one.
func (p *Pages) pager(view listView, result api.ViewPage) ui.Pager {
	pager := ui.Pager{
		Shown: len(result.Records), Total: result.Total, More: result.More, One: p.Singular, Many: p.Plural,
		Sizes: &ui.Sizes{Action: p.Page.Base + "/page-size", Now: view.Limit, Choose: pageSizes, Hidden: map[string]string{"query": view.query()}},
	}
	if result.Previous != "" {
		pager.Previous = view.path(p.Page.List, "cursor", result.Previous)
	}
	if result.Next != "" {
		pager.Next = view.path(p.Page.List, "cursor", result.Next)
	}
	return pager
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
