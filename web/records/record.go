package records

import (
	"errors"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/db/dashboard"
	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/server/openapi"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// recordData is the argument of the page of a record.
type recordData struct {
	Name           string
	Crumbs         []ui.Link
	Badges         []any // values of badges
	Actions        []ui.Action
	Previous, Next string         // paths of the records beside it in the list
	Archived       *archivedState // nil if it is not archived
	Clock          *clock         // of an incident
	Timeline       []timelineEntry
	Facts          []ui.Fact
	Stamps         []ui.Fact // ids and timestamps, which are folded away
	Ratings        *ratings  // of a risk
	Chart          *ui.LineChart
	Texts          []passage
	Tables         []ui.Table      // related records
	Links          *linkList       // nil if the resource is not Linked
	Attachments    *attachmentList // as Links
	Comments       *commentList    // as Links
	History        []change
	NoHistory      string // why there is no history
}

// passage is a long text of a record, or a list of texts.
type passage struct {
	Label string
	Text  string
	Items []string
}

// badges are the members that sum up the state of a record.
var badges = []string{
	"severity", "rag", "rag_status", "priority_band", "initial_risk_band", "verdict", "overall_posture", "portfolio_posture", "overall_readiness", "status",
}

// refusedForm is a form of the page of a record that was refused, with its error.
type refusedForm struct {
	status              int
	comment, attachment *ui.Form
}

// Show returns the page of a record.
func (p *Pages) Show(r *page.Request) error {
	record, err := readRecord(r, p.Resource)
	if err != nil {
		return err
	}
	return p.showRecord(r, record, refusedForm{status: http.StatusOK})
}

// showRecord renders the page of a record, also for a refused form of it.
func (p *Pages) showRecord(r *page.Request, record api.Record, refused refusedForm) error {
	var err error
	view := p.view(r.HTTP.URL.Query(), dashboard.ListSettings{})
	data := recordData{Name: titleOf(p.Resource, record), Crumbs: breadcrumbs(p.Resource), Actions: recordActions(r, p.Resource, record)}
	data.Crumbs[len(data.Crumbs)-1].Path = view.path(p.Page.List)
	if data.Previous, data.Next, err = p.neighbours(r, record, view); err != nil {
		return err
	}
	for _, member := range badges {
		if ui.Text(record[member]) != "" {
			data.Badges = append(data.Badges, record[member])
		}
	}
	if data.History, data.NoHistory, err = loadHistory(r, p.Resource, record); err != nil {
		return err
	}
	if p.Resource == resource.Risk {
		if data.Ratings, err = loadRatings(r, record, data.History); err != nil {
			return err
		}
	}
	arrange(&data, p.Page.Names[0], r.Document.Fields(p.Type), record)
	if err := addRelated(r, p.Resource, record, &data); err != nil {
		return err
	}
	if p.Linked {
		if err := addAnnotations(r, p.Resource, record, refused, &data); err != nil {
			return err
		}
	}
	return r.RenderStatus(refused.status, "record", data.Name, data)
}

// neighbours returns the paths of the records before and after a record in the view of
// the list that the user comes from.
func (p *Pages) neighbours(r *page.Request, record api.Record, view listView) (previous, next string, err error) {
	previous, next, err = api.Neighbours(r.Context(), r.Caller, p.Type, ui.Text(record["id"]), view.View)
	var refused *api.Error
	if errors.As(err, &refused) || db.Is(err, db.SearchBusy) || db.Is(err, db.SearchTimeout) {
		return "", "", nil // the page of the record does not need them
	}
	pathOf := func(id string) string {
		if id == "" {
			return ""
		}
		return view.path(p.Page.Base + ui.Path(id))
	}
	return pathOf(previous), pathOf(next), err
}

// readRecord reads the record of the URL.
func readRecord(r *page.Request, res *resource.Resource) (api.Record, error) {
	return api.ReadRecord(r.Context(), r.Caller, res.Type, strings.ToLower(r.PathValue("id")))
}

// recordActions returns the actions that the user has the permission for.
func recordActions(r *page.Request, res *resource.Resource, record api.Record) []ui.Action {
	if !r.May(auth.WriteRecords) {
		return nil
	}
	var actions []ui.Action
	at := Path(res.Type, ui.Text(record["id"]))
	switch res {
	case resource.Incident:
		waits := record["notified_at"] == nil && record["notification_required"] == true
		actions = append(actions, ui.Action{Label: "Record notification", Path: at + "/notification", Primary: waits},
			ui.Action{Label: "Add update", Path: at + "/note", Primary: !waits})
	case resource.KPI:
		actions = append(actions, ui.Action{Label: "Add check-in", Path: at + "/checkins/new", Primary: true})
	}
	if res.Editable {
		actions = append(actions, ui.Action{Label: "Edit", Path: at + "/edit"})
	}
	return actions
}

// uuid matches the ids of records, which people do not read.
var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// rated are the members that the ratings of a risk show.
var rated = map[string]bool{"severity": true, "residual_severity": true}

// arrange sorts the members of a record into facts, long texts and tables. It omits
// nameMember if its value is the title of the page.
func arrange(data *recordData, nameMember string, fields []openapi.Field, record api.Record) {
	var states, stamps []ui.Fact
	for _, field := range fields {
		value, exists := record[field.Name]
		if !exists || field.Name == "object" || field.Name == nameMember && ui.Text(value) == data.Name {
			continue
		}
		fact := ui.Fact{Label: Label(field.Name), Kind: kindOf(field), Value: cellValue(field, record)}
		switch {
		case rated[field.Name] && data.Ratings != nil:
		case field.Name == "created_at" || field.Name == "updated_at" || uuid.MatchString(ui.Text(value)):
			fact.Href = linkOf(field.Name, record)
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
			fact.Href = linkOf(field.Name, record)
			data.Facts = append(data.Facts, fact)
		}
	}
	data.Facts, data.Stamps = append(states, data.Facts...), stamps
}

// fieldIsProse reports whether a text is shown as a paragraph, because it is too long
// for the list of facts.
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

// linkOf returns the link of a member that names another record, or "".
func linkOf(member string, record api.Record) string {
	switch member {
	case "roadmap_id", "roadmap_version":
		return Path("roadmap", ui.Text(record["roadmap_id"]))
	case "regime_id", "regime_name":
		return ListWith(resource.Obligation, "regime_id", record["regime_id"])
	}
	return ""
}

// subTable returns a table of an array of objects, or of an object whose values have one
// type. It returns nil for an empty value.
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
				if kindOf(item) != ui.Long { // long texts are complete here
					value = cellValue(item, members)
				}
				row.Cells = append(row.Cells, value)
				if i == 0 {
					row.Href = linkOf(item.Name, members)
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
			table.Rows = append(table.Rows, ui.Row{Cells: []any{name, cellValue(field, map[string]any{field.Name: v[name]})}})
		}
	}
	if len(table.Rows) == 0 {
		return nil
	}
	return []ui.Table{table}
}

// addRelated adds what other tables and the clock provide for a record: the ratings of a
// risk, the deadline and the timeline of an incident, and the check-ins of a key result.
func addRelated(r *page.Request, res *resource.Resource, record api.Record, data *recordData) (err error) {
	switch res {
	case resource.Risk:
		return addRatings(r, record, data)
	case resource.Incident:
		data.Clock = clockOf(record, r.Store.Now())
		return addTimeline(r, record, data)
	case resource.KPI:
		return addCheckins(r, record, data)
	case resource.Signal:
		return addSignalHistory(r, record, data)
	}
	return nil
}
