package webhook

import (
	"iter"

	"govsvc/db/delivery"
)

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
