package records

import (
	"maps"
	"slices"
	"strings"

	"govsvc/db/auth"
	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/server/openapi"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// recordData is what the page of a record shows.
type recordData struct {
	Name    string
	Crumbs  []ui.Link
	Badges  []any // how it stands, in a few words
	Actions []ui.Action
	Clock   *clock        // of an incident
	Chart   *ui.LineChart // of a key result
	Texts   []passage
	Facts   []ui.Fact
	Tables  []ui.Table // what belongs to it
	History []change
	Unknown string // why there is no history
}

// passage is a long text of a record, or a list of texts.
type passage struct {
	Label string
	Text  string
	Items []string
}

// badges are the members that say how a record stands.
var badges = []string{
	"severity", "rag", "rag_status", "priority_band", "initial_risk_band", "verdict", "overall_posture", "portfolio_posture", "overall_readiness", "status",
}

// Show shows a record, with all that is known of it.
func (p *Pages) Show(r *page.Request) error {
	record, err := readRecord(r, p.Resource)
	if err != nil {
		return err
	}
	data := recordData{Name: titleOf(p.Resource, record), Crumbs: crumbs(p.Resource), Actions: recordActions(r, p.Resource, record)}
	for _, member := range badges {
		if ui.Text(record[member]) != "" {
			data.Badges = append(data.Badges, record[member])
		}
	}
	tell(p.Resource, &data, r.Document.Fields(p.Resource.Type), record)
	if err := addRelated(r, p.Resource, record, &data); err != nil {
		return err
	}
	if data.History, data.Unknown, err = loadHistory(r, p.Resource, record); err != nil {
		return err
	}
	return r.Render("record", data.Name, data)
}

// readRecord reads the record of the address.
func readRecord(r *page.Request, res *resource.Resource) (api.Record, error) {
	return api.ReadRecord(r.Context(), r.Caller, res.Type, strings.ToLower(r.PathValue("id")))
}

// crumbs lead to the list.
func crumbs(res *resource.Resource) []ui.Link {
	if res.Page.Tab == "" {
		return []ui.Link{{Label: res.Page.Title, Path: res.Page.List}}
	}
	return []ui.Link{{Label: res.Page.Title, Path: tabs(res)[0].Path}, {Label: res.Page.Tab, Path: res.Page.List}}
}

// recordActions are what the user may do with the record.
func recordActions(r *page.Request, res *resource.Resource, record api.Record) []ui.Action {
	if !r.May(auth.WriteRecords) {
		return nil
	}
	var actions []ui.Action
	at := Path(res.Type, ui.Text(record["id"]))
	switch res.Type {
	case "incident":
		actions = append(actions, ui.Action{Label: "Record a notification", Path: at + "/notification", Primary: record["notified_at"] == nil && record["notification_required"] == true})
	case "kpi":
		actions = append(actions, ui.Action{Label: "Add a check-in", Path: at + "/checkins/new", Primary: true})
	}
	if res.Editable {
		actions = append(actions, ui.Action{Label: "Change", Path: at + "/edit"})
	}
	return actions
}

// tell sorts a record's members into facts, long texts and tables.
func tell(res *resource.Resource, data *recordData, fields []openapi.Field, record api.Record) {
	var states, stamps []ui.Fact
	for _, field := range fields {
		value, there := record[field.Name]
		if !there || field.Name == "object" || field.Name == res.Page.Names[0] && ui.Text(value) == data.Name {
			continue
		}
		fact := ui.Fact{Label: Label(field.Name), Kind: kindOf(field), Value: shown(field, record)}
		switch {
		case field.Name == "id" || field.Name == "created_at" || field.Name == "updated_at":
			stamps = append(stamps, fact)
		case field.Type == "object" || field.Items != nil:
			data.Tables = append(data.Tables, subTable(field, value)...)
		case field.Type == "array" && fieldIsProse(field, value):
			data.Texts = append(data.Texts, passage{Label: fact.Label, Items: texts(value)})
		case fieldIsProse(field, value):
			data.Texts = append(data.Texts, passage{Label: fact.Label, Text: ui.Text(value)})
		case fact.Kind == ui.Badge:
			states = append(states, fact)
		default:
			fact.Href = neighbour(field.Name, record)
			data.Facts = append(data.Facts, fact)
		}
	}
	data.Facts = slices.Concat(states, data.Facts, stamps)
}

// fieldIsProse tells texts that need room from those that fit into a line.
func fieldIsProse(field openapi.Field, value any) bool {
	const line = 60
	switch v := value.(type) {
	case string:
		return kindOf(field) == ui.Long && (len(v) > line || strings.Contains(v, "\n"))
	case []any:
		return slices.ContainsFunc(v, func(one any) bool { return len(ui.Text(one)) > line })
	}
	return false
}

// neighbour is where a member leads that names another record, or a part of a
// list.
func neighbour(member string, record api.Record) string {
	switch member {
	case "roadmap_id", "roadmap_version":
		return Path("roadmap", ui.Text(record["roadmap_id"]))
	case "regime_id", "regime_name":
		return ui.WithQuery(resource.Obligation.Page.List, "regime_id", record["regime_id"])
	}
	return ""
}

// subTable shows an array of objects, or an object with values of one kind; none
// where it is empty.
func subTable(field openapi.Field, value any) []ui.Table {
	table := ui.Table{Caption: Label(field.Name), Shown: true}
	switch v := value.(type) {
	case []any:
		for _, item := range field.Items {
			column := ui.Column{Label: Label(item.Name), Kind: kindOf(item)}
			if item.Name == "priority" {
				column.Kind = ui.Badge
			}
			table.Columns = append(table.Columns, column)
		}
		for _, one := range v {
			members, _ := one.(map[string]any)
			row := ui.Row{}
			for i, item := range field.Items {
				value := members[item.Name]
				if kindOf(item) != ui.Long { // long ones are shown whole here
					value = shown(item, members)
				}
				row.Cells = append(row.Cells, value)
				if i == 0 {
					row.Href = neighbour(item.Name, members)
				}
			}
			table.Rows = append(table.Rows, row)
		}
	case map[string]any:
		table.Columns = []ui.Column{{Label: "Name"}, {Label: "Share", Kind: ui.Percent}}
		if !shares[field.Name] {
			table.Columns[1] = ui.Column{Label: "Value", Kind: ui.Number}
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			table.Rows = append(table.Rows, ui.Row{Cells: []any{name, portion(field, v[name])}})
		}
	}
	if len(table.Rows) == 0 {
		return nil
	}
	return []ui.Table{table}
}

// portion is a value of an object, as hundredths where it is a share.
func portion(field openapi.Field, value any) any {
	return shown(field, map[string]any{field.Name: value})
}

// addRelated adds what other tables hold of a record.
func addRelated(r *page.Request, res *resource.Resource, record api.Record, data *recordData) (err error) {
	switch res.Type {
	case "risk":
		return addRatings(r, record, data)
	case "incident":
		data.Clock = clockOf(record, r.Store.Now())
		return nameTimelineActors(r, data)
	case "kpi":
		return addCheckins(r, record, data)
	}
	return nil
}
