// Package admin has the pages for administrators and auditors: the audit log, the
// settings and the status of the service.
package admin

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/server/api"
	"govsvc/web/page"
	"govsvc/web/records"
	"govsvc/web/ui"
)

// auditData is the argument of the page "Audit".
type auditData struct {
	Unavailable *ui.Empty // why there is no log; nil if there is one
	Filters     ui.Filters
	Exports     []ui.Action // of the events that the filters select
	Events      []auditLine
	Searched    string // start of the searched time, if older events are not searched yet
	Newest      string // path of the first page; "" on the first page
	Older       string // path of the next page; "" on the last page
	Empty       ui.Empty
}

// auditLine is an event with what the page shows of it.
type auditLine struct {
	api.AuditEvent
	Who, WhoPath       string
	Label, ActionPath  string // of the action
	Type               string // of the object of the action
	Record, RecordPath string // its name, and its page
	HistoryPath        string // path of all events about the record
	Fields             []records.FieldChange
	Details            []ui.Fact
}

const auditPath = "/audit"

// SearchAudit returns the page of the audit log.
func SearchAudit(r *page.Request) error {
	if reason := auditUnavailable(r); reason != nil {
		return r.RenderStatus(http.StatusForbidden, "audit", "Audit", auditData{Unavailable: reason})
	}
	search, err := auditSearch(r)
	if err != nil {
		return err
	}
	result, err := api.SearchAudit(r.Context(), r.Caller, search)
	if err != nil {
		return err
	}
	data := auditData{Searched: result.Searched, Exports: auditExports(r)}
	if data.Filters, err = auditFilters(r, search); err != nil {
		return err
	}
	if data.Events, err = auditLines(r, result.Events); err != nil {
		return err
	}
	data.Empty = ui.Empty{Title: "No events yet", Advice: "Every access and every change is recorded here."}
	if data.Filters.Active {
		data.Empty = ui.Empty{
			Title: "No matching events", Advice: "Remove some filters, or choose other days.",
			Action: &ui.Action{Label: "Clear filters", Path: auditPath},
		}
	}
	if result.Searched != "" {
		data.Empty = ui.Empty{Title: "No matching events so far", Advice: "Older events have not been searched yet."}
	}
	pairs := auditPairs(r)
	if search.Cursor != "" {
		data.Newest = ui.WithQuery(auditPath, pairs...)
	}
	if result.Next != "" {
		data.Older = ui.WithQuery(auditPath, append(pairs, "cursor", result.Next)...)
	}
	return r.Render("audit", "Audit", data)
}

// auditUnavailable returns the text for plans without an audit log, and nil for
// others.
func auditUnavailable(r *page.Request) *ui.Empty {
	if slices.Contains(r.Caller.Entitlements.Features, "audit") {
		return nil
	}
	return &ui.Empty{
		Title: "The audit log is not part of this organisation's plan",
		Advice: "The plan is " + string(r.Session.Organisation.Plan) + ". Events are recorded under every plan, and are shown once the plan includes the audit log." +
			" On the machine, `govsvc audit export` and `govsvc audit verify` read it under every plan.",
		Action: &ui.Action{Label: "Open settings", Path: "/settings"},
	}
}

// auditFilterNames are the parameters of a search.
var auditFilterNames = []string{"q", "since", "until", "actor", "action", "resource_type", "resource_id"}

// auditPairs returns the parameters of the search with their values.
func auditPairs(r *page.Request) []any {
	var pairs []any
	for _, name := range auditFilterNames {
		pairs = append(pairs, name, r.Query(name))
	}
	return pairs
}

// lastYear is the last year of timestamps, which are compared as texts.
const lastYear = 9999

// auditSearch reads the search from the query parameters.
func auditSearch(r *page.Request) (api.AuditSearch, error) {
	search := api.AuditSearch{
		Actor: r.Query("actor"), Action: r.Query("action"), ResourceType: r.Query("resource_type"), ResourceID: r.Query("resource_id"),
		Text: r.Query("q"), Cursor: r.HTTP.URL.Query().Get("cursor"),
	}
	var err error
	if search.TextActors, err = records.ActorsNamed(r, search.Text); err != nil {
		return search, err
	}
	for name, bound := range map[string]*time.Time{"since": &search.Since, "until": &search.Until} {
		value := r.Query(name)
		if value == "" {
			continue
		}
		at, dayOnly, ok := ui.ParseTime(value)
		if !ok || at.Year() > lastYear {
			return search, &api.Error{Code: api.InvalidParameter, Param: name, Message: name + " must be a date such as 2026-10-01, or a time such as 2026-10-01T08:30:00Z"}
		}
		if dayOnly && name == "until" { // includes the day
			at = at.AddDate(0, 0, 1)
		}
		if at.Year() <= lastYear { // otherwise there is no bound
			*bound = at
		}
	}
	return search, nil
}

