package delivery

import (
	"context"
	"time"

	"govsvc/db"
)

// Health counts the deliveries of a subscription in the last 24 hours, at most the newest
// RecentLimit.
type Health struct {
	Delivered int
	Dead      int
	Pending   int  // that wait for an attempt
	Retrying  int  // pending ones with a failed attempt
	More      bool // there are more than RecentLimit
	// OldestPending is when the event of the oldest pending delivery was enqueued; nil if
	// none is pending.
	OldestPending *string
	// LastSuccess is when the last delivery arrived, of the newest RecentLimit, or the last
	// test.
	LastSuccess *string
}

// RecentLimit bounds how many deliveries the health of a subscription counts.
const RecentLimit = 10_000

// ReadHealth reads the health of a subscription of the organisation.
func ReadHealth(ctx context.Context, store *db.DB, org db.Org, subscription string) (Health, error) {
	var h Health
	var seq int64
	err := store.Row(ctx, "SELECT seq FROM webhook_subscriptions WHERE org_id = ? AND id = ?", org, subscription).Scan(&seq)
	if none, err := db.Absent(err); none {
		return h, errNoSubscription
	} else if err != nil {
		return h, db.StoreError(err)
	}
	since, recent := db.Timestamp(store.Now().Add(-24*time.Hour)), 0
	err = store.Row(ctx, `SELECT count(*) FILTER (WHERE created_at >= ?2), count(*) FILTER (WHERE created_at >= ?2 AND state = 'delivered'),
			count(*) FILTER (WHERE created_at >= ?2 AND state = 'dead'), count(*) FILTER (WHERE created_at >= ?2 AND state = 'pending'),
			count(*) FILTER (WHERE created_at >= ?2 AND state = 'pending' AND attempts > 0), max(updated_at) FILTER (WHERE state = 'delivered')
		FROM (SELECT created_at, updated_at, state, attempts FROM deliveries WHERE subscription_seq = ?1 ORDER BY event_seq DESC LIMIT ?3)`,
		seq, since, RecentLimit).Scan(&recent, &h.Delivered, &h.Dead, &h.Pending, &h.Retrying, &h.LastSuccess)
	if err != nil {
		return h, db.StoreError(err)
	}
	if err := h.addTest(ctx, store, org, subscription); err != nil {
		return h, err
	}
	var waiting int
	var unexpanded *string
	err = store.Row(ctx, `SELECT count(*) FILTER (WHERE created_at >= ?2), min(created_at) FROM
		(SELECT created_at FROM unexpanded_deliveries WHERE subscription_seq = ?1 LIMIT ?3 + 0)`, seq, since, RecentLimit).Scan(&waiting, &unexpanded)
	if err != nil {
		return h, db.StoreError(err)
	}
	h.Pending += waiting
	h.More = recent+waiting >= RecentLimit
	err = store.Row(ctx, `SELECT created_at FROM events WHERE seq = (SELECT min(event_seq) FROM deliveries INDEXED BY deliveries_pending_by_event
		WHERE subscription_seq = ? AND state = 'pending')`, seq).Scan(&h.OldestPending)
	_, err = db.Absent(err)
	if h.OldestPending == nil || unexpanded != nil && *unexpanded < *h.OldestPending {
		h.OldestPending = unexpanded
	}
	return h, db.StoreError(err)
}

// testLimit bounds the events of a subscription that are searched for a test.
const testLimit = 1000

// addTest sets LastSuccess to the last test that arrived, if it is later. Tests are not in
// the log of deliveries, but in the audit log.
func (h *Health) addTest(ctx context.Context, store *db.DB, org db.Org, subscription string) error {
	var at *string
	err := store.Row(ctx, `SELECT max(time) FROM (
			SELECT time, event FROM audit_events INDEXED BY audit_events_by_resource WHERE resource_id = ? AND org_id = ? ORDER BY seq DESC LIMIT ?)
		WHERE event ->> '$.metadata.outcome' = 'delivered'`, subscription, org, testLimit).Scan(&at)
	if err == nil && at != nil && (h.LastSuccess == nil || *at > *h.LastSuccess) {
		h.LastSuccess = at
	}
	return db.StoreError(err)
}

// Stats counts the deliveries of all organisations.
type Stats struct {
	Due    int64 // that can be claimed now
	Later  int64 // in flight, or waiting for their next attempt
	Paused int64 // until their subscription is resumed
	Dead   int64 // dead letters
	// OldestDue is when the first delivery of an active subscription is due; nil if
	// none waits. Oldest is how long ago that is; 0 if it is not due yet.
	OldestDue *string
	Oldest    time.Duration
}

// ReadStats counts the deliveries, with those of unexpanded events. It reads an entry of
// an index for each pending or dead delivery.
func ReadStats(ctx context.Context, store *db.DB) (Stats, error) {
	now := store.Now()
	var s Stats
	err := store.Row(ctx, `SELECT
			coalesce(sum(s.active = 1 AND d.due_at <= ?1), 0), coalesce(sum(s.active = 1 AND d.due_at > ?1), 0), coalesce(sum(s.active = 0), 0),
			(SELECT count(*) FROM deliveries WHERE state = 'dead'), min(d.due_at) FILTER (WHERE s.active = 1)
		FROM webhook_subscriptions s JOIN (SELECT subscription_seq, due_at FROM deliveries WHERE state = 'pending'
			UNION ALL SELECT subscription_seq, min(created_at, ?1) FROM unexpanded_deliveries) d ON d.subscription_seq = s.seq`,
		db.Timestamp(now)).Scan(&s.Due, &s.Later, &s.Paused, &s.Dead, &s.OldestDue)
	if err != nil || s.OldestDue == nil {
		return s, db.StoreError(err)
	}
	due, err := db.ParseTimestamp(*s.OldestDue)
	s.Oldest = max(0, now.Sub(due))
	return s, err
}

// Stuck counts the deliveries to active subscriptions that were due before an instant and
// that no process has claimed. It also returns when the oldest of them was due.
func Stuck(ctx context.Context, store *db.DB, before time.Time) (deliveries int, oldest string, err error) {
	err = store.Row(ctx, `SELECT count(*), coalesce(min(d.due_at), '') FROM webhook_subscriptions s
		JOIN (SELECT subscription_seq, due_at FROM deliveries WHERE state = 'pending' AND due_at < ?1
			UNION ALL SELECT subscription_seq, created_at FROM unexpanded_deliveries WHERE created_at < ?1) d
			ON d.subscription_seq = s.seq WHERE s.active = 1`,
		db.Timestamp(before)).Scan(&deliveries, &oldest)
	return deliveries, oldest, db.StoreError(err)
}
