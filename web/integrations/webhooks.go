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

// subscriptionsOnPage is the number of webhooks on a page of the list. Each needs a
// query for its health.
const subscriptionsOnPage = 25

// deliveriesOnPage is the number of deliveries or dead letters on a page.
const deliveriesOnPage = 50

// subscription is a webhook subscription with its state and health.
type subscription struct {
	delivery.SubscriptionSummary
	Types  []string // event types; none means all
	State  string   // active, failing or paused
	Recent delivery.Health
}

// Name returns the description of the webhook or, without one, its URL.
func (s subscription) Name() string {
	if s.Description == nil {
		return s.URL
	}
	return ui.Truncate(*s.Description, maxNameLength)
}

// maxNameLength bounds a description in a heading, in characters.
const maxNameLength = 80

// webhooksData is the argument of the page "Webhooks".
type webhooksData struct {
	Subscriptions []subscription
	Pager         ui.Pager
	Dead          int // dead letters of all subscriptions
	Empty         ui.Empty
	MayChange     bool
}

// ListWebhooks lists the webhooks of the organisation, newest first.
func ListWebhooks(r *page.Request) error {
	all, err := loadSubscriptions(r)
	if err != nil {
		return err
	}
	data := webhooksData{MayChange: r.May(auth.Administer), Empty: ui.Empty{
		Title: "No webhooks yet", Advice: "A webhook sends events to your program as soon as they happen: a new risk, a changed verdict, a filed evidence pack.",
		Action: nil,
	}}
	if data.MayChange {
		data.Empty.Action = &ui.Action{Label: "Add webhook", Path: "/webhooks/new"}
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
		if s.Recent, err = delivery.ReadHealth(r.Context(), r.Store, r.Session.Organisation.Org, s.ID); err != nil {
			return err
		}
	}
	return r.Render("webhooks", "Webhooks", data)
}

// loadSubscriptions reads the subscriptions of the organisation, newest first,
// without their recent health.
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

// loadSubscription reads the subscription of the URL.
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
	s.Recent, err = delivery.ReadHealth(r.Context(), r.Store, r.Session.Organisation.Org, s.ID)
	return s, err
}

// webhookData is the argument of the page of a webhook.
type webhookData struct {
	Subscription subscription
	Facts        []ui.Fact
	Pause        ui.Action // or "Resume"
	Test         ui.Action
	Delete       ui.Action
	Rotate       *ui.Form
	TestResult   *testResult // result of a test, shown once
	Filters      ui.Filters
	Deliveries   ui.Table
	Pager        ui.Pager
	Newest       string // path of the first page; "" on the first page
	MayChange    bool
}

// ShowWebhook shows a webhook with its deliveries.
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
		Test:  ui.Action{Label: "Send test", Path: ui.Path("webhooks", s.ID, "test"), Post: true},
		Delete: ui.Action{
			Label: "Delete", Path: ui.Path("webhooks", s.ID, "delete"), Post: true, Danger: true,
			Ask: "This also deletes its deliveries: waiting ones, dead letters and the log.",
		},
	}
	if !s.Active {
		data.Pause.Label, data.Pause.Path = "Resume", ui.Path("webhooks", s.ID, "resume")
	}
	if result, ok := r.TakeOnce().(testResult); ok {
		data.TestResult = &result
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
		{Label: "Created", Kind: ui.Time, Value: s.CreatedAt},
		{Label: "Created via", Value: createdVia[s.CreatedVia]},
		{Label: "Changed", Kind: ui.Time, Value: s.UpdatedAt},
		timeFact("Last attempt", s.LastAttemptAt),
		{Label: "Last result", Value: attemptOutcome(s.LastStatus, s.LastError)},
	}
}

// createdVia maps the stored origin of a subscription to its label.
var createdVia = map[string]string{"dashboard": "The dashboard", "api": "The API"}

// attemptOutcome returns the result of an attempt in a few words.
func attemptOutcome(status *int, failure *string) string {
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
	return setActive(r, false, "The webhook is paused. Queued deliveries wait. New events are not queued.")
}

// ResumeWebhook starts the deliveries of a subscription again.
func ResumeWebhook(r *page.Request) error {
	return setActive(r, true, "The webhook is active again.")
}

func setActive(r *page.Request, active bool, message string) error {
	id := r.PathValue("id")
	_, err := api.UpdateWebhookSubscription(r.Context(), r.Caller, api.Input{ID: id, Body: map[string]any{"active": active}})
	if err != nil {
		return err
	}
	return r.RedirectWithMessage(ui.Path("webhooks", id), message)
}

// DeleteWebhook deletes a webhook with its deliveries.
func DeleteWebhook(r *page.Request) error {
	if _, err := api.DeleteWebhookSubscription(r.Context(), r.Caller, api.Input{ID: r.PathValue("id")}); err != nil {
		return err
	}
	return r.RedirectWithMessage("/webhooks", "The webhook has been deleted.")
}

// testResult is the result of a test delivery.
type testResult struct{ api.Delivery }

// Description returns the outcome in a sentence, with what to do.
func (t testResult) Description() string {
	switch t.Outcome {
	case "delivered":
		return "The receiver acknowledged the test with " + ui.Text(t.Status) + "."
	case "rejected":
		return "The receiver answered the test with " + ui.Text(t.Status) + ", which is not a 2xx status. See the log of the receiver for the reason."
	case "blocked":
		return "The test was not sent. Webhooks are not allowed to reach the address of the receiver."
	}
	return "The receiver did not answer the test. Check that it runs, that the service can reach it, and that its certificate is valid."
}

// TestWebhook sends a test event to the receiver and waits for the result.
func TestWebhook(r *page.Request) error {
	id := r.PathValue("id")
	test, err := api.TestWebhookSubscription(r.Context(), r.Caller, api.Input{ID: id})
	if err != nil {
		return err
	}
	return r.RedirectOnce(ui.Path("webhooks", id), testResult{test.Delivery})
}
