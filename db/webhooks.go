package db

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"time"

	"govsvc/db/audit"
	"govsvc/db/resource"
)

var webhookSubscriptions = stored(resource.WebhookSubscription)

// newSigningSecret makes a signing secret (contract, "Events").
func newSigningSecret(tx *Tx) (string, error) {
	secret, err := tx.db.RandomBytes(32)
	return "whsec_" + base64.StdEncoding.EncodeToString(secret), err
}

// SubscriptionLimit is how many webhook subscriptions an organisation may have
// (contract, "Events").
const SubscriptionLimit = 250

// refuseMoreSubscriptions refuses a subscription beyond the limit. An organisation
// that has more keeps them.
func refuseMoreSubscriptions(tx *Tx) error {
	var count int
	err := tx.Row("SELECT count(*) FROM (SELECT 1 FROM webhook_subscriptions WHERE org_id = ? LIMIT ? + 0)", tx.Org, SubscriptionLimit).Scan(&count)
	if err == nil && count >= SubscriptionLimit {
		return &Error{Code: Conflict, Message: fmt.Sprintf("The organisation has %d webhook subscriptions, which is the limit. Delete one that is not needed before adding another.", SubscriptionLimit)}
	}
	return StoreError(err)
}

// CreateSubscription creates a webhook subscription and returns it with its signing
// secret, which no later call returns.
func (tx *Tx) CreateSubscription(record Record) (made Object, secret string, err error) {
	if err := refuseMoreSubscriptions(tx); err != nil {
		return made, "", err
	}
	clear(tx.batch.receiverSets)
	if secret, err = newSigningSecret(tx); err != nil {
		return made, "", err
	}
	record["secret"], record["created_via"] = secret, "dashboard"
	if tx.API {
		record["created_via"] = "api"
	}
	defer delete(record, "secret")
	row, _, err := insertRow(tx, webhookSubscriptions, record, nil)
	if err != nil {
		return made, "", err
	}
	if row, err = readBySeq(tx, webhookSubscriptions, row.seq); err != nil {
		return made, "", err
	}
	changes := subscriptionChanges(storedRow{}, row)
	return Object{row.id, row.object}, secret, auditSubscription(tx, "created", row.id, audit.Metadata{"changes": changes})
}

// UpdateSubscription sets the members of a subscription that are present. Deliveries
// that were queued before a pause are sent after it.
func (tx *Tx) UpdateSubscription(id string, record Record) (Object, error) {
	before, after, err := modifyRow(tx, webhookSubscriptions, id, record)
	if err != nil || after.seq == 0 {
		return Object{before.id, before.object}, err
	}
	changes := subscriptionChanges(before, after)
	clear(tx.batch.receiverSets)
	_, resumed := changes["active"]
	if resumed {
		tx.WakeDeliveries()
	}
	return Object{after.id, after.object}, auditSubscription(tx, "updated", id, audit.Metadata{"changes": changes})
}

// DeleteSubscription removes a subscription with its queued deliveries, its dead
// letters and its log.
func (tx *Tx) DeleteSubscription(id string) error {
	existing, err := findSubscription(tx, id)
	if err != nil {
		return err
	}
	if _, err := tx.Exec("DELETE FROM webhook_subscriptions WHERE seq = ?", existing.seq); err != nil {
		return err
	}
	clear(tx.batch.receiverSets)
	return auditSubscription(tx, "deleted", id, audit.Metadata{"changes": subscriptionChanges(existing, storedRow{})})
}

// RotateSecret gives a subscription a new signing secret and returns it. The old
// secret signs deliveries as well until the overlap has passed. A secret from before
// the old one no longer does.
func (tx *Tx) RotateSecret(id string, overlap time.Duration) (secret string, formerUntil time.Time, err error) {
	existing, err := findSubscription(tx, id)
	if err != nil {
		return "", time.Time{}, err
	}
	if overlap < 0 {
		return "", time.Time{}, &Error{Code: Invalid, Param: "overlap", Message: "overlap must not be negative"}
	}
	if secret, err = newSigningSecret(tx); err != nil {
		return "", time.Time{}, err
	}
	formerUntil = tx.now.Add(overlap)
	if _, err := tx.Exec("UPDATE webhook_subscriptions SET former_secret = iif(?2 > ?4, secret, NULL), former_until = iif(?2 > ?4, ?2, NULL), secret = ?3, updated_at = ?4 WHERE seq = ?1",
		existing.seq, Timestamp(formerUntil), secret, tx.At()); err != nil {
		return "", time.Time{}, err
	}
	return secret, formerUntil, auditSubscription(tx, "secret_rotated", id, audit.Metadata{"former_until": Timestamp(formerUntil)})
}

// AuditPing appends the event of a test of a subscription and its outcome.
func (tx *Tx) AuditPing(subscription, delivery, event, outcome string) error {
	return tx.AuditWebhook("webhook_test_delivery", "created", "webhook_subscription", subscription,
		audit.Metadata{"delivery_id": delivery, "event_id": event, "outcome": outcome})
}

func findSubscription(tx *Tx, id string) (storedRow, error) {
	return readByID(tx, webhookSubscriptions, id)
}

func auditSubscription(tx *Tx, verb, id string, detail audit.Metadata) error {
	return tx.AuditWebhook("webhook_subscription", verb, "webhook_subscription", id, detail)
}

// AuditWebhook appends the event of a change of an object to the audit log of the
// record that it belongs to.
func (tx *Tx) AuditWebhook(object, verb, recordType, id string, detail audit.Metadata) error {
	action, detail := writeAction(tx, object, verb, detail)
	return tx.Audit(audit.Event{
		Action: action, Category: audit.Webhook, Severity: audit.SeverityWrite,
		ResourceType: recordType, ResourceID: id, Metadata: detail,
	})
}

// subscriptionChanges compares the members of a subscription, without its secret,
// before and after a change. A zero row is one that does not exist.
func subscriptionChanges(before, after storedRow) audit.Changes {
	changes := audit.Changes{}
	for _, member := range []string{"url", "description", "event_types", "active", "created_via"} {
		if from, to := before.members[member], after.members[member]; !reflect.DeepEqual(from, to) {
			changes[member] = audit.Change{From: from, To: to}
		}
	}
	return changes
}
