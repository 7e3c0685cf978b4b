// Package delivery holds the deliveries of events to webhook receivers: the rounds of
// the delivery loop, the log of attempts, and dead letters. Package db writes the
// events into the outbox; see db.Tx.Enqueue.
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

	subscription string    // its id
	claimed      time.Time // by the clock of the machine
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

// Round is one transaction of the delivery loop. It stores the results of attempts, makes
// the deliveries of unexpanded events and claims due deliveries, in this order.
type Round struct {
	Settled []Settlement
	// Expand asks for the deliveries of unexpanded events.
	Expand bool
	// LastOrg is RoundResult.LastOrg of the round before, 0 in the first one. The
	// next organisation is served first.
	LastOrg int64
	// Claims chooses what to claim. Its argument is the subscriptions with deliveries that
	// this round made. It may be called more than once. Nil claims nothing.
	Claims func(fresh []int64) []Claim
	// Lease is the duration of a claim.
	Lease time.Duration
}

// RoundResult is the result of a round. A round ends early if other writers wait. Each of
// its three parts does some work in any case.
type RoundResult struct {
	Settled int        // how many settlements were stored, starting with the first
	Claims  []Claim    // those that were carried out
	Claimed []Delivery // in the order of their events within a subscription
	Dropped int        // deliveries that left a full queue as dead letters
	// More reports that the round ended before its work was done.
	More bool
	// Contended reports that a caller waited for the writer.
	Contended bool
	// Unexpanded reports that events still wait for their deliveries.
	Unexpanded bool
	// LastOrg is the organisation whose events were expanded last.
	LastOrg int64
}

// roundShare bounds one part of a round by the time since the round began. The part ends
// after max in any case, and after min if a caller waits for the writer.
type roundShare struct{ min, max time.Duration }

var (
	settleShare = roundShare{500 * time.Microsecond, 3 * time.Millisecond}
	expandShare = roundShare{1000 * time.Microsecond, 6 * time.Millisecond}
	claimShare  = roundShare{1500 * time.Microsecond, 8 * time.Millisecond}
)

// RunRound runs a transaction of the delivery loop. No other process can claim a claimed
// delivery before its lease ends. It claims the deliveries of a subscription in the order
// in which they were due.
func RunRound(ctx context.Context, store *db.DB, r Round) (RoundResult, error) {
	var result RoundResult
	err := store.Maintain(ctx, func(tx *db.Tx) error {
		result = RoundResult{LastOrg: r.LastOrg}
		began := time.Now() // by the clock of the machine, not of the store
		spent := func(of roundShare) func() bool {
			return func() bool {
				passed := time.Since(began)
				if passed < of.min {
					return false
				}
				waits := tx.Contended()
				result.Contended = result.Contended || waits
				return waits || passed >= of.max
			}
		}
		if err := settleSome(tx, r.Settled, &result, spent(settleShare)); err != nil {
			return err
		}
		var fresh []int64
		if r.Expand {
			x, err := expand(tx, r.LastOrg, spent(expandShare))
			if err != nil {
				return err
			}
			fresh, result.Dropped, result.Unexpanded, result.LastOrg = x.fresh, x.dropped, x.more, x.org
			result.More = result.More || x.more
			if _, err := removeFormerSets(tx); err != nil {
				return err
			}
		}
		if r.Claims == nil {
			return nil
		}
		return claimSome(tx, r.Claims(fresh), tx.Now().Add(r.Lease), &result, spent(claimShare))
	})
	return result, err
}

func settleSome(tx *db.Tx, settled []Settlement, result *RoundResult, spent func() bool) error {
	for group := range slices.Chunk(settled, groupSize) {
		if err := settleGroup(tx, group); err != nil {
			return err
		}
		if result.Settled += len(group); spent() {
			break
		}
	}
	result.More = result.Settled < len(settled)
	return nil
}

// groupSize is how many rows one statement writes, if there are as many. It takes less time
// for a row than a statement of one row.
const groupSize = 16

// settleGroup settles deliveries. With one statement it settles a full group of those that
// were acknowledged at the first attempt of the first claim, which are most of them.
func settleGroup(tx *db.Tx, group []Settlement) error {
	if len(group) == groupSize && !slices.ContainsFunc(group, func(s Settlement) bool { return s.State != Delivered || !s.Counts || s.Lease != 1 || s.Attempt == nil }) {
		keys := []any{tx.At()}
		for _, s := range group {
			keys = append(keys, s.Event, s.Subscription)
		}
		moved, err := tx.Exec(settleFirst, keys...)
		if err != nil {
			return err
		}
		if moved == groupSize {
			return logFirstAttempts(tx, group)
		}
		// Those that this statement settled are logged below.
	}
	for _, s := range group {
		if err := settle(tx, s); err != nil {
			return err
		}
	}
	return nil
}

