package db

import (
	"context"
	"fmt"
)

// QueueLimit bounds the deliveries that are queued for one subscription. A
// further one makes a dead letter of the oldest.
const QueueLimit = 10_000

// queueFull is the reason of a dead letter that left a full queue.
var queueFull = fmt.Sprintf("The queue of the subscription was full: %d newer deliveries were waiting.", QueueLimit)

const (
	// expandedAtOnce bounds the deliveries that an organisation's oldest event
	// gets before the next organisation has its turn.
	expandedAtOnce = 16
	// droppedAtOnce bounds the dead letters that one delivery makes. There is
	// more than one only if the queue was longer than the limit before.
	droppedAtOnce = 100
	// formerMembersAtOnce bounds the members of former receiver sets that one
	// transaction removes.
	formerMembersAtOnce = 256
)

// HasUnexpanded reports whether an event waits for its deliveries to be made.
func (d *DB) HasUnexpanded(ctx context.Context) (bool, error) {
	var is bool
	err := d.fast.row(ctx, "SELECT EXISTS (SELECT 1 FROM fan_outs)").Scan(&is)
	return is, storeError(err)
}

// fanOut is the oldest unexpanded event of an organisation.
type fanOut struct {
	org, event, set, done int64
	at                    string
}

// expansion is what one transaction did about unexpanded events.
type expansion struct {
	fresh   []int64 // subscriptions that were given deliveries
	dropped int     // deliveries that left a full queue
	more    bool
}

// expand makes deliveries of unexpanded events, in the order of the events of an
// organisation and with the organisations in turn, until spent reports that the
// time is over.
func (tx *Tx) expand(spent func() bool) (x expansion, err error) {
	for {
		f, found, err := tx.nextFanOut()
		if err != nil || !found {
			return x, err
		}
		fresh, dropped, err := tx.expandSome(f)
		if err != nil {
			return x, err
		}
		x.fresh = append(x.fresh, fresh...)
		x.dropped += dropped
		tx.db.expandedOrg = f.org
		if spent() {
			x.more = true
			return x, nil
		}
	}
}

// nextFanOut finds the oldest unexpanded event of the organisation after the one
// that was served last.
func (tx *Tx) nextFanOut() (f fanOut, found bool, err error) {
	for _, after := range []int64{tx.db.expandedOrg, 0} {
		err = tx.row(`SELECT f.org_id, f.event_seq, f.set_seq, f.done, e.created_at FROM fan_outs f CROSS JOIN events e ON e.seq = f.event_seq
			WHERE f.org_id > ? ORDER BY f.org_id, f.event_seq LIMIT 1`, after).Scan(&f.org, &f.event, &f.set, &f.done, &f.at)
		none, err := absent(err)
		if err != nil {
			return f, false, storeError(err)
		}
		if !none {
			return f, true, nil
		}
	}
	return f, false, nil
}

// expandSome makes the next deliveries of an event. It ends the fan-out when all
// of them exist.
func (tx *Tx) expandSome(f fanOut) (fresh []int64, dropped int, err error) {
	err = tx.rows(func(row scanner) error {
		var seq int64
		err := row.Scan(&seq)
		fresh = append(fresh, seq)
		return err
	}, "SELECT subscription_seq FROM receiver_set_members WHERE set_seq = ? AND subscription_seq > ? ORDER BY subscription_seq LIMIT ? + 0",
		f.set, f.done, expandedAtOnce)
	if err != nil {
		return nil, 0, err
	}
	// An event from a time when the clock was ahead is due now.
	at := min(f.at, tx.At())
	for _, seq := range fresh {
		if _, err := tx.exec(`INSERT INTO deliveries (event_seq, subscription_seq, id, due_at, created_at, updated_at)
			VALUES (?1, ?2, ?3, ?4, ?4, ?4)`, f.event, seq, tx.newID(), at); err != nil {
			return nil, 0, err
		}
	}
	if len(fresh) > 0 {
		if dropped, err = tx.shortenQueues(fresh[0], fresh[len(fresh)-1]); err != nil {
			return nil, 0, err
		}
	}
	if len(fresh) < expandedAtOnce {
		_, err = tx.exec("DELETE FROM fan_outs WHERE org_id = ? AND event_seq = ?", f.org, f.event)
	} else {
		_, err = tx.exec("UPDATE fan_outs SET done = ?3 WHERE org_id = ?1 AND event_seq = ?2", f.org, f.event, fresh[len(fresh)-1])
	}
	return fresh, dropped, err
}

// shortenQueues makes dead letters of the oldest deliveries of the queues that
// are too long, of a range of subscriptions.
func (tx *Tx) shortenQueues(first, last int64) (dropped int, err error) {
	excess := map[int64]int64{}
	err = tx.rows(func(row scanner) error {
		var seq, queued int64
		err := row.Scan(&seq, &queued)
		excess[seq] = queued - QueueLimit
		return err
	}, "SELECT subscription_seq, queued FROM delivery_queues WHERE subscription_seq BETWEEN ? AND ? AND queued > ? + 0", first, last, QueueLimit)
	if err != nil {
		return 0, err
	}
	for seq, n := range excess {
		moved, err := tx.exec(`UPDATE deliveries SET state = 'dead', due_at = NULL, reason = ?3, updated_at = ?4
			WHERE subscription_seq = ?1 AND event_seq IN (SELECT event_seq FROM deliveries INDEXED BY deliveries_pending_by_event
				WHERE subscription_seq = ?1 AND state = 'pending' ORDER BY event_seq LIMIT ?2 + 0)`,
			seq, min(n, droppedAtOnce), queueFull, tx.At())
		if err != nil {
			return dropped, err
		}
		dropped += int(moved)
	}
	return dropped, nil
}

// removeFormerSets removes members of a former receiver set to which no fan-out
// refers, and the set itself after its last member. It reports whether there
// was one.
func (tx *Tx) removeFormerSets() (bool, error) {
	var set int64
	err := tx.row(`SELECT seq FROM receiver_sets s WHERE current = 0
		AND NOT EXISTS (SELECT 1 FROM fan_outs f WHERE f.set_seq = s.seq) LIMIT 1`).Scan(&set)
	if none, err := absent(err); none || err != nil {
		return false, storeError(err)
	}
	n, err := tx.exec(`DELETE FROM receiver_set_members WHERE set_seq = ?1 AND subscription_seq IN
		(SELECT subscription_seq FROM receiver_set_members WHERE set_seq = ?1 ORDER BY subscription_seq LIMIT ?2 + 0)`, set, formerMembersAtOnce)
	if err == nil && n < formerMembersAtOnce {
		_, err = tx.exec("DELETE FROM receiver_sets WHERE seq = ?", set)
	}
	return true, err
}
