package webhook

import (
	"iter"
	"slices"
	"sync"
	"time"

	"govsvc/db/delivery"
)

// The default limits of the loop.
const (
	workers     = 256 // attempts in progress
	perReceiver = 4   // attempts in progress to one subscription
)

const (
	// prefetch is how many deliveries are claimed for each attempt that may be in
	// progress to a healthy receiver. The next attempt then does not wait for the
	// disk. deepPrefetch is the number for a fast receiver while there are few
	// receivers, so that one commit stores many outcomes.
	prefetch, deepPrefetch = 8, 4 * prefetch
	// healthyWithin is the longest response time of a healthy receiver.
	healthyWithin = 2 * time.Second
	// fastWithin is the longest response time of a fast receiver.
	fastWithin = 50 * time.Millisecond
)

// queue has the claimed deliveries. It decides which one starts next, so that no
// receiver delays another.
//
// A receiver starts with one attempt at a time, and gets more as it acknowledges.
// After a failed or slow attempt it is unhealthy. All unhealthy receivers share
// half of the workers, so that the other half is always free for healthy ones.
type queue struct {
	workers, perReceiver int
	rates                *hostRates // nil is no limit

	mutex     sync.Mutex
	receivers map[int64]*receiver
	order     []*receiver // served round robin
	turn      int
	running   int
	unhealthy int // the part of running to unhealthy receivers
	waiting   int
	settled   []delivery.Settlement
	closed    bool
	totals    Totals
}

// Totals counts the outcomes of a loop.
type Totals struct {
	Delivered int `json:"delivered"` // acknowledged
	Failed    int `json:"failed"`    // attempts that failed and will be repeated
	Dead      int `json:"dead"`      // deliveries that became dead letters
}

// receiver is a subscription as a destination of deliveries.
type receiver struct {
	seq         int64
	held        delivery.ReceiverCache
	waiting     []delivery.Delivery // claimed, not started
	running     int
	window      int  // the maximum of running
	healthy     bool // it acknowledged the last delivery within healthyWithin
	fast        bool // it acknowledged the last delivery within fastWithin
	mayHaveMore bool // the file may have more due deliveries
	// hosts are the hosts that its last delivery counted for; nil before the first.
	hosts []string
}

// startedDelivery is a delivery whose attempt starts.
type startedDelivery struct {
	to        *receiver
	delivery  delivery.Delivery
	unhealthy bool
	charged   []string // the hosts that the delivery took a token of
}

func (q *queue) maxUnhealthy() int { return max(1, q.workers/2) }

// startResult is the result of start.
type startResult struct {
	deliveries []startedDelivery
	released   bool          // there is an outcome to store
	retryIn    time.Duration // until the rate of a host allows more; 0 if no rate is used up
}

// start chooses the deliveries whose attempts start now. One whose lease would
// expire during the attempt is released. One to a host whose rate is used up
// waits, without a worker.
func (q *queue) start(now time.Time) (b startResult) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.waiting == 0 || q.closed {
		return b
	}
	for r := range q.roundRobin() {
		if q.waiting == 0 || q.running == q.workers {
			break
		}
		q.startReceiver(r, now, &b)
	}
	return b
}

// startReceiver starts deliveries to one receiver.
func (q *queue) startReceiver(r *receiver, now time.Time, b *startResult) {
	for len(r.waiting) > 0 && q.canStart(r) {
		d := r.waiting[0]
		lasts := d.Until.Sub(now) >= AttemptTimeout+leaseMargin
		if lasts && !q.rates.take(r.hosts) {
			if wait := max(time.Millisecond, q.rates.wait(r.hosts)); b.retryIn == 0 || wait < b.retryIn {
				b.retryIn = wait
			}
			return
		}
		r.waiting = r.waiting[1:]
		q.waiting--
		if !lasts {
			q.release(r, d, now)
			b.released = true
			continue
		}
		r.running++
		q.running++
		if !r.healthy {
			q.unhealthy++
		}
		b.deliveries = append(b.deliveries, startedDelivery{r, d, !r.healthy, r.hosts})
	}
}

