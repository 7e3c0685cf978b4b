package delivery

import (
	"context"
	"fmt"

	"govsvc/db"
	"govsvc/db/audit"
)

// DeadLetter is a delivery that failed in all of its attempts, that left a full queue, or
// whose receiver has an address that is not allowed (contract, "Events").
type DeadLetter struct {
	ID             string `json:"id"`
	SubscriptionID string `json:"subscription_id"`
	URL            string `json:"url"`
	EventID        string `json:"event_id"`
	EventType      string `json:"event_type"`
	EventAt        string `json:"event_created_at"`
	Attempts       int    `json:"attempts"`
	DiedAt         string `json:"died_at"`
	// Of the last attempt.
	LastStatus *int    `json:"last_status"`
	LastError  *string `json:"last_error"`
	LastAnswer *string `json:"last_answer"`
	// Reason is why the delivery left the queue before its last attempt; nil if all
	// attempts failed or the address is not allowed.
	Reason *string `json:"reason"`
}

// EachDeadLetter calls each with every dead letter of the organisation, oldest event
// first.
func EachDeadLetter(ctx context.Context, store *db.DB, org db.Org, each func(DeadLetter) error) error {
	return store.Each(ctx, func(row db.Scanner) error {
		var l DeadLetter
		if err := row.Scan(&l.ID, &l.SubscriptionID, &l.URL, &l.EventID, &l.EventType, &l.EventAt, &l.Attempts, &l.DiedAt,
			&l.LastStatus, &l.LastError, &l.LastAnswer, &l.Reason); err != nil {
			return err
		}
		return each(l)
	}, `SELECT d.id, s.id, s.url, e.id, e.type, e.created_at, d.attempts, d.updated_at, a.status, a.error, a.answer, d.reason
		FROM webhook_subscriptions s
		JOIN deliveries d ON d.subscription_seq = s.seq AND d.state = 'dead'
		JOIN events e ON e.seq = d.event_seq`+lastAttempt+`
		WHERE s.org_id = ? ORDER BY d.event_seq, d.subscription_seq`, org)
}

// Replay queues dead letters again, with the same event id and all attempts. With ids
// it replays exactly these dead letters; if one can't be replayed, it replays nothing.
// Without ids it replays those of the whole organisation. It returns their number. No
// queue becomes longer than QueueLimit: without ids, the oldest dead letters that fit
// are replayed.
func Replay(ctx context.Context, store *db.DB, by db.Actor, ids ...string) (int, error) {
	if len(ids) > 0 {
		err := store.Write(ctx, by, func(tx *db.Tx) error {
			if err := changeDeadLetters(tx, "replayed", replay+deadOfID, ids); err != nil {
				return err
			}
			return refuseLongQueues(tx)
		})
		if err != nil {
			return 0, err
		}
		return len(ids), nil
	}
	var subscriptions []int64
	err := store.Each(ctx, func(row db.Scanner) error {
		var seq int64
		err := row.Scan(&seq)
		subscriptions = append(subscriptions, seq)
		return err
	}, `SELECT seq FROM webhook_subscriptions s WHERE org_id = ?
		AND EXISTS (SELECT 1 FROM deliveries d WHERE d.subscription_seq = s.seq AND d.state = 'dead') ORDER BY seq`, by.Org)
	total := 0
	for err == nil && len(subscriptions) > 0 {
		var n, done int
		err = store.Write(ctx, by, func(tx *db.Tx) error {
			var err error
			n, done, err = replaySome(tx, subscriptions)
			return err
		})
		if err == nil {
			total, subscriptions = total+n, subscriptions[done:]
		}
	}
	return total, err
}

// replayedAtOnce bounds how many dead letters one transaction changes, so that it
// delays no other writer for long.
const replayedAtOnce = 1000

