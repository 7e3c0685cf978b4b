package sqlite

import "time"

// gathering is how a batch waits for more requests before its commit. Clients that got
// their responses together send their next requests together, but the first of them arrives
// earlier than the others. So a batch with fewer requests than the last one waits for more,
// for at most half of the time that a commit takes. Most of that time is the sync. A client
// that is alone never waits.
type gathering struct {
	expected int           // requests of the last commit that others could join
	commit   time.Duration // mean of recent commits
	vain     int           // batches that do not wait after the last wait, which was in vain
	skip     int           // how many of them are left

	wanted  bool          // the leader waits; guarded by the writer's mutex
	arrived chan struct{} // receives a value when a request arrives that is wanted
}

// maxSkipped bounds the batches that do not wait because earlier waits were in vain.
const maxSkipped = 63

// committed notes a commit.
func (g *gathering) committed(requests int, took time.Duration) {
	g.expected = requests
	g.commit += (took - g.commit) / 8
}

// patience returns how long the next batch may wait.
func (g *gathering) patience() time.Duration {
	if g.skip > 0 {
		g.skip--
		return 0
	}
	return min(g.commit/2, joinTime)
}

// gather reports whether requests wait that join a batch. If none does and the batch is
// smaller than expected, it waits for one. left is the time that remains for that.
func (w *writer) gather(batch int, left *time.Duration) bool {
	g := &w.gathering
	w.mutex.Lock()
	found := w.joining(batch) > 0
	g.wanted = len(w.waiting) == 0 && batch < g.expected && *left > 0
	wait := g.wanted
	w.mutex.Unlock()
	if !wait {
		return found
	}
	began := time.Now()
	timer := time.NewTimer(*left)
	defer timer.Stop()
	select {
	case <-g.arrived:
	case <-timer.C:
		if !w.arrivedLate() {
			g.vain = min(2*g.vain+1, maxSkipped)
			g.skip = g.vain
			return false
		}
	}
	*left -= time.Since(began)
	g.vain = 0
	return true
}

// arrivedLate ends a wait. It reports whether a request arrived at the same time.
func (w *writer) arrivedLate() bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.gathering.wanted {
		w.gathering.wanted = false
		return false
	}
	<-w.gathering.arrived
	return true
}
