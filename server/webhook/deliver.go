package webhook

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"govsvc/db"
)

// Config is what a delivery loop is made of.
type Config struct {
	Store  *db.DB
	Sender *Sender
	Logger *slog.Logger
	// Schedule are the waits between attempts (--webhook-schedule); nil is
	// DefaultSchedule. There is one attempt more than there are waits.
	Schedule []time.Duration
	// Workers and PerReceiver bound the attempts under way, in all and to one
	// subscription; 0 is 256 and 4.
	Workers, PerReceiver int
	// Grace is how long attempts under way may go on when the loop is stopped;
	// 0 is five seconds. What is cut off then is due again at once.
	Grace time.Duration
	// KeepLogs is how long what was delivered stays in the file, with its log;
	// nil is db.LogKept.
	KeepLogs *time.Duration
	// Chance gives the jitter, in [0, 1); nil is random.
	Chance func() float64
}

const (
	// lease is how long a claimed delivery is nobody else's, and so how long
	// after a crash it is sent again.
	lease = 30 * time.Second
	// leaseMargin is what a lease must outlast an attempt by, for its outcome
	// to be stored.
	leaseMargin = 5 * time.Second
	// pollEvery is how often the loop looks for the commits of other processes
	// and for what has become due; it costs microseconds.
	pollEvery  = 50 * time.Millisecond
	sweepEvery = time.Hour
	// hastenEvery is how often the loop looks whether the clock was set back.
	hastenEvery = time.Minute
	// cheapLook is how long a search for due deliveries may take without a pause
	// after it. A longer one is followed by a pause of lookShare times as long.
	cheapLook = 2 * time.Millisecond
	lookShare = 10
	// longestYield bounds the pause after a round, in which others write.
	longestYield = 10 * time.Millisecond
	// againAfter is how long the loop waits when the file can't be used.
	againAfter = time.Second
)

// Deliverer is the delivery loop (contract, "Events").
type Deliverer struct {
	Config
	queue    queue
	finished chan struct{} // holds one word that attempts have ended
	attempts sync.WaitGroup
	timed    atomic.Bool // the loop will be woken for what waits for a rate
	next     time.Time   // when the next delivery becomes due, as far as is known

	unexpanded bool      // events wait for their deliveries to be made
	backlog    int       // rounds in a row that left events unexpanded
	unseen     bool      // a look for due deliveries was put off until nextLook
	nextLook   time.Time // by the machine's clock
	dropped    int       // deliveries that left a full queue, not logged yet
	loggedDrop time.Time // by the machine's clock
}

