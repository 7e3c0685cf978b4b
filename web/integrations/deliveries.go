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

// deliveryStates are the choices of the filter.
var deliveryStates = []ui.Option{
	{Value: string(delivery.Delivered), Label: "Delivered"}, {Value: string(delivery.Pending), Label: "Waiting"}, {Value: string(delivery.Dead), Label: "Dead letters"},
}

// addDeliveries adds a page of deliveries to the page of a webhook.
func addDeliveries(r *page.Request, data *webhookData) error {
	parameters := r.HTTP.URL.Query()
	id, state := data.Subscription.ID, parameters.Get("state")
	result, err := delivery.List(r.Context(), r.Store, r.Session.Organisation, delivery.Query{
		Subscription: id, State: delivery.State(state), Cursor: parameters.Get("cursor"), Limit: deliveriesOnPage,
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
			{Label: "Last result"},
			{Label: "Next attempt", Kind: ui.Time},
		},
		Empty: ui.Empty{Title: "No deliveries yet", Advice: "Send a test to check that the receiver answers. This list does not contain tests."},
	}
	if state != "" {
		data.Deliveries.Empty = ui.Empty{Title: "No matching deliveries", Advice: "There are no deliveries in this state."}
	}
	for _, d := range result.Deliveries {
		data.Deliveries.Rows = append(data.Deliveries.Rows, ui.Row{
			Href:  deliveryPath(d),
			Cells: []any{d.EventType, d.EventAt, deliveryState(d), d.Attempts, d.LastAttemptAt, lastOutcome(d), nextAttempt(d)},
		})
	}
	data.Pager = ui.Pager{Shown: len(result.Deliveries), One: "delivery", Many: "deliveries"}
	if result.Next != "" {
		data.Pager.Next = ui.WithQuery(path, "state", state, "cursor", result.Next)
	}
	if result.Previous != "" {
		data.Pager.Previous = ui.WithQuery(path, "state", state, "cursor", result.Previous)
		data.Newest = ui.WithQuery(path, "state", state)
	}
	return nil
}

func deliveryPath(d delivery.Logged) string {
	return ui.Path("webhooks", d.SubscriptionID, "deliveries", d.Number)
}

// deliveryState distinguishes pending deliveries that failed before from those
// without an attempt.
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

// lastOutcome returns the result of the last attempt, or why a delivery left a full
// queue.
func lastOutcome(d delivery.Logged) string {
	if d.Reason != nil {
		return *d.Reason
	}
	return attemptOutcome(d.LastStatus, d.LastError)
}

func nextAttempt(d delivery.Logged) *string {
	if d.State != delivery.Pending {
		return nil
	}
	return d.DueAt
}

// deliveryData is the argument of the page of a delivery.
type deliveryData struct {
	Delivery  delivery.Detail
	Dead      bool
	Back      string // path of the subscription
	Facts     []ui.Fact
	Attempts  []attemptView // newest first
	Body      string        // indented
	Exact     string        // as sent
	Replay    ui.Action
	Discard   ui.Action
	MayChange bool // the user can replay and discard the delivery
}

// attemptView is an attempt with its result and request.
type attemptView struct {
	delivery.LoggedAttempt
	Outcome   string // in a few words
	Succeeded bool
	Duration  string
	Request   string // line and headers
	Open      bool
}

// ShowDelivery shows a delivery with all attempts.
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
		Exact: string(detail.Body), Body: indentJSON(detail.Body),
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
			Ask: "The receiver will not get this event. This also deletes its log.",
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

func newAttempt(r *page.Request, detail delivery.Detail, attempt delivery.LoggedAttempt) attemptView {
	return attemptView{
		LoggedAttempt: attempt, Outcome: attemptOutcome(attempt.Status, attempt.Error), Duration: ui.FormatMilliseconds(attempt.DurationMS),
		Succeeded: attempt.Status != nil && delivery.Attempt{Status: *attempt.Status}.Delivered(),
		Request:   attemptRequest(r, detail, attempt),
	}
}

// attemptRequest returns the request of an attempt without its body. The log has no
// copy of it, so it is derived from the event and the subscription, without the
// signatures.
func attemptRequest(r *page.Request, detail delivery.Detail, attempt delivery.LoggedAttempt) string {
	to, err := url.Parse(detail.URL)
	if err != nil {
		return ""
	}
	at, _ := time.Parse(time.RFC3339, attempt.At) // timestamps of the store are valid
	headers := webhook.Headers(webhook.Agent(r.Service.Version), detail.ID, db.Message{ID: detail.EventID, Type: detail.EventType, Body: detail.Body}, at)
	var b strings.Builder
	fmt.Fprintf(&b, "POST %s HTTP/1.1\nHost: %s\n", to.RequestURI(), to.Host)
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		fmt.Fprintf(&b, "%s: %s\n", name, headers.Get(name))
	}
	fmt.Fprintf(&b, "Content-Length: %d\n", len(detail.Body))
	for _, name := range []string{webhook.HeaderSignature, webhook.HeaderStandardSignature} {
		fmt.Fprintf(&b, "%s: (not stored)\n", name)
	}
	return b.String()
}

// indentJSON indents JSON. It returns other texts unchanged.
func indentJSON(body []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, body, "", "  ") != nil {
		return string(body)
	}
	return b.String()
}
