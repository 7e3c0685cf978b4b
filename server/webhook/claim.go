package webhook

import (
	"iter"

	"govsvc/db"
)

// due notes which receivers have deliveries due.
func (q *queue) due(seqs []int64) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for _, seq := range seqs {
		r := q.receivers[seq]
		if r == nil {
			r = &receiver{seq: seq, window: 1}
			q.receivers[seq] = r
			q.order = append(q.order, r)
		}
		r.more = true
	}
}

// take hands over what is to be settled.
func (q *queue) take() []db.Settlement {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	settled := q.settled
	q.settled = nil
	return settled
}

// claims chooses what to claim.
func (q *queue) claims() []db.Claim {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.closed {
		return nil
	}
	var claims []db.Claim
	room, slowRoom := q.workers*ahead-q.waiting, q.slowest()-q.slow
	byRate := q.roomByRate()
	for r := range q.inTurn() {
		n := min(q.room(r), room)
		if n > 0 {
			n = byRate.least(r.hosts, n)
		}
		if !r.brisk {
			if byRate.least(r.hosts, 1) > 0 { // what waits for a rate takes no place
				slowRoom -= min(len(r.waiting), max(0, r.window-r.running)) // the others wait for these
			}
			n = min(n, slowRoom)
		}
		if n <= 0 {
			continue
		}
		claims = append(claims, db.Claim{Subscription: r.seq, Limit: n})
		byRate.use(r.hosts, n)
		room -= n
		if !r.brisk {
			slowRoom -= n
		}
	}
	return claims
}

// hostRoom is how many further deliveries to a host may be held in memory: what
// waits for a rate must not take the room of the other hosts.
type hostRoom struct {
	rates *hostRates
	rooms map[string]int
}

// roomByRate counts what waits already.
func (q *queue) roomByRate() hostRoom {
	h := hostRoom{q.rates, map[string]int{}}
	for _, r := range q.order {
		if len(r.waiting) > 0 {
			h.use(r.hosts, len(r.waiting))
		}
	}
	return h
}

func (h hostRoom) of(host string) int {
	n, known := h.rooms[host]
	if !known {
		n = h.rates.soon(host)
		h.rooms[host] = n
	}
	return n
}

// least is how many of n deliveries the hosts have room for.
func (h hostRoom) least(hosts []string, n int) int {
	if h.rates == nil {
		return n
	}
	for _, host := range hosts {
		n = min(n, h.of(host))
	}
	return n
}

// use takes room of the hosts.
func (h hostRoom) use(hosts []string, n int) {
	if h.rates == nil {
		return
	}
	for _, host := range hosts {
		h.rooms[host] = h.of(host) - n
	}
}

// room is how many deliveries a receiver can be given to wait: few at a time
// are not worth a claim.
func (q *queue) room(r *receiver) int {
	if !r.more || !q.low(r) {
		return 0
	}
	return q.share(r) - r.running - len(r.waiting)
}

// low tells that half of what may wait for a receiver is gone.
func (q *queue) low(r *receiver) bool { return len(r.waiting) <= q.share(r)/2 }

// share is how many deliveries to a receiver may be held, those under way too.
func (q *queue) share(r *receiver) int {
	switch {
	case !r.brisk:
		return r.window
	case !r.quick:
		return q.perReceiver * ahead
	}
	fair := q.workers * ahead / 2 / len(q.order) // the other half is for who comes, or has more
	return min(max(fair, q.perReceiver*ahead), q.perReceiver*farAhead)
}

// inTurn are the receivers, another one first each time.
func (q *queue) inTurn() iter.Seq[*receiver] {
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

// putBack returns settlements that are not stored yet.
func (q *queue) putBack(settled []db.Settlement) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.settled = append(settled, q.settled...)
}

// add takes in what the claims gave.
func (q *queue) add(claims []db.Claim, claimed []db.Delivery) {
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
		q.receivers[c.Subscription].more = got[c.Subscription] == c.Limit
	}
}
