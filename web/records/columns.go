package records

import (
	"slices"
	"strings"
	"time"

	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/web/ui"
)

// columnsParameter is the query parameter with the names of the columns.
const columnsParameter = "columns"

// chosenColumns returns the columns with the names, in the order of all columns. The
// first one names the record and is always shown. Without a known name, it returns the
// default columns.
func (p *Pages) chosenColumns(names []string) []api.Column {
	chosen := p.columns[:1:1]
	for _, column := range p.columns[1:] {
		if slices.Contains(names, column.Name) {
			chosen = append(chosen, column)
		}
	}
	if len(chosen) > 1 || slices.Contains(names, p.columns[0].Name) {
		return chosen
	}
	return slices.DeleteFunc(slices.Clone(p.columns), func(c api.Column) bool { return !c.Default })
}

func columnNames(columns []api.Column) string {
	names := make([]string, len(columns))
	for i, column := range columns {
		names[i] = column.Name
	}
	return strings.Join(names, ",")
}

// columnsForm returns the form that chooses the columns of the list.
func (p *Pages) columnsForm(view listView) *ui.Form {
	field := &ui.Field{Name: "column", Prefix: "columns-", Label: "Columns", Type: "checks"}
	for _, column := range p.columns[1:] {
		field.Options = append(field.Options, ui.Option{Value: column.Name, Label: p.columnLabel(column)})
	}
	for _, column := range view.columns {
		field.Values = append(field.Values, column.Name)
	}
	return &ui.Form{
		Action: p.Page.Base + "/columns", Submit: "Show columns", Fields: []*ui.Field{field}, Hidden: map[string]string{"query": view.query()},
	}
}

// columnLabel returns the label of a column. A second column with the label of an
// earlier one, such as the name of an owner and the owner's role, has its own name.
func (p *Pages) columnLabel(column api.Column) string {
	label := Label(column.Name)
	for _, other := range p.columns {
		if other.Name == column.Name {
			break
		}
		if Label(other.Name) == label {
			return ui.Humanize(column.Name)
		}
	}
	return label
}

// table returns the records of a page. The first column has the name of the record
// and links to its page.
func (p *Pages) table(view listView, records []api.Record, now time.Time) ui.Table {
	table, names := ui.Table{Caption: ui.Capitalize(p.Plural)}, p.Page.Names
	for _, column := range view.columns {
		table.Columns = append(table.Columns, p.heading(column, view))
	}
	for _, record := range records {
		row := ui.Row{ID: ui.Text(record["id"]), Href: view.path(p.Page.Base + ui.Path(record["id"])), Cells: []any{nameOf(p.Resource, record)}}
		if len(names) > 1 && ui.Text(record[names[0]]) != "" {
			row.Under = ui.Text(record[names[1]])
		} else if codes[names[0]] { // the key that the label stands for
			row.Under = ui.Text(record[names[0]])
		}
		for _, column := range view.columns[1:] {
			row.Cells = append(row.Cells, listCell(p.Resource, column, record, now))
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// listCell returns the value of a member for the cell of a list.
func listCell(res *resource.Resource, column api.Column, record api.Record, now time.Time) any {
	value := cellValue(column.Field, record)
	switch {
	case isDue(res, column.Name):
		return deadlineOf(res, record, now)
	case column.Name == "regime_name":
		return shortRegime(ui.Text(value))
	}
	return value
}

// shortRegime returns the name of a regime without its number, which is too wide for a
// list.
func shortRegime(name string) string {
	short, _, _ := strings.Cut(name, " (")
	return short
}

// isDue reports whether a member is the one by which a record needs attention.
func isDue(res *resource.Resource, member string) bool {
	return res.Attention != nil && res.Attention.Due == member
}

// deadlineOf returns the day or the instant by which a record needs attention. It is
// overdue if it has passed while the record is open.
func deadlineOf(res *resource.Resource, record api.Record, now time.Time) ui.Deadline {
	return ui.Deadline{At: record[res.Attention.Due], Overdue: resource.IsOverdue(res.DueOf(record), now)}
}

// heading returns the head of a column, with the link that sorts by it. The first
// click sorts texts and due dates ascending, and values with a rank, numbers and other
// times descending.
func (p *Pages) heading(column api.Column, view listView) ui.Column {
	head := ui.Column{Label: p.columnLabel(column), Kind: kindOf(column.Field)}
	if isDue(p.Resource, column.Name) {
		head.Kind = ui.Due
	}
	if !column.Sorts {
		return head
	}
	descending := !slices.Contains([]string{ui.PlainText, ui.Code, ui.Long, ui.Due}, head.Kind)
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
	head.Sort = view.path(p.Page.List)
	return head
}
