package webhook

import (
	"context"
	"log/slog"

	"govsvc/db"
)

// start begins the attempts that the queue has places for.
func (d *Deliverer) start(ctx context.Context) {
	list, gaveBack := d.queue.start(d.Store.Now())
	for _, s := range list {
		d.attempts.Go(func() { d.carry(ctx, s) })
	}
	if gaveBack {
		d.tell()
	}
}

// carry makes an attempt and goes on with the next that its end made place for:
// a goroutine that is new would have to make room for its calls first.
func (d *Deliverer) carry(ctx context.Context, s started) {
	for {
		wanting := d.queue.finish(s, d.attempt(ctx, s.delivery))
		list, gaveBack := d.queue.start(d.Store.Now())
		if wanting || gaveBack {
			d.tell()
		}
		if len(list) == 0 {
			return
		}
		s = list[0]
		for _, other := range list[1:] {
			d.attempts.Go(func() { d.carry(ctx, other) })
		}
	}
}

// tell wakes the loop.
func (d *Deliverer) tell() {
	select {
	case d.finished <- struct{}{}:
	default:
	}
}

// attempt sends one delivery to where its subscription leads now; nil is one
// that is gone, or another process's by now. A paused receiver gets nothing:
// what was claimed waits.
func (d *Deliverer) attempt(ctx context.Context, delivery db.Delivery) *db.Settlement {
	to, err := d.Store.ReceiverOf(ctx, delivery.DeliveryKey)
	switch {
	case db.Is(err, db.NotFound):
		return nil
	case err != nil:
		d.Logger.Warn("webhooks: receiver not read", "delivery_id", delivery.ID, "error", err)
		return &db.Settlement{DeliveryKey: delivery.DeliveryKey, State: db.Pending, DueAt: d.Store.Now().Add(againAfter)}
	case !to.Active:
		return &db.Settlement{DeliveryKey: delivery.DeliveryKey, State: db.Pending, DueAt: d.Store.Now()}
	}
	a := d.Sender.Send(ctx, to, delivery.ID, delivery.Message)
	s := after(d.Schedule, delivery.Attempts, &a, d.Chance(), d.Store.Now())
	if ctx.Err() != nil && a.Status == 0 { // cut off by us: not the receiver's failure
		s = db.Settlement{Attempt: &a, State: db.Pending, DueAt: d.Store.Now()}
	}
	s.DeliveryKey = delivery.DeliveryKey
	d.log(ctx, to, delivery, s)
	return &s
}

// log tells of an attempt; of what was signed, with what and where it went, it
// holds nothing.
func (d *Deliverer) log(ctx context.Context, to db.Receiver, delivery db.Delivery, s db.Settlement) {
	level, message := slog.LevelDebug, "webhook delivered"
	switch s.State {
	case db.Pending:
		level, message = slog.LevelInfo, "webhook not delivered; it will be sent again"
	case db.Dead:
		level, message = slog.LevelWarn, "webhook is a dead letter"
	case db.Delivered:
	}
	if !d.Logger.Enabled(ctx, level) { // what is not told is not to be put together
		return
	}
	d.Logger.Log(ctx, level, message, "subscription_id", to.Subscription, "delivery_id", delivery.ID,
		"event_id", delivery.Message.ID, "type", delivery.Message.Type, "attempt", delivery.Attempts+1,
		"status", s.Attempt.Status, "error", s.Attempt.Error, "duration", s.Attempt.Duration)
}
