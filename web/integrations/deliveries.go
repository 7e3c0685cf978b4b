package integrations

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/db/delivery"
	"govsvc/server/webhook"
	"govsvc/web/page"
	"govsvc/web/ui"
)

// deliveryStates are those that the log can be filtered by.
var deliveryStates = []ui.Option{
	{Value: string(delivery.Delivered), Label: "Delivered"}, {Value: string(delivery.Pending), Label: "Waiting"}, {Value: string(delivery.Dead), Label: "Dead letters"},
}

// addDeliveries adds a page of a subscription's deliveries to its page.
func addDeliveries(r *page.Request, data *webhookData) error {
	asked := r.HTTP.URL.Query()
	id, state := data.Subscription.ID, asked.Get("state")
	result, err := delivery.List(r.Context(), r.Store, r.Session.Organisation, delivery.Query{
		Subscription: id, State: delivery.State(state), Cursor: asked.Get("cursor"), Limit: deliveriesOnPage,
	})
	if err != nil {
		return err
	}
	path := ui.Path("webhooks", id)
	data.Filters = ui.Filters{
		Action: path, Active: state != "",
		Fields: []*ui.Field{{Name: "state", Label: "State", Value: state, Options: deliveryStates}},
	}
	data.Deliveries = ui.Table{
		Caption: "Deliveries, newest event first",
		Columns: []ui.Column{
			{Label: "Event"},
			{Label: "Raised", Kind: ui.Time},
			{Label: "State", Kind: ui.Badge},
			{Label: "Attempts", Kind: ui.Number},
			{Label: "Last attempt", Kind: ui.Time},
			{Label: "Its outcome"},
			{Label: "Next attempt", Kind: ui.Time},
		},
		Empty: ui.Empty{Title: "Nothing has been sent yet", Advice: "Send a test to see whether the receiver answers. Tests are not in this list."},
	}
	if state != "" {
		data.Deliveries.Empty = ui.Empty{Title: "No such deliveries", Advice: "There are none in this state."}
	}
	for _, d := range result.Deliveries {
		data.Deliveries.Rows = append(data.Deliveries.Rows, ui.Row{
			Href:  deliveryPath(d),
			Cells: []any{d.EventType, d.EventAt, deliveryState(d), d.Attempts, d.LastAttemptAt, outcomeOf(d), nextAttempt(d)},
		})
	}
	data.Pager = ui.Pager{Shown: len(result.Deliveries), One: "delivery", Many: "deliveries"}
	if result.Next != "" {
		data.Pager.Next = ui.WithQuery(path, "state", state, "cursor", result.Next)
	}
	if asked.Get("cursor") != "" {
		data.Newest = ui.WithQuery(path, "state", state)
	}
	return nil
}

func deliveryPath(d delivery.Logged) string {
	return ui.Path("webhooks", d.SubscriptionID, "deliveries", d.Number)
}

// deliveryState tells deliveries that failed and are tried again from those
// that have not been tried.
func deliveryState(d delivery.Logged) string {
	switch {
	case d.State == delivery.Dead:
		return "dead_letter"
	case d.State == delivery.Pending && d.Attempts > 0:
		return "retrying"
	case d.State == delivery.Pending:
		return "waiting"
	}
	return string(d.State)
}

// outcomeOf is why a delivery left a full queue, or else the outcome of its last
// attempt.
func outcomeOf(d delivery.Logged) string {
	if d.Reason != nil {
		return *d.Reason
	}
	return outcome(d.LastStatus, d.LastError)
}

func nextAttempt(d delivery.Logged) *string {
	if d.State != delivery.Pending {
		return nil
	}
	return d.DueAt
}

// deliveryData is what a delivery's page shows.
type deliveryData struct {
	Delivery delivery.Detail
	Dead     bool
	Back     string // path of the subscription
	Facts    []ui.Fact
	Attempts []shownAttempt // newest first
	Body     string         // for people
	Exact    string         // the bytes that are sent
	Replay   ui.Action
	Discard  ui.Action
	// MayChange: the user may replay and discard it.
	MayChange bool
}

// shownAttempt is an attempt as its delivery's page shows it.
type shownAttempt struct {
	delivery.LoggedAttempt
	Outcome string // in a few words
	Good    bool
	Took    string
	Request string // line and headers
	Open    bool
}

