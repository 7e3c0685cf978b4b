package overview

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"govsvc/db/auth"
	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/web/page"
	"govsvc/web/records"
	"govsvc/web/ui"
)

// attentionItem is an open record whose task is due.
type attentionItem struct {
	Name, Path string
	Task       string
	Band       string // severity or priority; "" for none
	Owner      string // "" for none
	Due        string // a day or an instant
	DueText    string // "overdue by 3 days"
	Overdue    bool
	Clock      bool       // the time left is counted in hours
	Tone       string     // of a clock
	Action     *ui.Action // nil if the role has none
}

// attentionGroup lists the items of an urgency.
type attentionGroup struct {
	Title   string
	Overdue bool
	Count   int
	Items   []attentionItem // the first ones
	All     string          // path of the page with all of them; "" if the group has no more
}

// attentionState is what needs attention, by urgency.
type attentionState struct {
	Groups  []attentionGroup // without empty ones
	Filters ui.Filters       // of the owner
	Owner   string           // the owner that is shown; "" for all
	All     string           // path of the page with everything
	More    bool             // the counts are lower bounds
}

// inGroup is how many items of an urgency the overview shows.
var inGroup = map[api.Urgency]int{api.UrgencyOverdue: 6, api.UrgencyWeek: 6, api.UrgencyMonth: 4, api.UrgencyQuarter: 3}

// urgencyTitles are the titles of the groups.
var urgencyTitles = map[api.Urgency]string{
	api.UrgencyOverdue: "Overdue", api.UrgencyWeek: "Due within 7 days",
	api.UrgencyMonth: "Due within 30 days", api.UrgencyQuarter: "Due within 90 days",
}

// withoutOwner is the value of the owner filter for records without an owner.
const withoutOwner = "(none)"

// ownerQuery adds the owner of the request to a query.
func ownerQuery(r *page.Request, q api.AttentionQuery) api.AttentionQuery {
	if q.Owner = r.Query("owner"); q.Owner == withoutOwner {
		q.Owner, q.Unowned = "", true
	}
	return q
}

// attentionStateOf reads the first items of each urgency, for the owner of the request.
func attentionStateOf(r *page.Request) (*attentionState, error) {
	all := ownerQuery(r, api.AttentionQuery{})
	summary, err := api.CountAttention(r.Context(), r.Caller, all)
	if err != nil {
		return nil, err
	}
	owner := r.Query("owner")
	state := &attentionState{Owner: owner, All: ui.WithQuery("/attention", "owner", owner), More: summary.More}
	state.Filters = ui.Filters{Action: "/", Fields: []*ui.Field{ownerField(summary.Owners, owner)}, Active: owner != "", Live: true}
	for _, urgency := range api.Urgencies() {
		if summary.Counts[urgency] == 0 {
			continue
		}
		all.Urgency, all.Limit = urgency, inGroup[urgency]
		found, err := api.Attention(r.Context(), r.Caller, all)
		if err != nil {
			return nil, err
		}
		group := attentionGroup{Title: urgencyTitles[urgency], Overdue: urgency == api.UrgencyOverdue, Count: summary.Counts[urgency], Items: attentionItems(r, found.Items)}
		if found.Next != "" {
			group.All = ui.WithQuery("/attention", "due", string(urgency), "owner", owner)
		}
		state.Groups = append(state.Groups, group)
	}
	return state, nil
}

// maxOwners bounds the owners to choose from: those with the most items.
const maxOwners = 100

