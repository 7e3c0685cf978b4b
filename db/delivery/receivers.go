package delivery

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"govsvc/db"
)

// Receiver is the destination of the deliveries of a subscription, with the secrets that
// sign them.
type Receiver struct {
	Subscription string // its id
	URL          string
	Secrets      []string // the newest first; two during the overlap of a rotation
	Active       bool
}

var errNoSubscription = &db.Error{Code: db.NotFound, Message: "no webhook_subscription with this id in this organisation"}

// FindReceiver finds the receiver of a subscription of the organisation.
func FindReceiver(ctx context.Context, store *db.DB, org db.Org, id string) (Receiver, error) {
	row, err := readReceiver(ctx, store, "org_id = ? AND id = ?", org, id)
	if err != nil {
		return Receiver{}, err
	}
	return row.at(store.Now()), nil
}

// ReceiverCache holds the receiver of one subscription in memory until its row may have
// changed. The zero value holds none. Many goroutines may use it.
type ReceiverCache struct{ held atomic.Pointer[heldReceiver] }

// heldReceiver is the row of a receiver, and what reading it depended on.
type heldReceiver struct {
	receiverRow
	reads *db.Reads
}

// claimTrusted is how long a claim is taken to last without a look at the file. It is
// shorter than any lease. A delivery is sent twice only if within that time a full queue
// drops it and an operator replays it, or the clock is set back.
const claimTrusted = time.Second

// OfClaim finds the receiver of a claimed delivery; NotFound if its subscription was deleted
// or the claim has ended. The number of the subscription is not enough, since a later
// subscription can have the number of a deleted one.
func (c *ReceiverCache) OfClaim(ctx context.Context, store *db.DB, d Delivery) (Receiver, error) {
	if time.Since(d.claimed) > claimTrusted {
		if err := findClaim(ctx, store, d.ClaimKey); err != nil {
			return Receiver{}, err
		}
	}
	row, err := c.read(ctx, store, d.Subscription)
	if err != nil {
		return Receiver{}, err
	}
	if row.id != d.subscription {
		return Receiver{}, errNoSubscription
	}
	return row.at(store.Now()), nil
}

// findClaim returns NotFound if a claim has ended.
func findClaim(ctx context.Context, store *db.DB, k ClaimKey) error {
	var lasts bool
	err := store.Engine().Frequent.Row(ctx, "SELECT EXISTS (SELECT 1 FROM deliveries WHERE event_seq = ? AND subscription_seq = ? AND state = 'pending' AND lease = ?)",
		k.Event, k.Subscription, k.Lease).Scan(&lasts)
	if err == nil && !lasts {
		return errNoSubscription
	}
	return db.StoreError(err)
}

// read returns the row of a subscription, from memory if it is still valid.
func (c *ReceiverCache) read(ctx context.Context, store *db.DB, seq int64) (receiverRow, error) {
	version, err := store.File.DataVersion()
	if err != nil {
		return receiverRow{}, db.StoreError(err)
	}
	if held := c.held.Load(); held != nil && held.reads.Valid(version) {
		return held.receiverRow, nil
	}
	recorded, reads := store.File.Record(ctx, version)
	row, err := readReceiver(recorded, store, "seq = ?", seq)
	if err == nil {
		c.held.Store(&heldReceiver{row, reads})
	}
	return row, err
}

// receiverRow is the row of a receiver. former signs until the time until.
type receiverRow struct {
	id, url, secret, former, until string
	active                         bool
}

func readReceiver(ctx context.Context, store *db.DB, which string, args ...any) (receiverRow, error) {
	var r receiverRow
	err := store.Engine().Frequent.Row(ctx, "SELECT id, url, secret, coalesce(former_secret, ''), coalesce(former_until, ''), active FROM webhook_subscriptions WHERE "+which, args...).
		Scan(&r.id, &r.url, &r.secret, &r.former, &r.until, &r.active)
	if none, err := db.Absent(err); none {
		return receiverRow{}, errNoSubscription
	} else if err != nil {
		return receiverRow{}, db.StoreError(err)
	}
	return r, nil
}

// at returns the receiver with the secrets that sign at a time.
func (r receiverRow) at(now time.Time) Receiver {
	secrets := []string{r.secret}
	if r.former != "" && r.until > db.Timestamp(now) {
		secrets = append(secrets, r.former)
	}
	return Receiver{r.id, r.url, secrets, r.active}
}

// NewPing makes the event of the test operation, and an id for its delivery. The event is
// not written to the outbox, so that it is sent once.
func NewPing(store *db.DB, subscription string) (delivery string, m db.Message) {
	data := struct {
		SubscriptionID string `json:"subscription_id"`
	}{subscription}
	return store.NewID(), db.NewMessage(store.NewID(), db.EventPing, store.Now(), data)
}

// SubscriptionSummary is a subscription with the state of its deliveries.
type SubscriptionSummary struct {
	ID          string          `json:"id"`
	URL         string          `json:"url"`
	Description *string         `json:"description"`
	EventTypes  json.RawMessage `json:"event_types"`
	Active      bool            `json:"active"`
	CreatedVia  string          `json:"created_via"`
	CreatedAt   string          `json:"created_at"`
	UpdatedAt   string          `json:"updated_at"`
	Queued      int             `json:"queued"` // deliveries that wait for their next attempt
	Dead        int             `json:"dead_letters"`
	// Of the newest delivery with an attempt; nil before the first attempt.
	LastAttemptAt *string `json:"last_attempt_at"`
	LastStatus    *int    `json:"last_status"`
	LastError     *string `json:"last_error"`
}

// EachSubscription calls each with every subscription of the organisation, oldest first.
func EachSubscription(ctx context.Context, store *db.DB, org db.Org, each func(SubscriptionSummary) error) error {
	return store.Each(ctx, func(row db.Scanner) error {
		var h SubscriptionSummary
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
