package webhook

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"govsvc/db"
)

// start begins the attempts that the queue has places for.
func (d *Deliverer) start(ctx context.Context) {
	b := d.queue.start(d.Store.Now())
	for _, s := range b.list {
		d.attempts.Go(func() { d.carry(ctx, s) })
	}
	d.after(b)
}

// after wakes the loop for what start left to do.
func (d *Deliverer) after(b beginning) {
	if b.gaveBack {
		d.tell()
	}
	if b.again > 0 && d.timed.CompareAndSwap(false, true) {
		time.AfterFunc(b.again, func() {
			d.timed.Store(false)
			d.tell()
		})
	}
}

// carry makes an attempt and goes on with the next that its end made place for:
// a goroutine that is new would have to make room for its calls first.
func (d *Deliverer) carry(ctx context.Context, s started) {
	for {
		var wanting bool
		if settled, hosts, limited := d.attempt(ctx, s); limited {
			wanting = d.queue.takeBack(s, hosts, d.Store.Now())
		} else {
			wanting = d.queue.finish(s, settled, hosts)
		}
		b := d.queue.start(d.Store.Now())
		if wanting {
			d.tell()
		}
		d.after(b)
		if len(b.list) == 0 {
			return
		}
		s = b.list[0]
		for _, other := range b.list[1:] {
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
// what was claimed waits. It returns the hosts that the delivery counts for, and
// whether the rate of one of them is used up; then nothing was sent.
func (d *Deliverer) attempt(ctx context.Context, s started) (settled *db.Settlement, hosts []string, limited bool) {
	delivery := s.delivery
	to, err := d.Store.ReceiverOf(ctx, delivery.DeliveryKey)
	switch {
	case db.Is(err, db.NotFound):
		return nil, s.paid, false
	case err != nil:
		d.Logger.Warn("webhooks: receiver not read", "delivery_id", delivery.ID, "error", err)
		return &db.Settlement{DeliveryKey: delivery.DeliveryKey, State: db.Pending, DueAt: d.Store.Now().Add(againAfter)}, s.paid, false
	case !to.Active:
		return &db.Settlement{DeliveryKey: delivery.DeliveryKey, State: db.Pending, DueAt: d.Store.Now()}, s.paid, false
	}
	hosts = d.Sender.hostsOf(ctx, to.URL)
	unpaid := slices.DeleteFunc(slices.Clone(hosts), func(host string) bool { return slices.Contains(s.paid, host) })
	if !d.Sender.rates.take(unpaid) {
		return nil, hosts, true
	}
	a, limited := d.Sender.attempt(context.WithValue(ctx, paidHosts{}, hosts), to, delivery.ID, delivery.Message)
	if limited {
		return nil, d.Sender.hostsOf(ctx, to.URL), true
	}
	outcome := after(d.Schedule, delivery.Attempts, &a, d.Chance(), d.Store.Now())
	if ctx.Err() != nil && a.Status == 0 { // cut off by us: not the receiver's failure
		outcome = db.Settlement{Attempt: &a, State: db.Pending, DueAt: d.Store.Now()}
	}
	outcome.DeliveryKey = delivery.DeliveryKey
	d.log(ctx, to, delivery, outcome)
	return &outcome, hosts, false
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
