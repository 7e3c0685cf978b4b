package api

import (
	"context"
	"slices"

	"govsvc/db"
)

// Receivers is the way to the endpoints that webhooks are sent to.
type Receivers interface {
	// CheckURL refuses a URL that deliveries may not go to, naming `url`.
	CheckURL(ctx context.Context, url string) error
	// Send makes one attempt to deliver a message.
	Send(ctx context.Context, to db.Receiver, delivery string, m db.Message) db.Attempt
}

// CreateWebhookSubscription registers an endpoint; its answer holds the signing
// secret, a replay of it does not (specification, Webhook subscription
// endpoints).
func CreateWebhookSubscription(ctx context.Context, c *Caller, in Input) (Answer, error) {
	if err := c.checkURL(ctx, in.Body); err != nil {
		return Answer{}, err
	}
	return c.writeOnce(ctx, 201, "webhook_subscription", func(tx *db.Tx) (shown, kept []byte, err error) {
		resource, secret, err := tx.CreateSubscription(in.record(nil))
		if err != nil {
			return nil, nil, err
		}
		return withSecret(resource, `"`+secret+`"`), withSecret(resource, "null"), nil
	})
}

// withSecret adds the last member to a subscription. A secret needs no
// escaping.
func withSecret(resource []byte, secret string) []byte {
	return append(slices.Clone(resource[:len(resource)-1]), `,"secret":`+secret+`}`...)
}

// UpdateWebhookSubscription changes an endpoint, pauses or resumes it.
func UpdateWebhookSubscription(ctx context.Context, c *Caller, in Input) (Answer, error) {
	if _, err := c.Store.Receiver(ctx, c.Organisation.Org, in.ID); err != nil {
		return Answer{}, err
	}
	if err := c.checkURL(ctx, in.Body); err != nil {
		return Answer{}, err
	}
	return c.write(ctx, 200, "webhook_subscription", func(tx *db.Tx) ([]byte, error) {
		return tx.UpdateSubscription(in.ID, in.record(nil))
	})
}

// checkURL checks a url, where the body has one, before the write begins:
// names are looked up, which must hold up no other writer.
func (c *Caller) checkURL(ctx context.Context, body map[string]any) error {
	url, given := body["url"].(string)
	if !given {
		return nil
	}
	return c.Receivers.CheckURL(ctx, url)
}

type subscriptionDeleted struct {
	Object  string `json:"object"`
	ID      string `json:"id"`
	Deleted bool   `json:"deleted"`
}

// DeleteWebhookSubscription removes an endpoint and its queued deliveries.
func DeleteWebhookSubscription(ctx context.Context, c *Caller, in Input) (Answer, error) {
	return c.write(ctx, 200, "webhook_subscription_deleted", func(tx *db.Tx) ([]byte, error) {
		if err := tx.DeleteSubscription(in.ID); err != nil {
			return nil, err
		}
		return EncodeJSON(subscriptionDeleted{"webhook_subscription_deleted", in.ID, true})
	})
}

// testDelivery is the answer of the test operation.
type testDelivery struct {
	Object    string `json:"object"`
	ID        string `json:"id"`
	EventID   string `json:"event_id"`
	EventType string `json:"event_type"`
	Outcome   string `json:"outcome"`
	Delivered bool   `json:"delivered"`
	Status    *int   `json:"response_status_code"`
}

// TestWebhookSubscription sends one ping through the real delivery path, once,
// on a paused subscription too. Its record is written after the attempt, which
// is carried through though the caller may have gone: a crash between frees the
// key (contract, section 4).
func TestWebhookSubscription(ctx context.Context, c *Caller, in Input) (Answer, error) {
	to, err := c.Store.Receiver(ctx, c.Organisation.Org, in.ID)
	if err != nil {
		return Answer{}, err
	}
	ctx = context.WithoutCancel(ctx)
	delivery, message := c.Store.Ping(to.Subscription)
	attempt := c.Receivers.Send(ctx, to, delivery, message)
	report := testDelivery{
		Object: "webhook_test_delivery", ID: delivery, EventID: message.ID, EventType: message.Type,
		Outcome: Outcome(attempt), Delivered: attempt.Delivered(),
	}
	if attempt.Status > 0 {
		report.Status = &attempt.Status
	}
	return c.write(ctx, 200, report.Object, func(tx *db.Tx) ([]byte, error) {
		if err := tx.AuditPing(in.ID, delivery, message.ID, report.Outcome); err != nil {
			return nil, err
		}
		return EncodeJSON(report)
	})
}

// Outcome names what came of an attempt: delivered, rejected, blocked or
// unreachable.
func Outcome(a db.Attempt) string {
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
