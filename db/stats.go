package db

import (
	"context"
	"time"
)

// Tally counts values by the least of the bounds that each is not above; the
// last count is of those above all bounds. It is not changed once it was
// handed out.
type Tally struct {
	Bounds []float64
	Counts []uint64
	Sum    float64
}

func (t *Tally) add(value float64) {
	i := 0
	for i < len(t.Bounds) && value > t.Bounds[i] {
		i++
	}
	t.Counts[i]++
	t.Sum += value
}

func (t *Tally) copied() Tally {
	return Tally{t.Bounds, append([]uint64(nil), t.Counts...), t.Sum}
}

// WriteStats says what went through the write door since the file was opened.
type WriteStats struct {
	Changes Tally // of each transaction that was committed: how many shared it
	Seconds Tally // and how long it took, the sync of the disk included
	Failed  uint64
}

// writerStats is guarded by the door's mutex.
type writerStats struct {
	changes, seconds Tally
	failed           uint64
}

func newWriterStats() writerStats {
	tally := func(bounds ...float64) Tally { return Tally{Bounds: bounds, Counts: make([]uint64, len(bounds)+1)} }
	return writerStats{
		changes: tally(1, 2, 4, 8, 16, 32, 64, 128, shared),
		seconds: tally(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
	}
}

// note counts a transaction that has ended; one that had nothing to commit
// counts as none.
func (w *writer) note(changes int, took time.Duration, committed bool, err error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	switch {
	case committed:
		w.stats.changes.add(float64(changes))
		w.stats.seconds.add(took.Seconds())
	case err != nil:
		w.stats.failed++
	}
}

// WriteStats tells what went through the write door so far.
func (d *DB) WriteStats() WriteStats {
	d.writer.mutex.Lock()
	defer d.writer.mutex.Unlock()
	return WriteStats{d.writer.stats.changes.copied(), d.writer.stats.seconds.copied(), d.writer.stats.failed}
}

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