// auditFilters returns the filters above the log.
func auditFilters(r *page.Request, search api.AuditSearch) (ui.Filters, error) {
	actors, err := actorOptions(r, search.Actor)
	if err != nil {
		return ui.Filters{}, err
	}
	const idLength = 200
	bar := ui.Filters{Action: auditPath, Search: &ui.Field{Name: "q", Label: "Search", Value: search.Text}, Fields: []*ui.Field{
		{Name: "since", Label: "From day, UTC", Type: "date", Value: ui.DateInput(r.Query("since"))},
		{Name: "until", Label: "To day, UTC", Type: "date", Value: ui.DateInput(r.Query("until"))},
		{Name: "actor", Label: "Actor", Value: search.Actor, Options: actors},
		{Name: "action", Label: "Action (e.g. risk.*)", Type: "text", Value: search.Action, MaxLength: idLength},
		{Name: "resource_type", Label: "Record type", Value: search.ResourceType, Options: recordTypes(search.ResourceType)},
		{Name: "resource_id", Label: "Record ID", Type: "text", Value: search.ResourceID, MaxLength: idLength},
	}}
	for _, name := range auditFilterNames {
		bar.Active = bar.Active || r.Query(name) != ""
	}
	return bar, nil
}

// actorChoices bounds the keys in the list of actors. A link in the log leads to
// the events of any other key.
const actorChoices = 200

// actorOptions lists users, the command line, the newest keys and the chosen actor.
func actorOptions(r *page.Request, chosen string) ([]ui.Option, error) {
	users, err := r.Auth.Users.List(r.Context(), r.Session.Organisation.Org)
	if err != nil {
		return nil, err
	}
	keys, err := r.Store.Keys.List(r.Context(), r.Session.Organisation.Org)
	if err != nil {
		return nil, err
	}
	var list []ui.Option
	for _, user := range users {
		list = append(list, ui.Option{Value: user.ID, Label: user.Name})
	}
	list = append(list, ui.Option{Value: "system", Label: "Command line"})
	slices.SortStableFunc(keys, func(a, b db.Key) int { return strings.Compare(b.CreatedAt, a.CreatedAt) })
	for _, key := range keys[:min(len(keys), actorChoices)] {
		list = append(list, ui.Option{Value: "key:" + key.ID, Label: "Key " + key.Name + " (" + key.Prefix + "…)"})
	}
	if chosen != "" && !slices.ContainsFunc(list, func(o ui.Option) bool { return o.Value == chosen }) {
		names, err := records.ActorNames(r, chosen)
		if err != nil {
			return nil, err
		}
		list = append(list, ui.Option{Value: chosen, Label: names[chosen]})
	}
	return list, nil
}

// otherTypes are the objects of events that are not resources.
var otherTypes = []string{"evidence_pack", "api_key", "user", "organisation", "import"}

// recordTypes lists the objects of events.
func recordTypes(chosen string) []ui.Option {
	types := slices.Clone(otherTypes)
	for _, res := range resource.All() {
		types = append(types, res.Type)
	}
	if chosen != "" && !slices.Contains(types, chosen) {
		types = append(types, chosen)
	}
	options := ui.Options(types...)
	slices.SortFunc(options, func(a, b ui.Option) int { return strings.Compare(a.Label, b.Label) })
	return options
}

// auditLines adds names and links to events.
func auditLines(r *page.Request, events []api.AuditEvent) ([]auditLine, error) {
	names, err := records.EventActors(r, events)
	if err != nil {
		return nil, err
	}
	subjects, err := records.SubjectNames(r, events)
	if err != nil {
		return nil, err
	}
	lines := make([]auditLine, len(events))
	for i, event := range events {
		line := auditLine{
			AuditEvent: event, Who: names[event.Actor], WhoPath: ui.WithQuery(auditPath, "actor", event.Actor),
			Label: records.ActionLabel(event.Action), ActionPath: ui.WithQuery(auditPath, "action", event.Action), Fields: records.Changes(event), Details: detailsOf(event),
		}
		if event.ResourceType != "" {
			line.Type, line.RecordPath = ui.Humanize(event.ResourceType), objectPath(event.ResourceType, event.ResourceID)
			line.Record = subjects[records.SubjectOf(event)]
		}
		if event.ResourceID != "" {
			line.HistoryPath = ui.WithQuery(auditPath, "resource_type", event.ResourceType, "resource_id", event.ResourceID)
		}
		lines[i] = line
	}
	return lines, nil
}

// Refused reports whether the event is a refused action.
func (l auditLine) Refused() bool { return strings.HasSuffix(l.Action, "refused") }

// objectPath returns the page of the object of an event, or "".
func objectPath(object, id string) string {
	if id == "" {
		return ""
	}
	switch object {
	case "api_key":
		return ui.Path("keys", id)
	case "webhook_subscription":
		return ui.Path("webhooks", id)
	case "evidence_pack":
		return ui.Path("evidence", id)
	case "user":
		return ui.Path("users", id)
	case "organisation":
		return "/settings"
	}
	return records.Path(object, id)
}

// detailsOf returns the metadata of an event, by name.
func detailsOf(event api.AuditEvent) []ui.Fact {
	var facts []ui.Fact
	for _, name := range slices.Sorted(maps.Keys(event.Metadata)) {
		facts = append(facts, ui.Fact{Label: records.Label(name), Value: ui.Truncate(ui.Text(event.Metadata[name]), records.MaxValueLength)})
	}
	return facts
}