// ownerField returns the filter of the owner.
func ownerField(owners []api.OwnerCount, chosen string) *ui.Field {
	owners = slices.DeleteFunc(slices.Clone(owners), func(o api.OwnerCount) bool { return utf8.RuneCountInString(o.Name) > 500 })
	slices.SortStableFunc(owners, func(a, b api.OwnerCount) int { return cmp.Compare(b.Count, a.Count) })
	owners = owners[:min(len(owners), maxOwners)]
	slices.SortFunc(owners, func(a, b api.OwnerCount) int {
		return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
	field := &ui.Field{Name: "owner", Label: "Owner", Value: chosen}
	for _, o := range owners {
		option := ui.Option{Value: o.Name, Label: ui.Truncate(o.Name, 60)}
		if o.Name == "" {
			option = ui.Option{Value: withoutOwner, Label: "No owner"}
		}
		option.Label += " (" + ui.FormatNumber(o.Count) + ")"
		field.Options = append(field.Options, option)
	}
	if chosen != "" && !slices.ContainsFunc(field.Options, func(o ui.Option) bool { return o.Value == chosen }) {
		field.Options = append(field.Options, ui.Option{Value: chosen, Label: ui.Truncate(chosen, 60) + " (0)"})
	}
	return field
}

// attentionItems describes items, with the action that the user's role may take.
func attentionItems(r *page.Request, found []api.AttentionItem) []attentionItem {
	now, may := r.Store.Now(), r.May(auth.WriteRecords)
	items := make([]attentionItem, len(found))
	for i, item := range found {
		of := resource.Find(item.Type)
		one := attentionItem{
			Name: cmp.Or(item.Name, ui.Capitalize(of.Singular)), Path: records.Path(item.Type, item.ID), Task: of.Attention.Task,
			Band: item.Band, Owner: item.Owner, Due: item.Due, DueText: ui.FormatDue(item.Due, now), Overdue: item.Urgency == api.UrgencyOverdue,
			Clock: of.Attention.First,
		}
		if deadline, _, ok := ui.ParseTime(item.Due); ok && one.Clock {
			one.DueText, one.Tone = ui.FormatTimeLeft(deadline.Sub(now)), clockTone(deadline.Sub(now))
		}
		if may {
			one.Action = attentionAction(of, one.Path, one.Name)
		}
		items[i] = one
	}
	return items
}

// clockTone returns the colour of a clock.
func clockTone(left time.Duration) string {
	switch {
	case left < 0:
		return "critical"
	case left < records.UrgentBefore:
		return "high"
	}
	return "medium"
}

// attentionAction returns what an editor does about an item; nil if the dashboard has no
// form for it.
func attentionAction(of *resource.Resource, path, name string) *ui.Action {
	switch {
	case of == resource.Incident:
		return &ui.Action{Label: "Record notification", Path: path + "/notification", About: name}
	case of == resource.KPI:
		return &ui.Action{Label: "Add check-in", Path: path + "/checkins/new", About: name}
	case of.Editable:
		return &ui.Action{Label: "Edit", Path: path + "/edit", About: name}
	}
	return nil
}

// attentionData is the argument of the page "Needs attention".
type attentionData struct {
	Now     time.Time // reference for clocks
	Crumbs  []ui.Link
	Filters ui.Filters
	Items   []attentionItem
	Empty   ui.Empty
	First   string // path of the first page; "" on it
	Pager   ui.Pager
}

// attentionOnPage is the number of items on a page.
const attentionOnPage = 50

// ShowAttention returns the page with everything that needs attention.
func ShowAttention(r *page.Request) error {
	q := ownerQuery(r, api.AttentionQuery{
		Type: r.Query("type"), Urgency: api.Urgency(r.Query("due")), Cursor: r.Query("cursor"), Limit: attentionOnPage,
	})
	summary, err := api.CountAttention(r.Context(), r.Caller, q)
	if err != nil {
		return err
	}
	found, err := api.Attention(r.Context(), r.Caller, q)
	if err != nil {
		return err
	}
	owner := r.Query("owner")
	data := attentionData{
		Now: r.Store.Now(), Crumbs: []ui.Link{{Label: "Overview", Path: "/"}}, Items: attentionItems(r, found.Items),
		Filters: ui.Filters{Action: "/attention", Active: q.Type != "" || owner != "" || q.Urgency != "", Live: true},
		Pager:   ui.Pager{Shown: len(found.Items), Total: summary.Total, More: summary.More, One: "task", Many: "tasks"},
		Empty:   ui.Empty{Title: "Nothing needs attention", Advice: attentionEmpty},
	}
	if q.Urgency != "" {
		data.Pager.Total = summary.Counts[q.Urgency]
	}
	if data.Filters.Active {
		data.Empty = ui.Empty{Title: "No matching tasks", Advice: "Remove some filters.", Action: &ui.Action{Label: "Clear filters", Path: "/attention"}}
	}
	data.Filters.Fields = []*ui.Field{dueField(summary, q.Urgency), typeField(r, q.Type), ownerField(summary.Owners, owner)}
	if found.Next != "" {
		data.Pager.Next = ui.WithQuery("/attention", "due", string(q.Urgency), "type", q.Type, "owner", owner, "cursor", found.Next)
	}
	if q.Cursor != "" {
		data.First = ui.WithQuery("/attention", "due", string(q.Urgency), "type", q.Type, "owner", owner)
	}
	return r.Render("attention", "Needs attention", data)
}

// attentionEmpty says what needs attention.
const attentionEmpty = "Notification clocks, risks, obligations, milestones, KPI check-ins, contracts and talent gaps appear here once they are overdue or due soon."

// dueField returns the filter of the urgency, with the number of tasks.
func dueField(summary api.AttentionSummary, chosen api.Urgency) *ui.Field {
	field := &ui.Field{Name: "due", Label: "Due", Value: string(chosen)}
	for _, urgency := range api.Urgencies() {
		field.Options = append(field.Options, ui.Option{
			Value: string(urgency), Label: urgencyTitles[urgency] + " (" + ui.FormatNumber(summary.Counts[urgency]) + ")",
		})
	}
	return field
}

// typeField returns the filter of the type.
func typeField(r *page.Request, chosen string) *ui.Field {
	field := &ui.Field{Name: "type", Label: "Type", Value: chosen}
	for _, of := range resource.Pages() {
		if of.Attention != nil && (of.Feature == "" || slices.Contains(r.Caller.Entitlements.Features, of.Feature)) {
			field.Options = append(field.Options, ui.Option{Value: of.Type, Label: ui.Capitalize(of.Plural)})
		}
	}
	return field
}
