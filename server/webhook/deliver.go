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
	"govsvc/db/delivery"
)

// Config configures a delivery loop.
type Config struct {
	Store  *db.DB
	Sender *Sender
	Logger *slog.Logger
	// Schedule are the waits between attempts (--webhook-schedule); nil is
	// DefaultSchedule. There is one attempt more than there are waits.
	Schedule []time.Duration
	// Workers and PerReceiver are the maximum of attempts in progress, in all and to
	// one subscription; 0 is 256 and 4.
	Workers, PerReceiver int
	// Grace is how long attempts in progress may continue when the loop stops; 0 is
	// five seconds. An attempt that is cancelled then is due again immediately.
	Grace time.Duration
	// KeepLogs is how long delivered deliveries and their logs stay in the file; nil
	// is delivery.LogRetention.
	KeepLogs *time.Duration
	// Chance gives the jitter, in [0, 1); nil is random.
	Chance func() float64
}

const (
	// lease is how long a claim lasts. After a crash, a claimed delivery is sent again
	// after that time.
	lease = 30 * time.Second
	// leaseMargin is the time between the end of an attempt and that of its lease, in
	// which the outcome is stored.
	leaseMargin = 5 * time.Second
	// pollEvery is how often the loop checks for commits of other processes and for
	// due deliveries. A check takes microseconds.
	pollEvery  = 50 * time.Millisecond
	sweepEvery = time.Hour
	// clockCheckEvery is how often the loop checks whether the clock was set back.
	clockCheckEvery = time.Minute
	// fastSearch is the longest search for due deliveries that is not followed by a
	// pause. The pause after a longer one is searchPause times as long.
	fastSearch  = 2 * time.Millisecond
	searchPause = 10
	// maxYield is the maximum pause after a round, in which others can write.
	maxYield = 10 * time.Millisecond
	// retryDelay is how long the loop waits after an error of the file.
	retryDelay = time.Second
)

// Deliverer is the delivery loop (contract, "Events").
type Deliverer struct {
	Config
	queue    queue
	wake     chan struct{} // has a value if attempts have ended
	attempts sync.WaitGroup
	timerSet atomic.Bool // a timer will wake the loop for deliveries that wait for a rate
	next     time.Time   // when the next delivery becomes due; zero if none is known

	unexpanded    bool      // there are events without their deliveries
	lastOrg       int64     // the organisation whose events were expanded last
	backlog       int       // consecutive rounds that left events unexpanded
	searchDelayed bool      // a search for due deliveries is postponed to nextSearch
	nextSearch    time.Time // by the clock of the machine
	dropped       int       // deliveries that left a full queue and are not logged yet
	loggedDrop    time.Time // by the clock of the machine
}

// NewDeliverer makes a delivery loop. Several processes may deliver from one file.
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
		kept := delivery.LogRetention
		c.KeepLogs = &kept
	}
	if c.Chance == nil {
		c.Chance = rand.Float64
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &Deliverer{
		Config: c, wake: make(chan struct{}, 1),
		queue: queue{workers: c.Workers, perReceiver: c.PerReceiver, rates: c.Sender.rates, receivers: map[int64]*receiver{}},
	}
}

// Run delivers queued deliveries until ctx ends. Then it waits for the attempts in
// progress, at most Grace, and stores their outcomes. It fails only if it can't
// start or can't store the last outcomes.
func (d *Deliverer) Run(ctx context.Context) error {
	watch, err := d.Store.File.Watch()
	if err != nil {
		return err
	}
	return d.run(ctx, func(attempts context.Context) {
		t := tickers{time.Tick(pollEvery), time.Tick(clockCheckEvery), time.Tick(sweepEvery)}
		d.requeueAfterClockChange(ctx)
		for search := true; ctx.Err() == nil; {
			if _, err := d.round(ctx, attempts, search); err != nil && ctx.Err() == nil {
				d.Logger.Warn("webhooks: the data file can't be used; it is tried again", "error", err)
				search = true
				pause(ctx)
				continue
			}
			search = d.wait(ctx, watch, t)
		}
	})
}

