package db

import (
	"context"
	"time"
)

// Stuck counts the deliveries to active subscriptions that nobody has claimed
// although they fell due before an instant, and tells when the oldest of them
// did.
func (d *DB) Stuck(ctx context.Context, before time.Time) (deliveries int, oldest string, err error) {
	err = d.Row(ctx, `SELECT count(*), coalesce(min(d.due_at), '') FROM webhook_subscriptions s
		JOIN (SELECT subscription_seq, due_at FROM deliveries WHERE state = 'pending' AND due_at < ?1
			UNION ALL SELECT subscription_seq, created_at FROM unexpanded_deliveries WHERE created_at < ?1) d
			ON d.subscription_seq = s.seq WHERE s.active = 1`,
		Timestamp(before)).Scan(&deliveries, &oldest)
	return deliveries, oldest, storeError(err)
}
