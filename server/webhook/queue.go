package webhook

import (
	"slices"
	"sync"
	"time"

	"govsvc/db"
)

// The bounds of the loop, unless its Config has others.
const (
	workers     = 256 // attempts under way, in all
	perReceiver = 4   // to one subscription
)

const (
	// ahead is how many deliveries are claimed for each that may be under way
	// to a receiver that is brisk, so that its next one need not wait for the
	// disk; farAhead is that for a quick one while there are few receivers, so
	// that a commit is shared by many outcomes.
	ahead, farAhead = 8, 4 * ahead
	// briskly is how soon a receiver answers that shows no sign of trouble.
	briskly = 2 * time.Second
	// quickly is how soon one does that is given many ahead.
	quickly = 50 * time.Millisecond
)

// queue holds what was claimed: it decides whose delivery starts next, so that
// no receiver holds up another.
//
// A receiver starts with one attempt at a time, and gets more as it
// acknowledges. One whose last attempt failed, or took long, is not brisk:
// those share half of the places among themselves, so that the other half is
// always there for the brisk, however many are dead.
type queue struct {
	workers, perReceiver int
	rates                *hostRates // nil is no limit

	mutex     sync.Mutex
	receivers map[int64]*receiver
	order     []*receiver // whose turn it is goes round
	turn      int
	running   int
	slow      int // of them, to receivers that are not brisk
	waiting   int
	settled   []db.Settlement
	closed    bool
	totals    Totals
}

// Totals counts what a loop did.
type Totals struct {
	Delivered int `json:"delivered"` // acknowledged
	Failed    int `json:"failed"`    // attempts that were not, and will be repeated
	Dead      int `json:"dead"`      // deliveries that became dead letters
}

// receiver is the subscription that deliveries go to.
type receiver struct {
	seq     int64
	waiting []db.Delivery // claimed, not started
	running int
	window  int  // how many may be under way
	brisk   bool // it acknowledged the last one, and soon
	quick   bool // so soon that many may wait for it
	more    bool // more may be due
	// hosts are those that its last delivery counted for, nil before the first.
	hosts []string
}

// started is a delivery whose attempt begins.
type started struct {
	to       *receiver
	delivery db.Delivery
	slow     bool
	paid     []string // the hosts whose tokens it has
}

func (q *queue) slowest() int { return max(1, q.workers/2) }

// beginning is what start chose.
type beginning struct {
	list     []started
	gaveBack bool          // something is to be settled
	again    time.Duration // until a host's rate lets more begin; 0 if none is used up
}

// start chooses the deliveries whose attempts begin now. One whose lease would
// end before its attempt does is given back, which is to be settled. One to a
// host whose rate is used up waits, without a worker.
func (q *queue) start(now time.Time) (b beginning) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.waiting == 0 || q.closed {
		return b
	}
	for r := range q.inTurn() {
		if q.waiting == 0 || q.running == q.workers {
			break
		}
		q.startOf(r, now, &b)
	}
	return b
}

// startOf begins what may begin of one receiver.
func (q *queue) startOf(r *receiver, now time.Time, b *beginning) {
	for len(r.waiting) > 0 && q.may(r) {
		d := r.waiting[0]
		lasts := d.Until.Sub(now) >= AttemptTimeout+leaseMargin
		if lasts && !q.rates.take(r.hosts) {
			if wait := max(time.Millisecond, q.rates.wait(r.hosts)); b.again == 0 || wait < b.again {
				b.again = wait
			}
			return
		}
		r.waiting = r.waiting[1:]
		q.waiting--
		if !lasts {
			q.release(r, d, now)
			b.gaveBack = true
			continue
		}
		r.running++
		q.running++
		if !r.brisk {
			q.slow++
		}
		b.list = append(b.list, started{r, d, !r.brisk, r.hosts})
	}
}

// takeBack returns to the queue a delivery that did not begin, because the rate of its hosts
// is used up. It waits in memory if it can begin soon.
func (q *queue) takeBack(s started, hosts []string, now time.Time) (gaveBack bool) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	r := s.to
	r.running--
	q.running--
	if s.slow {
		q.slow--
	}
	r.hosts = hosts
	if q.closed || q.waitingFor(hosts) >= q.rates.ahead() {
		q.release(r, s.delivery, now)
		return true
	}
	r.waiting = slices.Insert(r.waiting, 0, s.delivery)
	q.waiting++
	return false
}

// waitingFor counts the deliveries in memory that wait for one of the hosts.
func (q *queue) waitingFor(hosts []string) (n int) {
	for _, r := range q.order {
		if len(r.waiting) > 0 && slices.ContainsFunc(r.hosts, func(host string) bool { return slices.Contains(hosts, host) }) {
			n += len(r.waiting)
		}
	}
	return n
}

func (q *queue) may(r *receiver) bool {
	return r.running < r.window && q.running < q.workers && (r.brisk || q.slow < q.slowest())
}

// release gives a delivery back as it was: it is due now.
func (q *queue) release(r *receiver, d db.Delivery, now time.Time) {
	r.more = true
	q.settled = append(q.settled, db.Settlement{DeliveryKey: d.DeliveryKey, State: db.Pending, DueAt: now})
}

// finish takes in how an attempt ended, and learns from it; nothing is settled
// where the delivery is gone. It tells whether the loop is wanted: while a
// receiver has enough waiting, its outcomes are stored many at a time.
func (q *queue) finish(s started, outcome *db.Settlement, hosts []string) (wanting bool) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	r := s.to
	r.hosts = hosts
	r.running--
	q.running--
	if s.slow {
		q.slow--
	}
	if outcome == nil {
		return true
	}
	q.settled = append(q.settled, *outcome)
	switch {
	case outcome.Attempt == nil:
		r.more = false // paused; its resumption will be told
	case outcome.Attempt.Delivered():
		r.window, r.brisk, r.quick = min(2*r.window, q.perReceiver), outcome.Attempt.Duration < briskly, outcome.Attempt.Duration < quickly
	default:
		r.window, r.brisk, r.quick = 1, false, false
	}
	q.count(outcome)
	return q.low(r)
}

func (q *queue) count(outcome *db.Settlement) {
	switch {
	case outcome.State == db.Delivered:
		q.totals.Delivered++
	case outcome.State == db.Dead:
		q.totals.Dead++
	case outcome.Counts:
		q.totals.Failed++
	}
}

// unsettled tells that outcomes are yet to be stored.
func (q *queue) unsettled() bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return len(q.settled) > 0
}

// idle tells that nothing is under way and nothing is left to be settled.
func (q *queue) idle() bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return q.running+q.waiting+len(q.settled) == 0
}

// close starts nothing more and gives back what waits.
func (q *queue) close(now time.Time) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.closed = true
	for _, r := range q.order {
		for _, d := range r.waiting {
			q.release(r, d, now)
		}
		r.waiting = nil
	}
	q.waiting = 0
}

// open lets a queue that was closed start again.
func (q *queue) open() {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.closed = false
}

// forget drops the receivers of which nothing is known to be due: a
// subscription may be gone.
func (q *queue) forget() {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	kept := q.order[:0]
	for _, r := range q.order {
		if r.running+len(r.waiting) > 0 || r.more {
			kept = append(kept, r)
			continue
		}
		delete(q.receivers, r.seq)
	}
	clear(q.order[len(kept):])
	q.order = kept
}