// ShowDelivery shows a delivery with every attempt.
func ShowDelivery(r *page.Request) error {
	number, err := strconv.ParseInt(r.PathValue("number"), 10, 64)
	if err != nil {
		return &page.NotFound
	}
	detail, err := delivery.Get(r.Context(), r.Store, r.Session.Organisation.Org, r.PathValue("id"), number)
	if err != nil {
		return err
	}
	here := deliveryPath(detail.Logged)
	data := deliveryData{
		Delivery: detail, Dead: detail.State == delivery.Dead, MayChange: r.May(auth.Administer), Back: ui.Path("webhooks", detail.SubscriptionID),
		Exact: string(detail.Body), Body: indented(detail.Body),
		Facts: []ui.Fact{
			{Label: "State", Kind: ui.Badge, Value: deliveryState(detail.Logged)},
			{Label: "Receiver", Value: detail.URL, Href: ui.Path("webhooks", detail.SubscriptionID)},
			{Label: "Event", Kind: ui.Code, Value: detail.EventID},
			{Label: "Raised", Kind: ui.Time, Value: detail.EventAt},
			{Label: "Delivery", Kind: ui.Code, Value: detail.ID},
			{Label: "Attempts", Value: detail.Attempts},
		},
		Replay: ui.Action{Label: "Replay", Path: "/webhooks/deadletters/replay", Post: true, Hidden: map[string]string{"only": detail.ID, "next": here}},
		Discard: ui.Action{
			Label: "Discard", Path: "/webhooks/deadletters/discard", Post: true, Danger: true, Hidden: map[string]string{"only": detail.ID},
			Ask: "The receiver never gets this event, and its log goes too.",
		},
	}
	if next := nextAttempt(detail.Logged); next != nil {
		data.Facts = append(data.Facts, ui.Fact{Label: "Next attempt", Kind: ui.Time, Value: next})
	}
	if detail.Reason != nil {
		data.Facts = append(data.Facts, ui.Fact{Label: "Reason", Value: *detail.Reason})
	}
	for _, attempt := range slices.Backward(detail.Log) {
		data.Attempts = append(data.Attempts, newAttempt(r, detail, attempt))
	}
	if len(data.Attempts) > 0 {
		data.Attempts[0].Open = true
	}
	return r.Render("delivery", detail.EventType, data)
}

func newAttempt(r *page.Request, detail delivery.Detail, attempt delivery.LoggedAttempt) shownAttempt {
	return shownAttempt{
		LoggedAttempt: attempt, Outcome: outcome(attempt.Status, attempt.Error), Took: ui.FormatMilliseconds(attempt.DurationMS),
		Good:    attempt.Status != nil && delivery.Attempt{Status: *attempt.Status}.Delivered(),
		Request: attemptRequest(r, detail, attempt),
	}
}

// attemptRequest is an attempt's request but for its body: what it said is made again
// from the event and the subscription, of which the log keeps no copy.
// Signatures are not shown.
func attemptRequest(r *page.Request, detail delivery.Detail, attempt delivery.LoggedAttempt) string {
	to, err := url.Parse(detail.URL)
	if err != nil {
		return ""
	}
	at, _ := time.Parse(time.RFC3339, attempt.At) // a timestamp of the store
	headers := webhook.Headers(webhook.Agent(r.Service.Version), detail.ID, db.Message{ID: detail.EventID, Type: detail.EventType, Body: detail.Body}, at)
	var b strings.Builder
	fmt.Fprintf(&b, "POST %s HTTP/1.1\nHost: %s\n", to.RequestURI(), to.Host)
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		fmt.Fprintf(&b, "%s: %s\n", name, headers.Get(name))
	}
	fmt.Fprintf(&b, "Content-Length: %d\n", len(detail.Body))
	for _, name := range []string{webhook.HeaderSignature, webhook.HeaderStandardSignature} {
		fmt.Fprintf(&b, "%s: (not kept)\n", name)
	}
	return b.String()
}

// indented is JSON for people.
func indented(body []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, body, "", "  ") != nil {
		return string(body)
	}
	return b.String()
}
