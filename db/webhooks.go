package db

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"govsvc/db/resource"
)

var webhookSubscriptions = stored(resource.WebhookSubscription)

// newSecret makes a signing secret (contract, "Events").
func (tx *Tx) newSecret() (string, error) {
	secret, err := tx.db.RandomBytes(32)
	return "whsec_" + base64.StdEncoding.EncodeToString(secret), err
}

// Receiver is where a subscription's deliveries go, and what signs them.
type Receiver struct {
	Subscription string // its id
	URL          string
	Secrets      []string // new first; two while a rotation's overlap lasts
	Active       bool
}

var errNoSubscription = &Error{Code: NotFound, Message: "no webhook_subscription with this id in this organisation"}

// Receiver finds the receiver of a subscription of the organisation.
func (d *DB) Receiver(ctx context.Context, org Org, id string) (Receiver, error) {
	return d.readReceiver(ctx, "org_id = ? AND id = ?", org, id)
}

// ReceiverOf finds where a claimed delivery goes now; NotFound where the claim
// has ended. A subscription alone does not tell: a deleted one's number may be
// that of the next.
func (d *DB) ReceiverOf(ctx context.Context, k DeliveryKey) (Receiver, error) {
	return d.readReceiver(ctx, "seq = ?1 AND EXISTS (SELECT 1 FROM deliveries WHERE event_seq = ?2 AND subscription_seq = ?1 AND state = 'pending' AND lease = ?3)",
		k.Subscription, k.Event, k.Lease)
}

func (d *DB) readReceiver(ctx context.Context, which string, args ...any) (Receiver, error) {
	var id, url, secret, former, until string
	var active bool
	err := d.engine.Frequent.Row(ctx, "SELECT id, url, secret, coalesce(former_secret, ''), coalesce(former_until, ''), active FROM webhook_subscriptions WHERE "+which, args...).
		Scan(&id, &url, &secret, &former, &until, &active)
	if none, err := absent(err); none {
		return Receiver{}, errNoSubscription
	} else if err != nil {
		return Receiver{}, storeError(err)
	}
	r := Receiver{id, url, []string{secret}, active}
	if former != "" && until > Timestamp(d.Now()) {
		r.Secrets = append(r.Secrets, former)
	}
	return r, nil
}

// Ping makes the event of the test operation, and an id for its delivery. It
// is not in the outbox: nobody sends it again.
func (d *DB) Ping(subscription string) (delivery string, m Message) {
	data := struct {
		SubscriptionID string `json:"subscription_id"`
	}{subscription}
	return d.newID(), NewMessage(d.newID(), EventPing, d.Now(), data)
}

// SubscriptionLimit is how many webhook subscriptions an organisation may have
// (contract, "Events").
const SubscriptionLimit = 250

// roomForSubscription refuses a subscription beyond the limit. An organisation
// that has more keeps them.
func (tx *Tx) roomForSubscription() error {
	var count int
	err := tx.Row("SELECT count(*) FROM (SELECT 1 FROM webhook_subscriptions WHERE org_id = ? LIMIT ? + 0)", tx.Org, SubscriptionLimit).Scan(&count)
	if err == nil && count >= SubscriptionLimit {
		return &Error{Code: Conflict, Message: fmt.Sprintf("The organisation has %d webhook subscriptions, which is the limit. Delete one that is not needed before adding another.", SubscriptionLimit)}
	}
	return storeError(err)
}

// CreateSubscription makes a webhook subscription and returns it with its
// signing secret, which is not to be seen again.
func (tx *Tx) CreateSubscription(record Record) (text []byte, secret string, err error) {
	if err := tx.roomForSubscription(); err != nil {
		return nil, "", err
	}
	tx.receiverSets = nil
	if secret, err = tx.newSecret(); err != nil {
		return nil, "", err
	}
	record["secret"], record["created_via"] = secret, "dashboard"
	if tx.API {
		record["created_via"] = "api"
	}
	defer delete(record, "secret")
	made, _, err := tx.insert(webhookSubscriptions, record, nil)
	if err != nil {
		return nil, "", err
	}
	if text, err = tx.resource(webhookSubscriptions, made.seq); err != nil {
		return nil, "", err
	}
	changes, err := subscriptionChanges(nil, text)
	if err != nil {
		return nil, "", err
	}
	return text, secret, tx.auditSubscription("created", made.id, Metadata{"changes": changes})
}

// UpdateSubscription changes the members of a subscription that are present.
// What was queued before a pause goes out after it.
func (tx *Tx) UpdateSubscription(id string, record Record) ([]byte, error) {
	known, err := tx.subscription(id)
	if err != nil {
		return nil, err
	}
	outcome, err := tx.replace(webhookSubscriptions, known, record)
	if err != nil || outcome == Unchanged {
		return known.resource, err
	}
	after, err := tx.subscription(id)
	if err != nil {
		return nil, err
	}
	changes, err := subscriptionChanges(known.resource, after.resource)
	if err != nil {
		return nil, err
	}
	tx.receiverSets = nil
	_, resumed := changes["active"]
	if resumed {
		tx.wakeDeliveries()
	}
	return after.resource, tx.auditSubscription("updated", id, Metadata{"changes": changes})
}

// DeleteSubscription removes a subscription with its deliveries: those that
// are queued, its dead letters and its log.
func (tx *Tx) DeleteSubscription(id string) error {
	known, err := tx.subscription(id)
	if err != nil {
		return err
	}
	if _, err := tx.Exec("DELETE FROM webhook_subscriptions WHERE seq = ?", known.seq); err != nil {
		return err
	}
	tx.receiverSets = nil
	changes, err := subscriptionChanges(known.resource, nil)
	if err != nil {
		return err
	}
	return tx.auditSubscription("deleted", id, Metadata{"changes": changes})
}

