package db

import (
	"context"
	"time"
)

// QueueStats says how deliveries stand, of all organisations.
type QueueStats struct {
	Due    int64         // to be claimed now
	Later  int64         // under way, or waiting for their next attempt
	Paused int64         // waiting for their subscription to be resumed
	Dead   int64         // dead letters
	Oldest time.Duration // for how long the oldest of those due has been
}

// QueueStats counts the deliveries, those of unexpanded events included. It
// reads an entry of an index for each that is pending or dead.
func (d *DB) QueueStats(ctx context.Context) (QueueStats, error) {
	now := d.Now()
	q, oldest, err := d.queueAt(ctx, now)
	if err != nil || oldest == nil {
		return q, err
	}
	at, err := ParseTimestamp(*oldest)
	q.Oldest = max(0, now.Sub(at))
	return q, err
}

// queueAt is QueueStats without Oldest, and when the first delivery of an
// active subscription is due; nil if none waits.
func (d *DB) queueAt(ctx context.Context, now time.Time) (q QueueStats, first *string, err error) {
	err = d.Row(ctx, `SELECT
			coalesce(sum(s.active = 1 AND d.due_at <= ?1), 0), coalesce(sum(s.active = 1 AND d.due_at > ?1), 0), coalesce(sum(s.active = 0), 0),
			(SELECT count(*) FROM deliveries WHERE state = 'dead'), min(d.due_at) FILTER (WHERE s.active = 1)
		FROM webhook_subscriptions s JOIN (SELECT subscription_seq, due_at FROM deliveries WHERE state = 'pending'
			UNION ALL SELECT subscription_seq, min(created_at, ?1) FROM unexpanded_deliveries) d ON d.subscription_seq = s.seq`,
		Timestamp(now)).Scan(&q.Due, &q.Later, &q.Paused, &q.Dead, &first)
	return q, first, storeError(err)
}