// NewDeliverer makes a delivery loop. Several may work on one file, each in a
// process of its own.
func NewDeliverer(c Config) *Deliverer {
	if c.Schedule == nil {
		c.Schedule = DefaultSchedule
	}
	if c.Workers == 0 {
		c.Workers = workers
	}
	if c.PerReceiver == 0 {
		c.PerReceiver = perReceiver
	}
	if c.Grace == 0 {
		c.Grace = 5 * time.Second
	}
	if c.KeepLogs == nil {
		kept := db.LogKept
		c.KeepLogs = &kept
	}
	if c.Chance == nil {
		c.Chance = rand.Float64
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &Deliverer{
		Config: c, finished: make(chan struct{}, 1),
		queue: queue{workers: c.Workers, perReceiver: c.PerReceiver, rates: c.Sender.rates, receivers: map[int64]*receiver{}},
	}
}

// Run delivers what is queued until ctx ends, then lets the attempts under way
// end, within Grace, and records them. It fails only if it can't start or can't
// record.
func (d *Deliverer) Run(ctx context.Context) error {
	watch, err := d.Store.Watch(ctx)
	if err != nil {
		return err
	}
	defer watch.Close()
	return d.work(ctx, func(attempts context.Context) {
		when := schedule{time.Tick(pollEvery), time.Tick(hastenEvery), time.Tick(sweepEvery)}
		d.requeueAfterClockChange(ctx)
		for look := true; ctx.Err() == nil; {
			if _, err := d.step(ctx, attempts, look); err != nil && ctx.Err() == nil {
				d.Logger.Warn("webhooks: the data file can't be used; trying again", "error", err)
				look = true
				pause(ctx)
				continue
			}
			look = d.wait(ctx, watch, when)
		}
	})
}

// DeliverDue delivers what is due now, and what falls due meanwhile, and tells
// what came of it (`govsvc deliver --once`).
func (d *Deliverer) DeliverDue(ctx context.Context) (Totals, error) {
	before := d.Totals()
	var problem error
	err := d.work(ctx, func(attempts context.Context) {
		tick := time.NewTicker(pollEvery)
		defer tick.Stop()
		d.requeueAfterClockChange(ctx)
		for ctx.Err() == nil {
			due, err := d.step(ctx, attempts, true)
			if err != nil || due == 0 && d.queue.idle() {
				problem = err
				return
			}
			select {
			case <-d.finished:
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	total := d.Totals()
	return Totals{total.Delivered - before.Delivered, total.Failed - before.Failed, total.Dead - before.Dead}, errors.Join(problem, err)
}

// Totals tells what the loop has done so far.
func (d *Deliverer) Totals() Totals {
	d.queue.mutex.Lock()
	defer d.queue.mutex.Unlock()
	return d.queue.totals
}

// work runs the loop with a context for its attempts, which outlive ctx, and
// records them at the end.
func (d *Deliverer) work(ctx context.Context, loop func(attempts context.Context)) error {
	attempts, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	d.queue.open()
	loop(attempts)
	d.queue.close(d.Store.Now())
	timer := time.AfterFunc(d.Grace, cancel)
	defer timer.Stop()
	d.attempts.Wait()
	settled := d.queue.take()
	if len(settled) == 0 {
		return nil
	}
	_, err := d.Store.Deliver(context.WithoutCancel(ctx), settled, nil, lease)
	return err
}

// step stores what has ended, makes the deliveries of events, claims what is due
// and starts it. With look, it asks the file which subscriptions have deliveries
// due, and returns how many have.
func (d *Deliverer) step(ctx, attempts context.Context, look bool) (due int, err error) {
	if look {
		if due, err = d.look(ctx); err != nil {
			return 0, err
		}
	}
	settled := d.queue.take()
	round := db.Round{Settled: settled, Expand: d.unexpanded, Lease: lease}
	if d.unexpanded {
		due++
		round.Claims = func(fresh []int64) []db.Claim {
			d.queue.due(fresh)
			return d.queue.claims()
		}
	} else {
		claims := d.queue.claims()
		if len(settled)+len(claims) == 0 {
			d.start(attempts) // what waited for the rate of a host
			return due, nil
		}
		round.Claims = func([]int64) []db.Claim { return claims }
	}
	began := time.Now()
	result, err := d.Store.Round(ctx, round)
	if err != nil {
		d.queue.putBack(settled)
		return due, err
	}
	d.queue.putBack(settled[result.Settled:])
	d.queue.add(result.Claims, result.Claimed)
	d.unexpanded = result.Unexpanded
	d.drop(result.Dropped)
	d.start(attempts)
	if result.More {
		d.tell()
	}
	d.yield(result, time.Since(began))
	return due, nil
}

// yield leaves the writer to others for as long as the round took, if they wait
// for it or many events are unexpanded. Another process can take the lock of the
// file only between two rounds, and its wait is not known here.
func (d *Deliverer) yield(result db.RoundResult, took time.Duration) {
	if d.backlog++; !result.Unexpanded {
		d.backlog = 0
	}
	if result.More && result.Contended || d.backlog > 1 {
		time.Sleep(min(took, longestYield))
	}
}

// look asks the file what there is to do. The search for due deliveries reads an
// entry for each subscription with a queue. It takes at most a tenth of the
// loop's time: with thousands of queues it is put off for a while.
func (d *Deliverer) look(ctx context.Context) (due int, err error) {
	if d.unexpanded, err = d.Store.HasUnexpanded(ctx); err != nil {
		return 0, err
	}
	began := time.Now()
	if began.Before(d.nextLook) {
		d.unseen = true
		return 1, nil
	}
	seqs, next, err := d.Store.DueSubscriptions(ctx)
	if err != nil {
		return 0, err
	}
	d.next, d.unseen, d.nextLook = next, false, time.Time{}
	if took := time.Since(began); took > cheapLook {
		d.nextLook = time.Now().Add(lookShare * took)
	}
	d.queue.due(seqs)
	return len(seqs), nil
}

// drop counts deliveries that left a full queue, and logs them at most once a
// minute.
func (d *Deliverer) drop(n int) {
	d.queue.countDropped(n)
	d.dropped += n
	if now := time.Now(); d.dropped > 0 && now.Sub(d.loggedDrop) >= time.Minute {
		d.Logger.Warn("webhooks: queues are full; their oldest deliveries became dead letters", "deliveries", d.dropped, "limit", db.QueueLimit)
		d.dropped, d.loggedDrop = 0, now
	}
}

// schedule says when it is time to do what is done from time to time. It goes on
// through all waits: a loop that never waits for long does it, too.
type schedule struct{ poll, hasten, sweep <-chan time.Time }

// wait sleeps until there is something to do, and tells whether to look into
// the file for what is due.
func (d *Deliverer) wait(ctx context.Context, watch *db.Watch, when schedule) (look bool) {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-d.Store.Queued():
			return true
		case <-d.finished:
			return d.passed()
		case <-when.poll:
			if moved, err := watch.Changed(); moved || err != nil || d.passed() || d.queue.unsettled() || d.unseen {
				return true
			}
		case <-when.hasten:
			d.requeueAfterClockChange(ctx)
		case <-when.sweep:
			d.sweep(ctx)
		}
	}
}

func (d *Deliverer) passed() bool { return !d.next.IsZero() && !d.Store.Now().Before(d.next) }

// requeueAfterClockChange delivers now what a clock that was ahead has put off.
func (d *Deliverer) requeueAfterClockChange(ctx context.Context) {
	n, err := d.Store.RequeueAfterClockChange(ctx)
	switch {
	case err != nil && ctx.Err() == nil:
		d.Logger.Warn("webhooks: not known yet whether the clock was set back", "error", err)
	case n > 0:
		d.Logger.Warn("webhooks: the clock was set back; what was put off until later is delivered now", "deliveries", n)
	}
}

func (d *Deliverer) sweep(ctx context.Context) {
	d.queue.forget()
	if err := d.Store.SweepDeliveries(ctx, *d.KeepLogs); err != nil {
		d.Logger.Warn("webhooks: old deliveries not removed yet", "error", err)
	}
}

func pause(ctx context.Context) {
	select {
	case <-time.After(againAfter):
	case <-ctx.Done():
	}
}
