package records

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"govsvc/db"
	"govsvc/db/dashboard"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// pageSizes are the numbers of records that a page of a list can have.
var pageSizes = []int{25, 50, 100}

// pageSize returns the number of records on a page that the user chose, or the default.
func pageSize(chosen int) int {
	if slices.Contains(pageSizes, chosen) {
		return chosen
	}
	return pageSizes[1]
}

// viewBar is the row of saved views above a list.
type viewBar struct {
	Links  []ui.Link // all records, then the saved views
	Save   *ui.Form  // nil for a view that is saved
	Rename *ui.Form  // nil unless a saved view is open
	Remove ui.Action // the same
	Error  string    // of one of the forms
}

// viewBar returns the saved views of the user. The one with the same filters, order and
// columns as the list is open.
func (p *Pages) viewBar(view listView, saved []dashboard.ListView, refused string) *viewBar {
	shown := view
	shown.address = columnNames(view.columns)
	bar := &viewBar{Links: []ui.Link{{Label: "All " + p.Plural, Path: p.Page.List, Here: view.query() == ""}}, Error: refused}
	var open *dashboard.ListView
	for i, one := range saved {
		here := open == nil && one.Query == shown.query()
		if here {
			open = &saved[i]
		}
		bar.Links = append(bar.Links, ui.Link{Label: one.Name, Path: p.Page.List + "?" + one.Query, Here: here})
	}
	name := func(prefix, value string) *ui.Field {
		return &ui.Field{Name: "name", Prefix: prefix, Label: "Name", Value: value, Required: true, MaxLength: dashboard.MaxViewName}
	}
	hidden := map[string]string{"query": shown.query()}
	if open == nil {
		field := name("save-", "")
		field.Hint = "Keeps the filters, the order and the columns. A view with the same name is replaced."
		bar.Save = &ui.Form{Action: p.Page.Base + "/views", Submit: "Save", Fields: []*ui.Field{field}, Hidden: hidden}
		return bar
	}
	hidden["view"] = open.ID
	bar.Rename = &ui.Form{Action: p.Page.Base + "/views/rename", Submit: "Rename", Fields: []*ui.Field{name("rename-", open.Name)}, Hidden: hidden}
	bar.Remove = ui.Action{Label: "Remove view", Path: p.Page.Base + "/views/remove", Post: true, Danger: true, Hidden: hidden}
	return bar
}

// sentQuery returns the query parameters of the list that a form was sent from.
func sentQuery(r *page.Request) url.Values {
	values, _ := url.ParseQuery(r.Value("query")) // a damaged part is left out
	return values
}

// SaveView saves the view that a list shows under a name.
func (p *Pages) SaveView(r *page.Request) error {
	view := p.view(sentQuery(r), dashboard.ListSettings{})
	view.address = columnNames(view.columns)
	name := r.Value("name")
	err := dashboard.SaveView(r.Context(), r.Store, r.Actor(), p.Type, name, view.query())
	return p.viewChanged(r, err, view.path(p.Page.List), "The view “"+name+"” has been saved.")
}

// RenameView renames a saved view of the user.
func (p *Pages) RenameView(r *page.Request) error {
	err := dashboard.RenameView(r.Context(), r.Store, r.Actor(), p.Type, r.Value("view"), r.Value("name"))
	return p.viewChanged(r, err, p.view(sentQuery(r), dashboard.ListSettings{}).path(p.Page.List), "The view has been renamed.")
}

// RemoveView removes a saved view of the user.
func (p *Pages) RemoveView(r *page.Request) error {
	err := dashboard.RemoveView(r.Context(), r.Store, r.Actor(), p.Type, r.Value("view"))
	return p.viewChanged(r, err, p.Page.List, "The view has been removed.")
}

// viewChanged goes back to the list after a change of a view. A refused one is shown
// above the list.
func (p *Pages) viewChanged(r *page.Request, err error, to, message string) error {
	if refusal, ok := errors.AsType[*db.Error](err); ok && refusal.Param != "" {
		return p.show(r, http.StatusUnprocessableEntity, sentQuery(r), refusedAction{view: ui.Sentence(refusal.Message)})
	}
	if err != nil {
		return err
	}
	return r.RedirectWithMessage(to, message)
}

// SetColumns stores the columns of the user's list. Without one, the list has its
// default columns again.
func (p *Pages) SetColumns(r *page.Request) error {
	var names []string
	if r.Value("default") == "" {
		for _, column := range p.chosenColumns(append(slices.Clone(r.HTTP.PostForm["column"]), p.columns[0].Name)) {
			names = append(names, column.Name)
		}
	}
	if err := dashboard.SaveColumns(r.Context(), r.Store, r.Actor(), p.Type, names); err != nil {
		return err
	}
	view := p.view(sentQuery(r), dashboard.ListSettings{})
	view.address = "" // the columns that were just chosen
	return r.Redirect(view.path(p.Page.List))
}

// SetPageSize stores the number of records on a page of the user's list.
func (p *Pages) SetPageSize(r *page.Request) error {
	at := slices.IndexFunc(pageSizes, func(size int) bool { return ui.Text(size) == r.Value("size") })
	if at < 0 {
		return page.NewProblem(http.StatusBadRequest, "Choose 25, 50 or 100 records.")
	}
	if err := dashboard.SavePageSize(r.Context(), r.Store, r.Actor(), p.Type, pageSizes[at]); err != nil {
		return err
	}
	return r.Redirect(p.view(sentQuery(r), dashboard.ListSettings{}).path(p.Page.List))
}