// RotateSecret gives a subscription a new signing secret and returns it. The
// old one signs beside it until the overlap has passed; one that was rotated
// out before does so no longer.
func (tx *Tx) RotateSecret(id string, overlap time.Duration) (secret string, formerUntil time.Time, err error) {
	known, err := tx.subscription(id)
	if err != nil {
		return "", time.Time{}, err
	}
	if overlap < 0 {
		return "", time.Time{}, &Error{Code: Invalid, Param: "overlap", Message: "overlap must not be negative"}
	}
	if secret, err = tx.newSecret(); err != nil {
		return "", time.Time{}, err
	}
	formerUntil = tx.now.Add(overlap)
	if _, err := tx.Exec("UPDATE webhook_subscriptions SET former_secret = iif(?2 > ?4, secret, NULL), former_until = iif(?2 > ?4, ?2, NULL), secret = ?3, updated_at = ?4 WHERE seq = ?1",
		known.seq, Timestamp(formerUntil), secret, tx.At()); err != nil {
		return "", time.Time{}, err
	}
	return secret, formerUntil, tx.auditSubscription("secret_rotated", id, Metadata{"former_until": Timestamp(formerUntil)})
}

// AuditPing tells the audit log of a test of a subscription and its outcome.
func (tx *Tx) AuditPing(subscription, delivery, event, outcome string) error {
	return tx.auditWebhook("webhook_test_delivery", "created", "webhook_subscription", subscription,
		Metadata{"delivery_id": delivery, "event_id": event, "outcome": outcome})
}

func (tx *Tx) subscription(id string) (storedRow, error) { return tx.byID(webhookSubscriptions, id) }

func (tx *Tx) auditSubscription(verb, id string, detail Metadata) error {
	return tx.auditWebhook("webhook_subscription", verb, "webhook_subscription", id, detail)
}

// auditWebhook appends the event of what was done to an object, for the record
// that it belongs to.
func (tx *Tx) auditWebhook(object, verb, recordType, id string, detail Metadata) error {
	action, detail := tx.writeAction(object, verb, detail)
	return tx.Audit(AuditEvent{
		Action: action, Category: Webhook, Severity: SeverityWrite,
		ResourceType: recordType, ResourceID: id, Metadata: detail,
	})
}

// subscriptionChanges compares a subscription as the API shows it before and
// after a change, so without its secret; nil is one that is not there.
func subscriptionChanges(before, after []byte) (Changes, error) {
	was, is := map[string]any{}, map[string]any{}
	for text, into := range map[*[]byte]*map[string]any{&before: &was, &after: &is} {
		if *text == nil {
			continue
		}
		if err := json.NewDecoder(bytes.NewReader(*text)).Decode(into); err != nil {
			return nil, err
		}
	}
	changes := Changes{}
	for _, member := range []string{"url", "description", "event_types", "active", "created_via"} {
		if !reflect.DeepEqual(was[member], is[member]) {
			changes[member] = Change{From: was[member], To: is[member]}
		}
	}
	return changes, nil
}

// SubscriptionHealth is a subscription at a glance, for its operator.
type SubscriptionHealth struct {
	ID          string          `json:"id"`
	URL         string          `json:"url"`
	Description *string         `json:"description"`
	EventTypes  json.RawMessage `json:"event_types"`
	Active      bool            `json:"active"`
	CreatedVia  string          `json:"created_via"`
	CreatedAt   string          `json:"created_at"`
	UpdatedAt   string          `json:"updated_at"`
	Queued      int             `json:"queued"`       // deliveries that wait for their next attempt
	Dead        int             `json:"dead_letters"` // that ran out of attempts
	// The last attempt of the newest delivery that had one; null before.
	LastAttemptAt *string `json:"last_attempt_at"`
	LastStatus    *int    `json:"last_status"`
	LastError     *string `json:"last_error"`
}

// SubscriptionsHealth calls each with every subscription of the organisation,
// oldest first.
func (d *DB) SubscriptionsHealth(ctx context.Context, org Org, each func(SubscriptionHealth) error) error {
	return d.Each(ctx, func(row Scanner) error {
		var h SubscriptionHealth
		var types string
		if err := row.Scan(&h.ID, &h.URL, &h.Description, &types, &h.Active, &h.CreatedVia, &h.CreatedAt, &h.UpdatedAt,
			&h.Queued, &h.Dead, &h.LastAttemptAt, &h.LastStatus, &h.LastError); err != nil {
			return err
		}
		h.EventTypes = json.RawMessage(types)
		return each(h)
	}, `SELECT s.id, s.url, s.description, s.event_types, s.active, s.created_via, s.created_at, s.updated_at,
		coalesce((SELECT queued FROM delivery_queues q WHERE q.subscription_seq = s.seq), 0)
			+ (SELECT count(*) FROM unexpanded_deliveries u WHERE u.subscription_seq = s.seq),
		(SELECT count(*) FROM deliveries d WHERE d.subscription_seq = s.seq AND d.state = 'dead'), a.at, a.status, a.error
		FROM webhook_subscriptions s
		LEFT JOIN delivery_attempts a ON a.subscription_seq = s.seq AND a.event_seq = (SELECT d.event_seq FROM deliveries d
				WHERE d.subscription_seq = s.seq AND EXISTS (SELECT 1 FROM delivery_attempts e
					WHERE e.event_seq = d.event_seq AND e.subscription_seq = d.subscription_seq)
				ORDER BY d.event_seq DESC LIMIT 1)
			AND a.number = (SELECT max(number) FROM delivery_attempts m WHERE m.event_seq = a.event_seq AND m.subscription_seq = a.subscription_seq)
		WHERE s.org_id = ? ORDER BY s.created_at, s.id`, org)
}