var settleFirst = `UPDATE deliveries SET state = 'delivered', due_at = NULL, attempts = attempts + 1, updated_at = ?, reason = NULL
	WHERE state = 'pending' AND lease = 1 AND (event_seq, subscription_seq) IN (VALUES ` + rows("(?, ?)") + ")"

// rows returns the values of a group of rows.
func rows(one string) string { return strings.Repeat(one+", ", groupSize-1) + one }

// logFirstAttempts logs the attempts of deliveries that have no earlier ones.
func logFirstAttempts(tx *db.Tx, group []Settlement) error {
	args := make([]any, 0, 6*groupSize)
	for _, s := range group {
		a := s.Attempt
		args = append(args, s.Event, s.Subscription, db.Timestamp(a.At), a.Duration.Milliseconds(), a.Status, printable(a.Answer))
	}
	_, err := tx.Exec(insertFirstAttempts, args...)
	return err
}

var insertFirstAttempts = `INSERT INTO delivery_attempts (event_seq, subscription_seq, number, at, duration_ms, status, answer)
	VALUES ` + rows("(?, ?, 1, ?, ?, ?, ?)")

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

func claimSome(tx *db.Tx, claims []Claim, until time.Time, result *RoundResult, spent func() bool) error {
	for i, c := range claims {
		claimed, err := claim(tx, c, until)
		if err != nil {
			return err
		}
		result.Claims, result.Claimed = claims[:i+1], append(result.Claimed, claimed...)
		if spent() {
			break
		}
	}
	result.More = result.More || len(result.Claims) < len(claims)
	return nil
}

// claim claims the next due deliveries of a subscription. It reads and then updates
// them: with RETURNING, SQLite creates a table and a journal for each statement.
func claim(tx *db.Tx, c Claim, until time.Time) ([]Delivery, error) {
	var id, due string
	err := tx.Row("SELECT id FROM webhook_subscriptions WHERE seq = ? AND active = 1", c.Subscription).Scan(&id)
	if none, err := db.Absent(err); none || err != nil {
		return nil, db.StoreError(err)
	}
	var claimed []Delivery
	now := time.Now()
	err = tx.Each(func(row db.Scanner) error {
		d := Delivery{ClaimKey: ClaimKey{Subscription: c.Subscription}, Until: until, subscription: id, claimed: now}
		err := row.Scan(&d.Event, &d.Lease, &d.ID, &d.Attempts, &due, &d.Message.ID, &d.Message.Type, &d.Message.Body)
		claimed = append(claimed, d)
		return err
	}, `SELECT d.event_seq, d.lease + 1, d.id, d.attempts, d.due_at, e.id, e.type, e.body
		FROM deliveries d CROSS JOIN events e ON e.seq = d.event_seq
		WHERE d.subscription_seq = ?1 AND d.state = 'pending' AND d.due_at <= ?2
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

// SettleAndClaim ends claims and makes new ones, in as many rounds as are needed.
func SettleAndClaim(ctx context.Context, store *db.DB, settled []Settlement, claims []Claim, lease time.Duration) ([]Delivery, error) {
	var claimed []Delivery
	for {
		result, err := RunRound(ctx, store, Round{Settled: settled, Claims: func([]int64) []Claim { return claims }, Lease: lease})
		if err != nil {
			return claimed, err
		}
		claimed = append(claimed, result.Claimed...)
		settled, claims = settled[result.Settled:], claims[len(result.Claims):]
		if len(settled)+len(claims) == 0 {
			return claimed, nil
		}
	}
}

// RequeueAfterClockChange makes deliveries due now that were postponed or claimed while
// the clock was ahead. Otherwise they would wait until the clock shows that time again,
// which may take years. It returns their number. It does not change what was claimed
// since.
func RequeueAfterClockChange(ctx context.Context, store *db.DB) (n int64, err error) {
	const postponed = ` FROM deliveries WHERE state = 'pending' AND subscription_seq IN (SELECT seq FROM webhook_subscriptions)
		AND due_at > ?1 AND updated_at > ?1 AND due_at >= updated_at`
	now := db.Timestamp(store.Now())
	if err := store.Row(ctx, "SELECT EXISTS (SELECT 1"+postponed+")", now).Scan(&n); err != nil || n == 0 {
		return 0, db.StoreError(err)
	}
	err = store.Maintain(ctx, func(tx *db.Tx) error {
		tx.WakeDeliveries()
		n, err = tx.Exec("UPDATE deliveries SET due_at = ?1, updated_at = ?1 WHERE (event_seq, subscription_seq) IN (SELECT event_seq, subscription_seq"+postponed+")", tx.At())
		return err
	})
	return n, err
}