// DeliverDue delivers due deliveries until none is left, and returns the totals
// (`govsvc deliver --once`).
func (d *Deliverer) DeliverDue(ctx context.Context) (Totals, error) {
	before := d.Totals()
	var problem error
	err := d.run(ctx, func(attempts context.Context) {
		tick := time.NewTicker(pollEvery)
		defer tick.Stop()
		d.requeueAfterClockChange(ctx)
		for ctx.Err() == nil {
			due, err := d.round(ctx, attempts, true)
			if err != nil || due == 0 && d.queue.idle() {
				problem = err
				return
			}
			select {
			case <-d.wake:
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	total := d.Totals()
	return Totals{total.Delivered - before.Delivered, total.Failed - before.Failed, total.Dead - before.Dead}, errors.Join(problem, err)
}

// Totals returns the outcomes of the loop so far.
func (d *Deliverer) Totals() Totals {
	d.queue.mutex.Lock()
	defer d.queue.mutex.Unlock()
	return d.queue.totals
}

// run runs the loop with a context for its attempts, which continue after ctx
// ends, and stores their outcomes at the end.
func (d *Deliverer) run(ctx context.Context, loop func(attempts context.Context)) error {
	attempts, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	d.queue.open()
	loop(attempts)
	d.queue.close(d.Store.Now())
	timer := time.AfterFunc(d.Grace, cancel)
	defer timer.Stop()
	d.attempts.Wait()
	settled := d.queue.takeSettled()
	if len(settled) == 0 {
		return nil
	}
	_, err := delivery.SettleAndClaim(context.WithoutCancel(ctx), d.Store, settled, nil, lease)
	return err
}

// round stores outcomes, makes the deliveries of events, claims due deliveries and
// starts them. With search, it first asks the file which subscriptions have due
// deliveries, and returns how many.
func (d *Deliverer) round(ctx, attempts context.Context, search bool) (due int, err error) {
	if search {
		if due, err = d.findDue(ctx); err != nil {
			return 0, err
		}
	}
	settled := d.queue.takeSettled()
	round := delivery.Round{Settled: settled, Expand: d.unexpanded, LastOrg: d.lastOrg, Lease: lease}
	if d.unexpanded {
		due++
		round.Claims = func(fresh []int64) []delivery.Claim {
			d.queue.markDue(fresh)
			return d.queue.claims()
		}
	} else {
		claims := d.queue.claims()
		if len(settled)+len(claims) == 0 {
			d.start(attempts) // deliveries may have waited for the rate of a host
			return due, nil
		}
		round.Claims = func([]int64) []delivery.Claim { return claims }
	}
	began := time.Now()
	result, err := delivery.RunRound(ctx, d.Store, round)
	if err != nil {
		d.queue.restoreSettled(settled)
		return due, err
	}
	d.queue.restoreSettled(settled[result.Settled:])
	d.queue.addClaimed(result.Claims, result.Claimed)
	d.unexpanded, d.lastOrg = result.Unexpanded, result.LastOrg
	d.reportDropped(result.Dropped)
	d.start(attempts)
	if result.More {
		d.wakeUp()
	}
	d.yield(result, time.Since(began))
	return due, nil
}

// yield pauses for as long as the round took, if others wait for the writer or
// many events are unexpanded. Another process, whose wait is not known here, can
// lock the file only between two rounds.
func (d *Deliverer) yield(result delivery.RoundResult, took time.Duration) {
	if d.backlog++; !result.Unexpanded {
		d.backlog = 0
	}
	if result.More && result.Contended || d.backlog > 1 {
		time.Sleep(min(took, maxYield))
	}
}

// findDue asks the file for due deliveries and for events to expand. The search
// reads an entry for each subscription with a queue. With thousands of them it is
// postponed, so that it takes at most a tenth of the loop's time.
func (d *Deliverer) findDue(ctx context.Context) (due int, err error) {
	if d.unexpanded, err = delivery.HasUnexpanded(ctx, d.Store); err != nil {
		return 0, err
	}
	began := time.Now()
	if began.Before(d.nextSearch) {
		d.searchDelayed = true
		return 1, nil
	}
	seqs, next, err := delivery.DueSubscriptions(ctx, d.Store)
	if err != nil {
		return 0, err
	}
	d.next, d.searchDelayed, d.nextSearch = next, false, time.Time{}
	if took := time.Since(began); took > fastSearch {
		d.nextSearch = time.Now().Add(searchPause * took)
	}
	d.queue.markDue(seqs)
	return len(seqs), nil
}

// reportDropped counts deliveries that left a full queue, and logs them at most
// once a minute.
func (d *Deliverer) reportDropped(n int) {
	d.queue.countDropped(n)
	d.dropped += n
	if now := time.Now(); d.dropped > 0 && now.Sub(d.loggedDrop) >= time.Minute {
		d.Logger.Warn("webhooks: queues are full; their oldest deliveries became dead letters", "deliveries", d.dropped, "limit", delivery.QueueLimit)
		d.dropped, d.loggedDrop = 0, now
	}
}

// tickers are the tickers of the loop. They exist for the whole run, so that they
// also tick in a loop that never waits for long.
type tickers struct{ poll, clockCheck, sweep <-chan time.Time }

// wait waits until there is something to do, and reports whether to search the
// file for due deliveries.
func (d *Deliverer) wait(ctx context.Context, watch *db.Watch, t tickers) (search bool) {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-d.Store.Queued():
			return true
		case <-d.wake:
			return d.isDue()
		case <-t.poll:
			if moved, err := watch.Changed(); moved || err != nil || d.isDue() || d.queue.hasSettled() || d.searchDelayed {
				return true
			}
		case <-t.clockCheck:
			d.requeueAfterClockChange(ctx)
		case <-t.sweep:
			d.sweep(ctx)
		}
	}
}

func (d *Deliverer) isDue() bool { return !d.next.IsZero() && !d.Store.Now().Before(d.next) }

// requeueAfterClockChange makes deliveries due that were postponed while the clock
// was ahead.
func (d *Deliverer) requeueAfterClockChange(ctx context.Context) {
	n, err := delivery.RequeueAfterClockChange(ctx, d.Store)
	switch {
	case err != nil && ctx.Err() == nil:
		d.Logger.Warn("webhooks: checking the clock failed; it is tried again", "error", err)
	case n > 0:
		d.Logger.Warn("webhooks: the clock was set back; postponed deliveries are due now", "deliveries", n)
	}
}

func (d *Deliverer) sweep(ctx context.Context) {
	d.queue.removeIdle()
	if err := delivery.Sweep(ctx, d.Store, *d.KeepLogs); err != nil {
		d.Logger.Warn("webhooks: removing old deliveries failed; it is tried again", "error", err)
	}
}

func pause(ctx context.Context) {
	select {
	case <-time.After(retryDelay):
	case <-ctx.Done():
	}
}
