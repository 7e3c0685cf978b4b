package integrations

import (
	"encoding/json"
	"slices"
	"strconv"

	"govsvc/db/auth"
	"govsvc/db/delivery"
	"govsvc/server/api"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// subscriptionsOnPage bounds a page of the list: the health of each is counted.
const subscriptionsOnPage = 25

// deliveriesOnPage bounds a page of deliveries and of dead letters.
const deliveriesOnPage = 50

// subscription is a webhook subscription as its pages show it.
type subscription struct {
	delivery.SubscriptionSummary
	Types  []string // that it wants; none are all
	State  string   // active, failing or paused
	Lately delivery.Health
}

// Name is what the subscription is called: its description or, without one,
// its URL.
func (s subscription) Name() string {
	if s.Description == nil {
		return s.URL
	}
	return ui.Truncate(*s.Description, longestLabel)
}

// longestLabel is how much of a description stands in a heading.
const longestLabel = 80

// webhooksData is what the list of subscriptions shows.
type webhooksData struct {
	Subscriptions []subscription
	Pager         ui.Pager
	Dead          int // letters, of all subscriptions
	Empty         ui.Empty
	MayChange     bool
}

// ListWebhooks lists the organisation's subscriptions, newest first.
func ListWebhooks(r *page.Request) error {
	all, err := loadSubscriptions(r)
	if err != nil {
		return err
	}
	data := webhooksData{MayChange: r.May(auth.Administer), Empty: ui.Empty{
		Title: "No webhooks yet", Advice: "A webhook tells a program of yours at once what has changed here: a new risk, another verdict, a filed evidence pack.",
		Action: nil,
	}}
	if data.MayChange {
		data.Empty.Action = &ui.Action{Label: "Add a webhook", Path: "/webhooks/new"}
	}
	for _, s := range all {
		data.Dead += s.Dead
	}
	data.Subscriptions, data.Pager = ui.Paginate(all, subscriptionsOnPage, r.HTTP.URL.Query().Get("page"), func(page int) string {
		return ui.WithQuery("/webhooks", "page", page)
	})
	data.Pager.One, data.Pager.Many = "webhook", "webhooks"
	for i := range data.Subscriptions {
		s := &data.Subscriptions[i]
		if s.Lately, err = delivery.ReadHealth(r.Context(), r.Store, r.Session.Organisation.Org, s.ID); err != nil {
			return err
		}
	}
	return r.Render("webhooks", "Webhooks", data)
}

// loadSubscriptions reads the organisation's, newest first, without how they did
// lately.
func loadSubscriptions(r *page.Request) ([]subscription, error) {
	var all []subscription
	err := delivery.EachSubscription(r.Context(), r.Store, r.Session.Organisation.Org, func(h delivery.SubscriptionSummary) error {
		s := subscription{SubscriptionSummary: h, State: "active"}
		switch {
		case !h.Active:
			s.State = "paused"
		case h.LastError != nil || h.LastStatus != nil && !(delivery.Attempt{Status: *h.LastStatus}).Delivered():
			s.State = "failing"
		}
		all = append(all, s)
		return json.Unmarshal(h.EventTypes, &all[len(all)-1].Types)
	})
	slices.Reverse(all)
	return all, err
}

// loadSubscription reads the one that the address names.
func loadSubscription(r *page.Request) (subscription, error) {
	all, err := loadSubscriptions(r)
	if err != nil {
		return subscription{}, err
	}
	i := slices.IndexFunc(all, func(s subscription) bool { return s.ID == r.PathValue("id") })
	if i < 0 {
		return subscription{}, &page.NotFound
	}
	s := all[i]
	s.Lately, err = delivery.ReadHealth(r.Context(), r.Store, r.Session.Organisation.Org, s.ID)
	return s, err
}

// webhookData is what a subscription's page shows.
type webhookData struct {
	Subscription subscription
	Facts        []ui.Fact
	Pause        ui.Action // or resume
	Test         ui.Action
	Delete       ui.Action
	Rotate       *ui.Form
	Ping         *pinged // what came of a test, once
	Filters      ui.Filters
	Deliveries   ui.Table
	Pager        ui.Pager
	Newest       string // path of the first page, where this is another
	MayChange    bool
}

// ShowWebhook shows one subscription with its deliveries.
func ShowWebhook(r *page.Request) error {
	data, err := loadWebhook(r)
	if err != nil {
		return err
	}
	return r.Render("webhook", data.Subscription.Name(), data)
}

func loadWebhook(r *page.Request) (*webhookData, error) {
	s, err := loadSubscription(r)
	if err != nil {
		return nil, err
	}
	data := &webhookData{
		Subscription: s, Facts: subscriptionFacts(s), Rotate: rotateSecretForm(s.ID), MayChange: r.May(auth.Administer),
		Pause: ui.Action{Label: "Pause", Path: ui.Path("webhooks", s.ID, "pause"), Post: true},
		Test:  ui.Action{Label: "Send a test", Path: ui.Path("webhooks", s.ID, "test"), Post: true},
		Delete: ui.Action{
			Label: "Delete", Path: ui.Path("webhooks", s.ID, "delete"), Post: true, Danger: true,
			Ask: "Its deliveries go with it: those that wait, the dead letters and the log.",
		},
	}
	if !s.Active {
		data.Pause.Label, data.Pause.Path = "Resume", ui.Path("webhooks", s.ID, "resume")
	}
	if ping, ok := r.TakeOnce().(pinged); ok {
		data.Ping = &ping
	}
	return data, addDeliveries(r, data)
}

func subscriptionFacts(s subscription) []ui.Fact {
	var events any = s.Types
	if len(s.Types) == 0 {
		events = "All"
	}
	return []ui.Fact{
		{Label: "State", Kind: ui.Badge, Value: s.State},
		{Label: "URL", Value: s.URL},
		{Label: "Events", Value: events},
		{Label: "Made", Kind: ui.Time, Value: s.CreatedAt},
		{Label: "Made with", Value: madeWith[s.CreatedVia]},
		{Label: "Changed", Kind: ui.Time, Value: s.UpdatedAt},
		orNever("Last attempt", s.LastAttemptAt),
		{Label: "Its outcome", Value: outcome(s.LastStatus, s.LastError)},
	}
}

// madeWith says where a subscription was made.
var madeWith = map[string]string{"dashboard": "The dashboard", "api": "The API"}

// outcome is what came of an attempt, in a few words.
func outcome(status *int, failure *string) string {
	switch {
	case status != nil:
		return "Answered " + strconv.Itoa(*status)
	case failure != nil:
		return ui.Capitalize(*failure)
	}
	return ""
}

// PauseWebhook stops the deliveries of a subscription.
func PauseWebhook(r *page.Request) error {
	return setActive(r, false, "The webhook is paused. What is queued waits; what happens meanwhile is not queued.")
}

// ResumeWebhook starts them again.
func ResumeWebhook(r *page.Request) error {
	return setActive(r, true, "The webhook is active again.")
}

func setActive(r *page.Request, active bool, said string) error {
	id := r.PathValue("id")
	_, err := api.UpdateWebhookSubscription(r.Context(), r.Caller, api.Input{ID: id, Body: map[string]any{"active": active}})
	if err != nil {
		return err
	}
	return r.RedirectWithMessage(ui.Path("webhooks", id), said)
}

// DeleteWebhook removes a subscription with its deliveries.
func DeleteWebhook(r *page.Request) error {
	if _, err := api.DeleteWebhookSubscription(r.Context(), r.Caller, api.Input{ID: r.PathValue("id")}); err != nil {
		return err
	}
	return r.RedirectWithMessage("/webhooks", "The webhook is deleted.")
}

// pinged is the result of a test.
type pinged struct{ api.Delivery }

// Says is the outcome in a sentence, with what to do.
func (p pinged) Says() string {
	switch p.Outcome {
	case "delivered":
		return "The receiver acknowledged the test with " + ui.Text(p.Status) + "."
	case "rejected":
		return "The receiver answered the test with " + ui.Text(p.Status) + ", which is not a 2xx. See its own log for the reason."
	case "blocked":
		return "The test was not sent: the receiver's address is not one that webhooks may reach."
	}
	return "The receiver did not answer the test. Check that it runs, can be reached from here and has a valid certificate."
}

// TestWebhook sends a ping to the receiver and waits for what comes of it.
func TestWebhook(r *page.Request) error {
	id := r.PathValue("id")
	test, err := api.TestWebhookSubscription(r.Context(), r.Caller, api.Input{ID: id})
	if err != nil {
		return err
	}
	return r.RedirectOnce(ui.Path("webhooks", id), pinged{test.Delivery})
}