// replaySome replays at most replayedAtOnce dead letters of subscriptions, as far as
// their queues have room. It returns their number, and the number of subscriptions that
// have no more to replay.
func replaySome(tx *db.Tx, subscriptions []int64) (n, done int, err error) {
	for _, seq := range subscriptions {
		moved, err := tx.Exec(replay+`SELECT event_seq, subscription_seq FROM deliveries WHERE subscription_seq = ?1 AND state = 'dead'
			ORDER BY event_seq LIMIT max(0, min(?3, ?4 - coalesce((SELECT queued FROM delivery_queues WHERE subscription_seq = ?1), 0))))`,
			seq, tx.At(), replayedAtOnce-n, QueueLimit)
		if err != nil {
			return n, done, err
		}
		if n += int(moved); n == replayedAtOnce {
			break
		}
		done++
	}
	if n == 0 {
		return 0, done, nil
	}
	tx.WakeDeliveries()
	return n, done, tx.AuditWebhook("webhook_delivery", "replayed", "", "", audit.Metadata{"deliveries": n})
}

// Discard removes dead letters. It takes ids as Replay does.
func Discard(ctx context.Context, store *db.DB, by db.Actor, ids ...string) (int, error) {
	if len(ids) > 0 {
		err := store.Write(ctx, by, func(tx *db.Tx) error { return changeDeadLetters(tx, "discarded", discard+deadOfID, ids) })
		if err != nil {
			return 0, err
		}
		return len(ids), nil
	}
	total := 0
	for {
		var n int64
		err := store.Write(ctx, by, func(tx *db.Tx) error {
			var err error
			n, err = tx.Exec(discard+deadAny, tx.Org, tx.At(), replayedAtOnce)
			if err != nil || n == 0 {
				return err
			}
			return tx.AuditWebhook("webhook_delivery", "discarded", "", "", audit.Metadata{"deliveries": n})
		})
		total += int(n)
		if err != nil || n < replayedAtOnce {
			return total, err
		}
	}
}

const (
	replay = `UPDATE deliveries SET state = 'pending', attempts = 0, due_at = ?2, updated_at = ?2, reason = NULL
		WHERE (event_seq, subscription_seq) IN (`
	discard   = `DELETE FROM deliveries WHERE (event_seq, subscription_seq) IN (`
	deadOfOrg = `SELECT d.event_seq, d.subscription_seq FROM webhook_subscriptions s
		JOIN deliveries d ON d.subscription_seq = s.seq AND d.state = 'dead' WHERE s.org_id = ?1`
	deadOfID = deadOfOrg + " AND d.id = ?3)"
	deadAny  = deadOfOrg + " ORDER BY d.event_seq LIMIT ?3 + 0)"
)

// changeDeadLetters changes the dead letters with the ids and audits each change.
func changeDeadLetters(tx *db.Tx, verb, change string, ids []string) error {
	for _, id := range ids {
		n, err := tx.Exec(change, tx.Org, tx.At(), id)
		if err != nil {
			return err
		}
		if n == 0 {
			return &db.Error{Code: db.NotFound, Param: "id", Message: fmt.Sprintf("no dead letter %s in this organisation; `govsvc deadletters list` shows them", id)}
		}
		if err := tx.AuditWebhook("webhook_delivery", verb, "webhook_delivery", id, nil); err != nil {
			return err
		}
	}
	tx.WakeDeliveries()
	return nil
}

// refuseLongQueues refuses a replay that makes a queue longer than the limit.
func refuseLongQueues(tx *db.Tx) error {
	var full bool
	err := tx.Row(`SELECT EXISTS (SELECT 1 FROM webhook_subscriptions s JOIN delivery_queues q ON q.subscription_seq = s.seq
		WHERE s.org_id = ? AND q.queued > ? + 0)`, tx.Org, QueueLimit).Scan(&full)
	if err == nil && full {
		return &db.Error{Code: db.Conflict, Message: fmt.Sprintf("The queue of the subscription is full: %d deliveries wait in it. Replay the dead letter after some of them are delivered.", QueueLimit)}
	}
	return db.StoreError(err)
}
