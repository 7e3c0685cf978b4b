package webhook

import "govsvc/db"

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

// take hands over what is to be settled, and what to claim with it.
func (q *queue) take() ([]db.Settlement, []db.Claim) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	settled := q.settled
	q.settled = nil
	if q.closed {
		return settled, nil
	}
	var claims []db.Claim
	room, slowRoom := q.workers*ahead-q.waiting, q.slowest()-q.slow
	for _, r := range q.inTurn() {
		n := min(r.room(q.perReceiver), room)
		if !r.brisk {
			slowRoom -= len(r.waiting)
			n = min(n, slowRoom)
		}
		if n <= 0 {
			continue
		}
		claims = append(claims, db.Claim{Subscription: r.seq, Limit: n})
		room -= n
		if !r.brisk {
			slowRoom -= n
		}
	}
	return settled, claims
}

// room is how many deliveries a receiver can be given to wait.
func (r *receiver) room(perReceiver int) int {
	if !r.more {
		return 0
	}
	if r.brisk {
		return perReceiver*ahead - r.running - len(r.waiting)
	}
	return r.window - r.running - len(r.waiting)
}

// inTurn are the receivers, another one first each time.
func (q *queue) inTurn() []*receiver {
	if len(q.order) == 0 {
		return nil
	}
	q.turn = (q.turn + 1) % len(q.order)
	list := make([]*receiver, 0, len(q.order))
	return append(append(list, q.order[q.turn:]...), q.order[:q.turn]...)
}

// putBack returns settlements that could not be stored.
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
