package delivery

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"govsvc/db"
)

// ClaimKey names a delivery and the claim of the process that sends it.
type ClaimKey struct {
	Event, Subscription int64
	Lease               int64
}

// Delivery is a claimed delivery. Only the process that claimed it sends it until the
// lease ends.
type Delivery struct {
	ClaimKey
	ID       string
	Attempts int // that were made, since the start or the last replay
	Message  db.Message
	Until    time.Time // when the lease ends
}

// Attempt is the result of sending a delivery once (contract, "Events").
type Attempt struct {
	At         time.Time
	Duration   time.Duration
	Status     int           // of the response; 0 without a response
	Error      string        // why there is no response
	Answer     []byte        // the first bytes of the response
	Blocked    bool          // deliveries may not go to the address of the receiver
	RetryAfter time.Duration // as the receiver asked
}

// Delivered reports whether the receiver acknowledged the delivery.
func (a Attempt) Delivered() bool { return a.Status >= 200 && a.Status < 300 }

// State is the state of a delivery.
type State string

// The states of deliveries.
const (
	Pending   State = "pending"
	Delivered State = "delivered"
	Dead      State = "dead"
)

// Settlement ends a claim.
type Settlement struct {
	ClaimKey
	Attempt *Attempt // for the log; nil if none was made
	State   State
	Counts  bool      // the attempt counts towards the schedule
	DueAt   time.Time // of a pending delivery
}

// Claim asks for due deliveries of a subscription.
type Claim struct {
	Subscription int64
	Limit        int
}

// DueSubscriptions lists the active subscriptions with due deliveries. It also returns
// when the next delivery of the other subscriptions is due; zero if there is none. It
// reads one entry of an index for each subscription with a queue. It does not count the
// deliveries of unexpanded events; see HasUnexpanded.
func DueSubscriptions(ctx context.Context, store *db.DB) (due []int64, next time.Time, err error) {
	now, first := db.Timestamp(store.Now()), ""
	err = store.Each(ctx, func(row db.Scanner) error {
		var seq int64
		var at *string
		if err := row.Scan(&seq, &at); err != nil || at == nil {
			return err
		}
		switch {
		case *at <= now:
			due = append(due, seq)
		case first == "" || *at < first:
			first = *at
		}
		return nil
	}, `SELECT q.subscription_seq, (SELECT min(due_at) FROM deliveries d WHERE d.subscription_seq = q.subscription_seq AND d.state = 'pending')
		FROM delivery_queues q CROSS JOIN webhook_subscriptions s ON s.seq = q.subscription_seq WHERE q.queued > 0 AND s.active = 1`)
	if err == nil && first != "" {
		next, err = db.ParseTimestamp(first)
	}
	return due, next, err
}

// settle sets the state of a delivery and logs its attempt. The result of an attempt
// whose lease has ended counts only if the receiver acknowledged the delivery; it is
// logged in any case. A delivery whose subscription was deleted no longer exists, which
// is not an error. A delivery that left a full queue while it was sent becomes delivered
// if the receiver acknowledged it.
func settle(tx *db.Tx, s Settlement) error {
	var due any
	if s.State == Pending {
		due = db.Timestamp(s.DueAt)
	}
	moved, err := tx.Exec(`UPDATE deliveries SET state = ?4, due_at = ?5, attempts = attempts + ?6, updated_at = ?7, reason = NULL
		WHERE event_seq = ?1 AND subscription_seq = ?2 AND (state = 'pending' AND (lease = ?3 OR ?4 = 'delivered')
			OR state = 'dead' AND reason IS NOT NULL AND lease = ?3 AND ?4 = 'delivered')`,
		s.Event, s.Subscription, s.Lease, string(s.State), due, s.Counts, tx.At())
	if err != nil || s.Attempt == nil {
		return err
	}
	if moved == 0 {
		var exists bool
		err := tx.Row("SELECT EXISTS (SELECT 1 FROM deliveries WHERE event_seq = ? AND subscription_seq = ?)", s.Event, s.Subscription).Scan(&exists)
		if err != nil || !exists {
			return db.StoreError(err)
		}
	}
	return logAttempt(tx, s)
}

func logAttempt(tx *db.Tx, s Settlement) error {
	a := s.Attempt
	var status, failure, answer any
	if a.Status > 0 {
		status, answer = a.Status, printable(a.Answer)
	}
	if a.Error != "" {
		failure = printable([]byte(a.Error))
	}
	_, err := tx.Exec(`INSERT INTO delivery_attempts (event_seq, subscription_seq, number, at, duration_ms, status, error, answer)
		VALUES (?1, ?2, 1 + coalesce((SELECT max(number) FROM delivery_attempts WHERE event_seq = ?1 AND subscription_seq = ?2), 0), ?3, ?4, ?5, ?6, ?7)`,
		s.Event, s.Subscription, db.Timestamp(a.At), a.Duration.Milliseconds(), status, failure, answer)
	return err
}

