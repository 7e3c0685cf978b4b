package admin

import (
	"slices"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// settingsData is the argument of the page "Settings".
type settingsData struct {
	Organisation  db.Organisation
	Facts         []ui.Fact
	Form          *ui.Form // plan and subscription
	Closed        string   // why keys are refused; "" if they are not
	Plans         ui.Table
	Organisations ui.Table
	Pager         ui.Pager
	Add           *ui.Form
	MayChange     bool
}

// organisationsOnPage is the number of organisations on a page of the list.
const organisationsOnPage = 100

// ShowSettings shows the organisation, its plan and the user's other organisations.
func ShowSettings(r *page.Request) error {
	data, err := loadSettings(r)
	if err != nil {
		return err
	}
	return r.Render("settings", "Settings", data)
}

func loadSettings(r *page.Request) (*settingsData, error) {
	all, err := r.Auth.Memberships.Organisations(r.Context(), r.Session.User.ID)
	if err != nil {
		return nil, err
	}
	org := r.Session.Organisation
	data := &settingsData{
		Organisation: org, Plans: planTable(org.Plan), Form: planForm(org), Add: organisationForm(), Closed: closed(org), MayChange: r.May(auth.Administer),
		Facts: []ui.Fact{
			{Label: "Plan", Value: ui.Humanize(org.Plan)},
			{Label: "Subscription", Kind: ui.Badge, Value: org.Subscription},
			{Label: "Added", Kind: ui.Time, Value: org.CreatedAt},
			{Label: "ID", Kind: ui.Code, Value: org.ID},
		},
		Organisations: ui.Table{Caption: "Organisations and roles", Columns: []ui.Column{
			{Label: "Name"}, {Label: "Plan"}, {Label: "Subscription", Kind: ui.Badge}, {Label: "Added", Kind: ui.Time},
		}},
	}
	all, data.Pager = ui.Paginate(all, organisationsOnPage, r.HTTP.URL.Query().Get("page"), func(page int) string { return ui.WithQuery("/settings", "page", page) })
	data.Pager.One, data.Pager.Many = "organisation", "organisations"
	for _, o := range all {
		row := ui.Row{Cells: []any{o.Name, ui.Humanize(o.Plan), o.Subscription, o.CreatedAt}}
		if o.Org != org.Org {
			row.Actions = []ui.Action{{Label: "Switch to it", Path: "/organisation", Post: true, About: o.Name, Hidden: map[string]string{"name": o.Name, "next": "/settings"}}}
		}
		data.Organisations.Rows = append(data.Organisations.Rows, row)
	}
	return data, nil
}

// closed returns why the keys of an organisation are refused, or "".
func closed(org db.Organisation) string {
	switch {
	case !org.Plan.Entitlements().API:
		return "The plan " + string(org.Plan) + " does not include the API. Every key of " + org.Name + " is refused."
	case org.Subscription != db.Active:
		return "The subscription is not active. Every key of " + org.Name + " is refused until it is."
	}
	return ""
}

// planTable compares the plans.
func planTable(current db.Plan) ui.Table {
	table := ui.Table{Caption: "Plans", Columns: []ui.Column{
		{Label: "Plan"},
		{Label: "API", Kind: ui.Badge},
		{Label: "Incidents", Kind: ui.Badge},
		{Label: "Audit log", Kind: ui.Badge},
		{Label: "Requests per minute", Kind: ui.Number},
		{Label: "Requests per 24 hours", Kind: ui.Number},
	}}
	included := func(is bool) string {
		if is {
			return "included"
		}
		return ""
	}
	for _, plan := range db.Plans() {
		terms, name := plan.Entitlements(), ui.Humanize(plan)
		if plan == current {
			name += " (yours)"
		}
		table.Rows = append(table.Rows, ui.Row{Cells: []any{
			name, included(terms.API), included(slices.Contains(terms.Features, "incidents")), included(slices.Contains(terms.Features, "audit")),
			terms.PerMinute, terms.PerDay,
		}})
	}
	return table
}

func planForm(org db.Organisation) *ui.Form {
	return &ui.Form{Action: "/settings", Submit: "Save changes", Fields: []*ui.Field{
		{Name: "plan", Label: "Plan", Type: "select", Value: string(org.Plan), Options: ui.Options(db.Plans()...), Required: true, Hint: "Determines what keys can do, and how often. Takes effect immediately."},
		{Name: "subscription", Label: "Subscription", Type: "select", Value: string(org.Subscription), Options: ui.Options(db.Subscriptions()...), Required: true, Hint: "Keys work only while it is active."},
	}}
}

func organisationForm() *ui.Form {
	return &ui.Form{Action: "/settings/organisations", Submit: "Add organisation", Fields: []*ui.Field{
		{Prefix: "new-", Name: "name", Label: "Name", Required: true, MaxLength: 200},
		{Prefix: "new-", Name: "plan", Label: "Plan", Type: "select", Value: string(db.Enterprise), Options: ui.Options(db.Plans()...), Required: true},
	}}
}

// ChangeSettings changes the organisation's plan and subscription.
func ChangeSettings(r *page.Request) error {
	org := r.Session.Organisation
	plan, subscription := db.Plan(r.Value("plan")), db.Subscription(r.Value("subscription"))
	if plan == org.Plan && subscription == org.Subscription {
		return r.RedirectWithMessage("/settings", "Nothing was changed.")
	}
	var err error
	switch { // for the store, an empty value means no change
	case plan == "":
		err = &db.Error{Code: db.Invalid, Param: "plan", Message: "choose a plan"}
	case subscription == "":
		err = &db.Error{Code: db.Invalid, Param: "subscription", Message: "choose a state"}
	default:
		_, err = r.Store.Orgs.SetPlan(r.Context(), r.Actor(), org.Name, plan, subscription)
	}
	if err != nil {
		return renderSettingsError(r, err, func(data *settingsData) *ui.Form { return data.Form })
	}
	return r.RedirectWithMessage("/settings", "Plan and subscription have been changed.")
}

// CreateOrganisation adds an organisation.
func CreateOrganisation(r *page.Request) error {
	made, err := r.Auth.Memberships.CreateOrganisation(r.Context(), r.Actor(), r.Value("name"), db.Plan(r.Value("plan")))
	if err != nil {
		return renderSettingsError(r, err, func(data *settingsData) *ui.Form { return data.Add })
	}
	return r.RedirectWithMessage("/settings", "The organisation "+made.Name+" has been added, with you as its admin. Switch to it above.")
}

// renderSettingsError shows the page again, with an error in one of its forms.
func renderSettingsError(r *page.Request, refusal error, form func(*settingsData) *ui.Form) error {
	data, err := loadSettings(r)
	if err != nil {
		return err
	}
	return r.RenderRefused(form(data), refusal, "settings", "Settings", data)
}
