package db

import (
	"context"
	"fmt"
)

// DeadLetter is a delivery that ran out of attempts, or whose receiver's
// address is not allowed (contract, "Events").
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
}

// DeadLetters calls each with every dead letter of the organisation, oldest
// event first.
func (d *DB) DeadLetters(ctx context.Context, org Org, each func(DeadLetter) error) error {
	return d.rows(ctx, func(row scanner) error {
		var l DeadLetter
		if err := row.Scan(&l.ID, &l.SubscriptionID, &l.URL, &l.EventID, &l.EventType, &l.EventAt, &l.Attempts, &l.DiedAt,
			&l.LastStatus, &l.LastError, &l.LastAnswer); err != nil {
			return err
		}
		return each(l)
	}, `SELECT d.id, s.id, s.url, e.id, e.type, e.created_at, d.attempts, d.updated_at, a.status, a.error, a.answer
		FROM webhook_subscriptions s
		JOIN deliveries d ON d.subscription_seq = s.seq AND d.state = 'dead'
		JOIN events e ON e.seq = d.event_seq`+lastAttempt+`
		WHERE s.org_id = ? ORDER BY d.event_seq, d.subscription_seq`, org)
}

// ReplayDeadLetters puts dead letters back with a fresh set of attempts and the
// same event id: those with the ids, all or none of them, or every one of the
// organisation where no id is given. It returns how many.
func (d *DB) ReplayDeadLetters(ctx context.Context, by By, ids ...string) (int, error) {
	return d.eachDeadLetter(ctx, by, "replayed", `UPDATE deliveries
		SET state = 'pending', attempts = 0, due_at = ?2, updated_at = ?2
		WHERE (event_seq, subscription_seq) IN (`, ids)
}

// DiscardDeadLetters removes dead letters for good; ids as in
// ReplayDeadLetters.
func (d *DB) DiscardDeadLetters(ctx context.Context, by By, ids ...string) (int, error) {
	return d.eachDeadLetter(ctx, by, "discarded", `DELETE FROM deliveries WHERE (event_seq, subscription_seq) IN (`, ids)
}

const (
	deadOfOrg = `SELECT d.event_seq, d.subscription_seq FROM webhook_subscriptions s
		JOIN deliveries d ON d.subscription_seq = s.seq AND d.state = 'dead' WHERE s.org_id = ?1`
	deadOfID = deadOfOrg + " AND d.id = ?3)"
	deadAny  = deadOfOrg + " ORDER BY d.event_seq LIMIT ?3 + 0)"
)

// eachDeadLetter changes dead letters and tells the audit log: of each that was
// named, and of the number where all were meant, which takes a transaction for
// every sweepAtOnce of them.
func (d *DB) eachDeadLetter(ctx context.Context, by By, verb, change string, ids []string) (int, error) {
	if len(ids) > 0 {
		err := d.Write(ctx, by, func(tx *Tx) error { return tx.deadLetters(verb, change, ids) })
		if err != nil {
			return 0, err
		}
		return len(ids), nil
	}
	total := 0
	for {
		var n int64
		err := d.Write(ctx, by, func(tx *Tx) error {
			var err error
			n, err = tx.exec(change+deadAny, tx.Org, tx.At(), sweepAtOnce)
			if err != nil || n == 0 {
				tx.wrote = false // nothing was there, and nothing is to be told
				return err
			}
			tx.queued = true
			return tx.auditWebhook("webhook_delivery", verb, "", "", Metadata{"deliveries": n})
		})
		total += int(n)
		if err != nil || n < sweepAtOnce {
			return total, err
		}
	}
}

func (tx *Tx) deadLetters(verb, change string, ids []string) error {
	for _, id := range ids {
		n, err := tx.exec(change+deadOfID, tx.Org, tx.At(), id)
		if err != nil {
			return err
		}
		if n == 0 {
			return &Error{Code: NotFound, Param: "id", Message: fmt.Sprintf("no dead letter %s in this organisation; `govsvc deadletters list` shows them", id)}
		}
		if err := tx.auditWebhook("webhook_delivery", verb, "webhook_delivery", id, nil); err != nil {
			return err
		}
	}
	tx.queued = true
	return nil
}
