package delivery

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"govsvc/db"
)

// QueueLimit bounds the deliveries that are queued for one subscription. A further one
// makes the oldest a dead letter.
const QueueLimit = 10_000

// queueFull is the reason of a dead letter that left a full queue.
var queueFull = fmt.Sprintf("The queue of the subscription was full: %d newer deliveries were waiting.", QueueLimit)

const (
	// expandedAtOnce bounds the deliveries that are made for one organisation before
	// those of the next organisation.
	expandedAtOnce = groupSize
	// droppedAtOnce bounds the dead letters that one delivery makes. It makes more than
	// one only if the queue was longer than the limit before.
	droppedAtOnce = 100
	// formerMembersAtOnce bounds the members of former receiver sets that one
	// transaction removes.
	formerMembersAtOnce = 256
)

// HasUnexpanded reports whether an event waits for its deliveries to be made.
func HasUnexpanded(ctx context.Context, store *db.DB) (bool, error) {
	var is bool
	err := store.Engine().Frequent.Row(ctx, "SELECT EXISTS (SELECT 1 FROM fan_outs)").Scan(&is)
	return is, db.StoreError(err)
}

// expansion is the result of expanding events in one transaction.
type expansion struct {
	fresh   []int64 // subscriptions with new deliveries
	dropped int     // deliveries that left a full queue
	org     int64   // the organisation that was served last
	more    bool
}

// expand makes deliveries of unexpanded events until spent reports that the time is over.
// The events of an organisation come in their order. The organisations take turns,
// starting with the one that follows after.
func expand(tx *db.Tx, after int64, spent func() bool) (x expansion, err error) {
	x.org = after
	for {
		org, found, err := nextToExpand(tx, x.org)
		if err != nil || !found {
			return x, err
		}
		fresh, err := expandSome(tx, org)
		if err != nil {
			return x, err
		}
		x.fresh = append(x.fresh, fresh...)
		dropped, err := shortenQueues(tx, fresh)
		if err != nil {
			return x, err
		}
		x.dropped += dropped
		x.org = org
		if spent() {
			x.more = true
			return x, nil
		}
	}
}

// nextToExpand finds the organisation with unexpanded events that follows the one that
// was served last.
func nextToExpand(tx *db.Tx, last int64) (org int64, found bool, err error) {
	for _, after := range []int64{last, 0} {
		err = tx.Row("SELECT org_id FROM fan_outs WHERE org_id > ? ORDER BY org_id LIMIT 1", after).Scan(&org)
		none, err := db.Absent(err)
		if err != nil {
			return org, false, db.StoreError(err)
		}
		if !none {
			return org, true, nil
		}
	}
	return org, false, nil
}

// missing is a delivery that does not exist yet. Without a subscription it is an event
// all of whose deliveries exist.
type missing struct {
	event        int64
	subscription *int64
	at           string
}

// expandSome makes the next deliveries of an organisation, those of its oldest events
// first, and returns their subscriptions. It removes the fan-outs whose deliveries all
// exist.
func expandSome(tx *db.Tx, org int64) (fresh []int64, err error) {
	var list []missing
	err = tx.Each(func(row db.Scanner) error {
		var m missing
		err := row.Scan(&m.event, &m.subscription, &m.at)
		list = append(list, m)
		return err
	}, `SELECT f.event_seq, m.subscription_seq, e.created_at FROM fan_outs f CROSS JOIN events e ON e.seq = f.event_seq
		LEFT JOIN receiver_set_members m ON m.set_seq = f.set_seq AND m.subscription_seq > f.done
		WHERE f.org_id = ? ORDER BY f.event_seq, m.subscription_seq LIMIT ? + 0`, org, expandedAtOnce+1)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	more := int64(0) // the event whose deliveries are made in part
	if len(list) > expandedAtOnce {
		more, list = list[expandedAtOnce].event, list[:expandedAtOnce]
	}
	if fresh, err = insertDeliveries(tx, list); err != nil {
		return nil, err
	}
	last := list[len(list)-1]
	done := last.event
	if last.event == more {
		done--
		if _, err := tx.Exec("UPDATE fan_outs SET done = ?3 WHERE org_id = ?1 AND event_seq = ?2", org, last.event, *last.subscription); err != nil {
			return nil, err
		}
	}
	_, err = tx.Exec("DELETE FROM fan_outs WHERE org_id = ? AND event_seq <= ?", org, done)
	return fresh, err
}

// insertDeliveries makes deliveries and returns their subscriptions. A full group takes one
// statement.
func insertDeliveries(tx *db.Tx, list []missing) (fresh []int64, err error) {
	var args []any
	for _, m := range list {
		if m.subscription != nil {
			// An event that was enqueued while the clock was ahead is due now.
			at := min(m.at, tx.At())
			args = append(args, m.event, *m.subscription, tx.NewID(), at, at, at)
			fresh = append(fresh, *m.subscription)
		}
	}
	const columns = 6
	if len(fresh) == groupSize {
		_, err = tx.Exec(insertGroup, args...)
		return fresh, err
	}
	for row := range slices.Chunk(args, columns) {
		if _, err := tx.Exec(insertOne, row...); err != nil {
			return nil, err
		}
	}
	return fresh, nil
}

const insertOne = "INSERT INTO deliveries (event_seq, subscription_seq, id, due_at, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)"

var insertGroup = strings.Replace(insertOne, "(?, ?, ?, ?, ?, ?)", rows("(?, ?, ?, ?, ?, ?)"), 1)

// shortenQueues makes the oldest deliveries dead letters where the queue of a
// subscription is too long.
func shortenQueues(tx *db.Tx, subscriptions []int64) (dropped int, err error) {
	slices.Sort(subscriptions)
	for _, seq := range slices.Compact(subscriptions) {
		var queued int64
		if err := tx.Row("SELECT queued FROM delivery_queues WHERE subscription_seq = ?", seq).Scan(&queued); err != nil {
			return dropped, db.StoreError(err)
		}
		if queued <= QueueLimit {
			continue
		}
		moved, err := tx.Exec(`UPDATE deliveries SET state = 'dead', due_at = NULL, reason = ?3, updated_at = ?4
			WHERE subscription_seq = ?1 AND event_seq IN (SELECT event_seq FROM deliveries INDEXED BY deliveries_pending_by_event
				WHERE subscription_seq = ?1 AND state = 'pending' ORDER BY event_seq LIMIT ?2 + 0)`,
			seq, min(queued-QueueLimit, droppedAtOnce), queueFull, tx.At())
		if err != nil {
			return dropped, err
		}
		dropped += int(moved)
	}
	return dropped, nil
}

// removeFormerSets removes members of a former receiver set that no fan-out refers to,
// and the set itself after its last member. It reports whether there was one.
func removeFormerSets(tx *db.Tx) (bool, error) {
	var set int64
	err := tx.Row(`SELECT seq FROM receiver_sets s WHERE current = 0
		AND NOT EXISTS (SELECT 1 FROM fan_outs f WHERE f.set_seq = s.seq) LIMIT 1`).Scan(&set)
	if none, err := db.Absent(err); none || err != nil {
		return false, db.StoreError(err)
	}
	n, err := tx.Exec(`DELETE FROM receiver_set_members WHERE set_seq = ?1 AND subscription_seq IN
		(SELECT subscription_seq FROM receiver_set_members WHERE set_seq = ?1 ORDER BY subscription_seq LIMIT ?2 + 0)`, set, formerMembersAtOnce)
	if err == nil && n < formerMembersAtOnce {
		_, err = tx.Exec("DELETE FROM receiver_sets WHERE seq = ?", set)
	}
	return true, err
}