// printable returns a response as text.
func printable(answer []byte) string {
	return strings.ToValidUTF8(string(bytes.ReplaceAll(answer, []byte{0}, []byte("\ufffd"))), "\ufffd")
}

// claim claims the next due deliveries of a subscription. It reads and then updates
// them: with RETURNING, SQLite creates a table and a journal for each statement.
func claim(tx *db.Tx, c Claim, until time.Time) ([]Delivery, error) {
	var claimed []Delivery
	var due string
	err := tx.Each(func(row db.Scanner) error {
		d := Delivery{ClaimKey: ClaimKey{Subscription: c.Subscription}, Until: until}
		err := row.Scan(&d.Event, &d.Lease, &d.ID, &d.Attempts, &due, &d.Message.ID, &d.Message.Type, &d.Message.Body)
		claimed = append(claimed, d)
		return err
	}, `SELECT d.event_seq, d.lease + 1, d.id, d.attempts, d.due_at, e.id, e.type, e.body
		FROM deliveries d CROSS JOIN events e ON e.seq = d.event_seq
		WHERE d.subscription_seq = ?1 AND d.state = 'pending' AND d.due_at <= ?2
			AND EXISTS (SELECT 1 FROM webhook_subscriptions s WHERE s.seq = ?1 AND s.active = 1)
		ORDER BY d.due_at, d.event_seq LIMIT ?3 + 0`, c.Subscription, tx.At(), c.Limit)
	if err != nil || len(claimed) == 0 {
		return nil, err
	}
	last := claimed[len(claimed)-1].Event
	// RequeueAfterClockChange reads from updated_at whether the clock was ahead when the
	// delivery was claimed.
	_, err = tx.Exec(`UPDATE deliveries SET due_at = ?4, lease = lease + 1, updated_at = ?5
		WHERE subscription_seq = ?1 AND state = 'pending' AND (due_at, event_seq) <= (?2, ?3)`,
		c.Subscription, due, last, db.Timestamp(until), tx.At())
	slices.SortFunc(claimed, func(a, b Delivery) int { return int(a.Event - b.Event) })
	return claimed, err
}

// RequeueAfterClockChange makes deliveries due now that were postponed or claimed while
// the clock was ahead. Otherwise they would wait until the clock shows that time again,
// which may take years. It returns their number. It does not change what was claimed
// since.
func RequeueAfterClockChange(ctx context.Context, store *db.DB) (n int64, err error) {
	const ahead = ` FROM deliveries WHERE state = 'pending' AND subscription_seq IN (SELECT seq FROM webhook_subscriptions)
		AND due_at > ?1 AND updated_at > ?1 AND due_at >= updated_at`
	now := db.Timestamp(store.Now())
	if err := store.Row(ctx, "SELECT EXISTS (SELECT 1"+ahead+")", now).Scan(&n); err != nil || n == 0 {
		return 0, db.StoreError(err)
	}
	err = store.Maintain(ctx, func(tx *db.Tx) error {
		tx.WakeDeliveries()
		n, err = tx.Exec("UPDATE deliveries SET due_at = ?1, updated_at = ?1 WHERE (event_seq, subscription_seq) IN (SELECT event_seq, subscription_seq"+ahead+")", tx.At())
		return err
	})
	return n, err
}

// LogRetention is how long the log of a delivered event is kept (contract, "Events").
const LogRetention = 30 * 24 * time.Hour

// sweptEvents bounds how many events one transaction of a sweep reads. Each event has as
// many deliveries as there are subscriptions.
const sweptEvents = 100

// Sweep removes deliveries that arrived longer ago than keep, with their log, and events
// without deliveries. It keeps dead letters.
func Sweep(ctx context.Context, store *db.DB, keep time.Duration) error {
	after := int64(0)
	for {
		last := int64(0)
		err := store.Maintain(ctx, func(tx *db.Tx) error {
			old := db.Timestamp(tx.Now().Add(-keep))
			// The next few old events. Younger events come after them and are not read.
			err := tx.Row(`SELECT coalesce(max(seq), 0) FROM (SELECT seq, created_at FROM events WHERE seq > ? ORDER BY seq LIMIT ? + 0) WHERE created_at < ?`,
				after, sweptEvents, old).Scan(&last)
			if err != nil || last == 0 {
				return db.StoreError(err)
			}
			if _, err := tx.Exec(`DELETE FROM deliveries WHERE event_seq > ? AND event_seq <= ? AND state = 'delivered' AND updated_at < ?`,
				after, last, old); err != nil {
				return err
			}
			_, err = tx.Exec(`DELETE FROM events WHERE seq > ? AND seq <= ? AND created_at < ?
				AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event_seq = events.seq)
				AND NOT EXISTS (SELECT 1 FROM fan_outs f WHERE f.event_seq = events.seq)`, after, last, old)
			return err
		})
		if err != nil || last == 0 {
			return err
		}
		after = last
	}
}
