package api

import (
	"context"
	"slices"

	"govsvc/db"
	"govsvc/db/delivery"
	"govsvc/db/resource"
)

// Receivers is the way to the endpoints that webhooks are sent to.
type Receivers interface {
	// CheckURL refuses a URL that deliveries may not go to, naming `url`.
	CheckURL(ctx context.Context, url string) error
	// Send makes one attempt to deliver a message.
	Send(ctx context.Context, to delivery.Receiver, deliveryID string, m db.Message) delivery.Attempt
}

func init() {
	register("createWebhookSubscription", CreateWebhookSubscription)
	register("updateWebhookSubscription", UpdateWebhookSubscription)
	register("deleteWebhookSubscription", DeleteWebhookSubscription)
	register("testWebhookSubscription", TestWebhookSubscription)
}

// NewSubscription is a webhook subscription that was created.
type NewSubscription struct {
	Object
	Secret string // signs the deliveries; it is not returned again
}

// Response adds the secret to the subscription; null if there is none.
func (s NewSubscription) Response() Response {
	secret := "null"
	if s.Secret != "" {
		secret = `"` + s.Secret + `"` // needs no escaping
	}
	object := s.Object
	object.JSON = append(slices.Clone(s.JSON[:len(s.JSON)-1]), `,"secret":`+secret+`}`...)
	return object.Response()
}

// Replayed returns the subscription without its secret.
func (s NewSubscription) Replayed() Result { return NewSubscription{s.Object, ""} }

// CreateWebhookSubscription registers an endpoint. The response contains the
// signing secret, a replay of it does not (specification, Webhook subscription
// endpoints).
func CreateWebhookSubscription(ctx context.Context, c *Caller, in Input) (NewSubscription, error) {
	if err := c.checkURL(ctx, in.Body); err != nil {
		return NewSubscription{}, err
	}
	return write(ctx, c, func(tx *db.Tx) (NewSubscription, error) {
		made, secret, err := tx.CreateSubscription(in.record())
		return NewSubscription{Object{201, resource.WebhookSubscription.Type, made.ID, made.JSON}, secret}, err
	})
}

// UpdateWebhookSubscription changes an endpoint, pauses or resumes it.
func UpdateWebhookSubscription(ctx context.Context, c *Caller, in Input) (Object, error) {
	if _, err := delivery.FindReceiver(ctx, c.Store, c.Organisation.Org, in.ID); err != nil {
		return Object{}, err
	}
	if err := c.checkURL(ctx, in.Body); err != nil {
		return Object{}, err
	}
	return write(ctx, c, func(tx *db.Tx) (Object, error) {
		changed, err := tx.UpdateSubscription(in.ID, in.record())
		return Object{200, resource.WebhookSubscription.Type, changed.ID, changed.JSON}, err
	})
}

// checkURL checks the url of a body, if it has one. It looks up the host's name, so
// callers run it before the write begins. Other writers would wait for the lookup.
func (c *Caller) checkURL(ctx context.Context, body map[string]any) error {
	url, given := body["url"].(string)
	if !given {
		return nil
	}
	return c.Receivers.CheckURL(ctx, url)
}

// deletedSubscription is a subscription that was deleted, as the API returns it.
type deletedSubscription struct {
	Object  string `json:"object"`
	ID      string `json:"id"`
	Deleted bool   `json:"deleted"`
}

// DeleteWebhookSubscription removes an endpoint and its queued deliveries.
func DeleteWebhookSubscription(ctx context.Context, c *Caller, in Input) (Object, error) {
	return write(ctx, c, func(tx *db.Tx) (Object, error) {
		deleted := Object{Status: 200, Type: "webhook_subscription_deleted", ID: in.ID}
		err := tx.DeleteSubscription(in.ID)
		if err == nil {
			deleted.JSON, err = EncodeJSON(deletedSubscription{deleted.Type, in.ID, true})
		}
		return deleted, err
	})
}

// TestDelivery is the attempt to deliver a ping.
type TestDelivery struct {
	Object
	Delivery Delivery
}

// Delivery is a TestDelivery as the API returns it.
type Delivery struct {
	Object    string `json:"object"`
	ID        string `json:"id"`
	EventID   string `json:"event_id"`
	EventType string `json:"event_type"`
	Outcome   string `json:"outcome"` // see Outcome
	Delivered bool   `json:"delivered"`
	Status    *int   `json:"response_status_code"` // of the receiver; nil if it did not respond
}

// TestWebhookSubscription sends one ping the way deliveries are sent, once, on a
// paused subscription too. The attempt is recorded after it was made. It is not
// cancelled with the caller. A crash between the two frees the idempotency key
// (contract, section 4).
func TestWebhookSubscription(ctx context.Context, c *Caller, in Input) (TestDelivery, error) {
	to, err := delivery.FindReceiver(ctx, c.Store, c.Organisation.Org, in.ID)
	if err != nil {
		return TestDelivery{}, err
	}
	ctx = context.WithoutCancel(ctx)
	deliveryID, message := delivery.NewPing(c.Store, to.Subscription)
	attempt := c.Receivers.Send(ctx, to, deliveryID, message)
	test := TestDelivery{Object: Object{Status: 200, Type: "webhook_test_delivery", ID: deliveryID}}
	test.Delivery = Delivery{
		Object: test.Type, ID: deliveryID, EventID: message.ID, EventType: message.Type,
		Outcome: Outcome(attempt), Delivered: attempt.Delivered(),
	}
	if attempt.Status > 0 {
		test.Delivery.Status = &attempt.Status
	}
	return write(ctx, c, func(tx *db.Tx) (TestDelivery, error) {
		err := tx.AuditPing(in.ID, deliveryID, message.ID, test.Delivery.Outcome)
		if err == nil {
			test.JSON, err = EncodeJSON(test.Delivery)
		}
		return test, err
	})
}

// Outcome names the outcome of an attempt: delivered, rejected, blocked or
// unreachable.
func Outcome(a delivery.Attempt) string {
	switch {
	case a.Delivered():
		return "delivered"
	case a.Status > 0:
		return "rejected"
	case a.Blocked:
		return "blocked"
	}
	return "unreachable"
}
