package records

import (
	"govsvc/db"
	"govsvc/db/annotation"
	"govsvc/db/auth"
	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// linkList is the section "Links" of a record.
type linkList struct {
	Table ui.Table
	Add   *ui.Action // nil without the permission
}

func loadLinks(r *page.Request, of annotation.Subject) (*linkList, error) {
	links, err := annotation.New(r.Store).Links(r.Context(), r.Org(), of)
	if err != nil {
		return nil, err
	}
	at := Path(of.Type, of.ID) + "/links"
	list := &linkList{Table: ui.Table{Caption: "Linked records", Columns: []ui.Column{{Label: "Record"}, {Label: "Type"}, {Label: "Status", Kind: ui.Badge}}}}
	for _, link := range links {
		other := link.Other
		if unavailable(r, resource.Find(other.Type)) != nil {
			continue // its page is not part of the plan
		}
		kind := ui.Capitalize(typeLabel(other.Type))
		if link.Archived {
			kind += ", archived"
		}
		row := ui.Row{Href: Path(other.Type, other.ID), Under: shownKey(other), Cells: []any{other.Name, kind, other.Status}}
		if r.May(auth.WriteRecords) {
			row.Actions = []ui.Action{{
				Label: "Remove", Path: at + ui.Path(link.ID) + "/remove", Post: true, Danger: true, About: "the link to " + other.Name,
				Ask: "Remove the link to “" + ui.Truncate(other.Name, MaxValueLength) + "”? Both records stay.",
			}}
		}
		list.Table.Rows = append(list.Table.Rows, row)
	}
	if r.May(auth.WriteRecords) {
		list.Add = &ui.Action{Label: "Add link", Path: at + "/new"}
	}
	return list, nil
}

// shownKey returns the key of a record that people know; "" for an id.
func shownKey(of annotation.Name) string {
	if of.Key == of.ID || of.Key == of.Name {
		return ""
	}
	return of.Key
}

// linkSearch is the argument of the page that finds a record to link.
type linkSearch struct {
	Title, Name string
	Crumbs      []ui.Link
	Filters     ui.Filters
	Tables      []ui.Table
	Empty       *ui.Empty
}

// foundOfType bounds the records of each type that a search for links shows.
const foundOfType = 10

// NewLink searches the records that the record can be linked to.
func (p Annotations) NewLink(r *page.Request) error {
	record, err := readRecord(r, p.Resource)
	if err != nil {
		return err
	}
	of, words := subjectOf(p.Resource, record), r.Query("q")
	at := Path(of.Type, of.ID)
	data := linkSearch{
		Title: "Add link", Name: titleOf(p.Resource, record), Crumbs: append(breadcrumbs(p.Resource), ui.Link{Label: titleOf(p.Resource, record), Path: at}),
		Filters: ui.Filters{
			Action: at + "/links/new", Active: words != "", Submit: "Find records",
			Search: &ui.Field{Name: "q", Label: "Name or key of the other record", Value: words, Autofocus: true},
		},
	}
	if words != "" {
		if data.Tables, err = linkCandidates(r, of, words); err != nil {
			return err
		}
		if len(data.Tables) == 0 {
			data.Empty = &ui.Empty{Title: "No matching records", Advice: "Search for other words. Records that are already linked are not shown."}
		}
	}
	return r.Render("link-search", data.Title, data)
}

// linkCandidates returns a table of each type with the records that have the words and
// are not yet linked.
func linkCandidates(r *page.Request, of annotation.Subject, words string) ([]ui.Table, error) {
	links, err := annotation.New(r.Store).Links(r.Context(), r.Org(), of)
	if err != nil {
		return nil, err
	}
	linked := map[annotation.Subject]bool{of: true}
	for _, link := range links {
		linked[link.Other.Subject] = true
	}
	var tables []ui.Table
	for _, res := range resource.Linked() {
		if unavailable(r, res) != nil {
			continue
		}
		found, err := api.Browse(r.Context(), r.Caller, res.Type, api.View{Search: words, Limit: foundOfType})
		if err != nil {
			return nil, err
		}
		table := ui.Table{Caption: ui.Capitalize(res.Plural), Shown: true, Columns: []ui.Column{{Label: "Record"}, {Label: "Status", Kind: ui.Badge}}}
		for _, record := range found.Records {
			other := subjectOf(res, record)
			if linked[other] {
				continue
			}
			name := nameOf(res, record)
			row := ui.Row{Href: Path(other.Type, other.ID), Cells: []any{name, record["status"]}}
			if len(res.Page.Names) > 1 {
				row.Under = ui.Text(record[res.Page.Names[1]])
			}
			row.Actions = []ui.Action{{
				Label: "Link", Path: Path(of.Type, of.ID) + "/links", Post: true, About: name,
				Hidden: map[string]string{"type": other.Type, "id": other.ID},
			}}
			table.Rows = append(table.Rows, row)
		}
		if len(table.Rows) > 0 {
			tables = append(tables, table)
		}
	}
	return tables, nil
}

// AddLink links the record to the one of the form.
func (p Annotations) AddLink(r *page.Request) error {
	record, err := readRecord(r, p.Resource)
	if err != nil {
		return err
	}
	service, of := annotation.New(r.Store), subjectOf(p.Resource, record)
	one, err := service.Find(r.Context(), r.Org(), of)
	if err != nil {
		return err
	}
	other, err := service.Find(r.Context(), r.Org(), annotation.Subject{Type: r.Value("type"), ID: r.Value("id")})
	if err != nil {
		return err
	}
	if unavailable(r, resource.Find(other.Type)) != nil {
		return &page.NotFound
	}
	_, err = api.Save(r.Context(), r.Caller, resource.Link.Type, "", map[string]any{
		"record_type": one.Type, "record_key": one.Key, "other_type": other.Type, "other_key": other.Key,
	})
	if err != nil && !db.Is(err, db.Conflict) { // a conflict: they are already linked, or one has the most links
		return err
	}
	message := "The link to “" + ui.Truncate(other.Name, MaxValueLength) + "” has been added."
	if err != nil {
		message = page.Message(err)
	}
	return r.RedirectWithMessage(Path(of.Type, of.ID)+"#links", message)
}

// RemoveLink removes a link of the record.
func (p Annotations) RemoveLink(r *page.Request) error {
	record, err := readRecord(r, p.Resource)
	if err != nil {
		return err
	}
	of := subjectOf(p.Resource, record)
	if err := annotation.New(r.Store).RemoveLink(r.Context(), r.Actor(), of, r.PathValue("link")); err != nil {
		return err
	}
	return r.RedirectWithMessage(Path(of.Type, of.ID)+"#links", "The link has been removed.")
}
