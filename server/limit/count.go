package limit

import (
	"cmp"
	"slices"
	"time"
)

// Count is a number of requests of a subject in one minute: what is saved
// for the day to survive a restart. Counts of one subject and slot add up.
type Count struct {
	Subject  string
	Slot     int64 // start of the minute, in Unix seconds
	Requests int
}

// tolerance is how far readings of the wall clock and of monotonic time may lie
// apart and still mean the same slot.
const tolerance = time.Second / 2

// Unsaved returns the requests counted since the last call, for the caller to
// add to those saved, ordered by subject and slot. It forgets them: counts that
// could not be saved go back by Restore. Requests older than 24 hours are left
// out, and those of subjects that share a bucket for want of room.
func (l *Limiter) Unsaved() []Count {
	l.mu.Lock()
	counts := l.restored
	l.restored = nil
	l.mu.Unlock()
	for _, s := range l.shards {
		counts = s.unsaved(counts)
	}
	return merge(counts)
}

// Restore gives back counts of Unsaved that could not be saved. The next
// Unsaved returns them again.
func (l *Limiter) Restore(counts []Count) {
	oldest := l.now().Add(-window - slotWidth).Unix()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range counts {
		if c.Slot > oldest {
			l.restored = append(l.restored, c)
		}
	}
	l.restored = merge(l.restored) // so that it stays small while saving fails
}

// Load counts what was saved before, at the start. Counts that are no longer
// within 24 hours are ignored. Those of a future slot, saved before the clock
// was set back, count as of now. No count is refused for want of room: Load may
// hold more subjects than the Limiter's capacity.
func (l *Limiter) Load(counts []Count) {
	for _, c := range counts {
		if c.Requests > 0 {
			l.shard(c.Subject).load(c)
		}
	}
}

func (s *shard) unsaved(counts []Count) []Count {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	for _, sub := range s.ring {
		if !sub.day.dirty {
			continue
		}
		sub.day.expire(s.time)
		sub.day.dirty = false
		for i := range sub.day.slots {
			slot := &sub.day.slots[i]
			if slot.unsaved > 0 {
				counts = append(counts, Count{sub.name, s.wall(slot.start()), int(slot.unsaved)})
				slot.unsaved = 0
			}
		}
	}
	return counts
}

func (s *shard) load(c Count) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	start := s.time - max(0, s.last.Sub(time.Unix(c.Slot, 0)))
	// A start between two slots, after the clock was set, counts as the later.
	loaded := slot{index: min(slotAt(start+slotWidth-tolerance), slotAt(s.time))}
	if loaded.end() <= s.time {
		return
	}
	sub := s.held[c.Subject]
	if sub == nil {
		sub = s.hold(c.Subject)
	}
	sub.day.load(loaded.index, c.Requests)
}

// wall turns the shard's time into Unix seconds. It goes by the age, which
// stays true when the wall clock is set.
func (s *shard) wall(at time.Duration) int64 {
	return s.last.Add(at - s.time + tolerance).Unix()
}

// merge orders counts and adds up those of the same subject and slot.
func merge(counts []Count) []Count {
	slices.SortFunc(counts, func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Slot, b.Slot))
	})
	merged := counts[:0]
	for _, c := range counts {
		if n := len(merged); n > 0 && merged[n-1].Subject == c.Subject && merged[n-1].Slot == c.Slot {
			merged[n-1].Requests += c.Requests
		} else {
			merged = append(merged, c)
		}
	}
	return merged
}