// requeue returns a delivery to the queue, because the rate of its hosts is used
// up. It waits in memory if it can start soon, or else it is released.
func (q *queue) requeue(s startedDelivery, hosts []string, now time.Time) (released bool) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	r := s.to
	r.running--
	q.running--
	if s.unhealthy {
		q.unhealthy--
	}
	r.hosts = hosts
	if q.closed || q.waitingForHosts(hosts) >= q.rates.maxAhead() {
		q.release(r, s.delivery, now)
		return true
	}
	r.waiting = slices.Insert(r.waiting, 0, s.delivery)
	q.waiting++
	return false
}

// waitingForHosts returns how many deliveries in memory wait for one of the hosts.
func (q *queue) waitingForHosts(hosts []string) (n int) {
	for _, r := range q.order {
		if len(r.waiting) > 0 && slices.ContainsFunc(r.hosts, func(host string) bool { return slices.Contains(hosts, host) }) {
			n += len(r.waiting)
		}
	}
	return n
}

func (q *queue) canStart(r *receiver) bool {
	return r.running < r.window && q.running < q.workers && (r.healthy || q.unhealthy < q.maxUnhealthy())
}

// release gives up a claimed delivery. It is due now.
func (q *queue) release(r *receiver, d delivery.Delivery, now time.Time) {
	r.mayHaveMore = true
	q.settled = append(q.settled, delivery.Settlement{ClaimKey: d.ClaimKey, State: delivery.Pending, DueAt: now})
}

// finish records the outcome of an attempt and adapts to the receiver. A nil
// outcome is of a delivery that no longer exists. It reports whether to wake the
// loop: while a receiver has enough waiting, its outcomes are stored in batches.
func (q *queue) finish(s startedDelivery, outcome *delivery.Settlement, hosts []string) (wake bool) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	r := s.to
	r.hosts = hosts
	r.running--
	q.running--
	if s.unhealthy {
		q.unhealthy--
	}
	if outcome == nil {
		return true
	}
	q.settled = append(q.settled, *outcome)
	switch {
	case outcome.Attempt == nil:
		r.mayHaveMore = false // paused; resuming it wakes the loop
	case outcome.Attempt.Delivered():
		r.window, r.healthy, r.fast = min(2*r.window, q.perReceiver), outcome.Attempt.Duration < healthyWithin, outcome.Attempt.Duration < fastWithin
	default:
		r.window, r.healthy, r.fast = 1, false, false
	}
	q.count(outcome)
	return q.needsMore(r)
}

func (q *queue) count(outcome *delivery.Settlement) {
	switch {
	case outcome.State == delivery.Delivered:
		q.totals.Delivered++
	case outcome.State == delivery.Dead:
		q.totals.Dead++
	case outcome.Counts:
		q.totals.Failed++
	}
}

// hasSettled reports whether there are outcomes to store.
func (q *queue) hasSettled() bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return len(q.settled) > 0
}

// idle reports whether nothing is running, waiting or to be stored.
func (q *queue) idle() bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return q.running+q.waiting+len(q.settled) == 0
}

// close releases the waiting deliveries. Nothing starts after it.
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

// open reopens a closed queue.
func (q *queue) open() {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.closed = false
}

// removeIdle removes the receivers without deliveries, because their subscription
// may be deleted.
func (q *queue) removeIdle() {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	kept := q.order[:0]
	for _, r := range q.order {
		if r.running+len(r.waiting) > 0 || r.mayHaveMore {
			kept = append(kept, r)
			continue
		}
		delete(q.receivers, r.seq)
	}
	clear(q.order[len(kept):])
	q.order = kept
}

// markDue records which receivers have due deliveries.
func (q *queue) markDue(seqs []int64) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for _, seq := range seqs {
		r := q.receivers[seq]
		if r == nil {
			r = &receiver{seq: seq, window: 1}
			q.receivers[seq] = r
			q.order = append(q.order, r)
		}
		r.mayHaveMore = true
	}
}

// takeSettled returns the outcomes that are not stored yet.
func (q *queue) takeSettled() []delivery.Settlement {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	settled := q.settled
	q.settled = nil
	return settled
}

