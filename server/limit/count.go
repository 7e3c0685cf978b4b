package limit

import (
	"cmp"
	"slices"
	"time"
)

// Count is the number of requests of a subject in one minute. Counts are saved so
// that the day survives a restart. Counts of one subject and slot add up.
type Count struct {
	Subject  string
	Slot     int64 // start of the minute, in Unix seconds
	Requests int
}

// tolerance is the maximum difference between wall clock and monotonic time at
// which both still mean the same slot.
const tolerance = time.Second / 2

// Unsaved returns the requests counted since the last call, ordered by subject and
// slot, for the caller to add to the saved ones. If that fails, the caller returns
// them with Restore. Requests older than 24 hours are left out, and so are those
// of subjects that share a bucket because the Limiter is full.
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

// Restore takes back counts of Unsaved that could not be saved. The next Unsaved
// returns them again.
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

// Load adds saved counts at the start. Counts older than 24 hours are ignored.
// Those of a future slot, saved before the clock was set back, count as of now.
// Load may add more subjects than the Limiter's capacity.
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
	for _, sub := range s.list {
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
	// After a change of the clock a start may be between two slots. The later one
	// counts.
	loaded := slot{index: min(slotAt(start+slotWidth-tolerance), slotAt(s.time))}
	if loaded.end() <= s.time {
		return
	}
	sub := s.subjects[c.Subject]
	if sub == nil {
		sub = s.add(c.Subject)
	}
	sub.day.load(loaded.index, c.Requests)
}

// wall converts the shard's time to Unix seconds. It uses the age, which a change
// of the wall clock does not affect.
func (s *shard) wall(at time.Duration) int64 {
	return s.last.Add(at - s.time + tolerance).Unix()
}

// merge sorts counts and adds up those of the same subject and slot.
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