// claims chooses how many deliveries to claim for each receiver.
func (q *queue) claims() []delivery.Claim {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.closed {
		return nil
	}
	var claims []delivery.Claim
	slots, unhealthySlots := q.workers*prefetch-q.waiting, q.maxUnhealthy()-q.unhealthy
	hosts := q.hostCapacity()
	for r := range q.roundRobin() {
		n := min(q.freeSlots(r), slots)
		if n > 0 {
			n = hosts.limit(r.hosts, n)
		}
		if !r.healthy {
			if hosts.limit(r.hosts, 1) > 0 { // deliveries that wait for a rate take no slot
				unhealthySlots -= min(len(r.waiting), max(0, r.window-r.running))
			}
			n = min(n, unhealthySlots)
		}
		if n <= 0 {
			continue
		}
		claims = append(claims, delivery.Claim{Subscription: r.seq, Limit: n})
		hosts.take(r.hosts, n)
		slots -= n
		if !r.healthy {
			unhealthySlots -= n
		}
	}
	return claims
}

// hostCapacity is how many more deliveries to a host may be in memory. Those that
// wait for the rate of their host must not take the slots of other hosts.
type hostCapacity struct {
	rates *hostRates
	free  map[string]int
}

// hostCapacity counts the waiting deliveries.
func (q *queue) hostCapacity() hostCapacity {
	h := hostCapacity{q.rates, map[string]int{}}
	for _, r := range q.order {
		if len(r.waiting) > 0 {
			h.take(r.hosts, len(r.waiting))
		}
	}
	return h
}

func (h hostCapacity) freeOf(host string) int {
	n, known := h.free[host]
	if !known {
		n = h.rates.capacity(host)
		h.free[host] = n
	}
	return n
}

// limit returns for how many of n deliveries the hosts have slots.
func (h hostCapacity) limit(hosts []string, n int) int {
	if h.rates == nil {
		return n
	}
	for _, host := range hosts {
		n = min(n, h.freeOf(host))
	}
	return n
}

// take takes slots of the hosts.
func (h hostCapacity) take(hosts []string, n int) {
	if h.rates == nil {
		return
	}
	for _, host := range hosts {
		h.free[host] = h.freeOf(host) - n
	}
}

// freeSlots returns how many deliveries to claim for a receiver; 0 if they would be
// too few for a claim.
func (q *queue) freeSlots(r *receiver) int {
	if !r.mayHaveMore || !q.needsMore(r) {
		return 0
	}
	return q.maxHeld(r) - r.running - len(r.waiting)
}

// needsMore reports whether at most half of the receiver's slots are used.
func (q *queue) needsMore(r *receiver) bool { return len(r.waiting) <= q.maxHeld(r)/2 }

// maxHeld returns how many deliveries to a receiver may be in memory, running ones
// included.
func (q *queue) maxHeld(r *receiver) int {
	switch {
	case !r.healthy:
		return r.window
	case !r.fast:
		return q.perReceiver * prefetch
	}
	fair := q.workers * prefetch / 2 / len(q.order) // the other half is for new receivers
	return min(max(fair, q.perReceiver*prefetch), q.perReceiver*deepPrefetch)
}

// roundRobin iterates over the receivers and starts with another one each time.
func (q *queue) roundRobin() iter.Seq[*receiver] {
	if len(q.order) > 0 {
		q.turn = (q.turn + 1) % len(q.order)
	}
	return func(yield func(*receiver) bool) {
		for i := range q.order {
			if !yield(q.order[(q.turn+i)%len(q.order)]) {
				return
			}
		}
	}
}

// countDropped counts deliveries that became dead letters without an attempt.
func (q *queue) countDropped(n int) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.totals.Dead += n
}

// restoreSettled takes back outcomes that could not be stored.
func (q *queue) restoreSettled(settled []delivery.Settlement) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.settled = append(settled, q.settled...)
}

// addClaimed adds the deliveries that were claimed.
func (q *queue) addClaimed(claims []delivery.Claim, claimed []delivery.Delivery) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for _, d := range claimed {
		r := q.receivers[d.Subscription]
		r.waiting = append(r.waiting, d)
	}
	q.waiting += len(claimed)
	got := map[int64]int{}
	for _, d := range claimed {
		got[d.Subscription]++
	}
	for _, c := range claims {
		q.receivers[c.Subscription].mayHaveMore = got[c.Subscription] == c.Limit
	}
}
