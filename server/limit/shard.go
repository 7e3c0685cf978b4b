package limit

import (
	"strings"
	"sync"
	"time"
)

type subject struct {
	name   string
	bucket bucket
	day    day
}

func (s *subject) idle(at time.Duration) bool {
	return s.day.emptyAt(at) && s.bucket.fullAt(at)
}

// shard is a part of the subjects under one lock.
type shard struct {
	mu    sync.Mutex
	now   func() time.Time
	last  time.Time     // the clock's latest reading
	time  time.Duration // the shard's own time, which never runs backwards
	held  map[string]*subject
	ring  []*subject // those of held, for the search of an idle one
	hand  int        // where in ring the search goes on
	limit int        // of len(ring)
}

const (
	// epoch is the shard's time at its start: far enough from zero for saved
	// slots to lie before it.
	epoch = 2 * (window + slotWidth)
	// leap is as much as no bucket and no day outlasts. Longer steps of the
	// clock are cut to it so that the shard's time can't overflow.
	leap = 2 * (window + slotWidth)
	// searchSteps bounds the work of a new subject in a full shard.
	searchSteps = 8
)

func newShard(now func() time.Time, limit int) *shard {
	t := now()
	// Slots begin at the multiples of their width on the wall clock, also after
	// a restart, so that a saved slot fits one slot again.
	phase := time.Duration(t.Unix()%int64(slotWidth/time.Second))*time.Second + time.Duration(t.Nanosecond())
	return &shard{now: now, last: t, time: epoch + phase, held: map[string]*subject{}, limit: limit}
}

// advance reads the clock. The lock is held meanwhile: readings in any other
// order would look like a clock that jumps.
func (s *shard) advance() {
	now := s.now()
	if d := now.Sub(s.last); d > leap {
		s.time += leap + d%slotWidth
	} else if d > 0 {
		s.time += d
	}
	s.last = now
}

// allow is false where name is new and there is no room for it.
func (s *shard) allow(name string, rate Rate) (Decision, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	sub := s.held[name]
	if sub == nil {
		if !s.hasRoom() {
			return Decision{}, false
		}
		sub = s.hold(name)
	}
	sub.bucket.refill(s.time, rate.PerMinute)
	sub.day.expire(s.time)
	wait := s.wait(&sub.bucket, &sub.day, rate)
	if wait == 0 {
		sub.bucket.take()
		if rate.PerDay != unlimited {
			sub.day.take(s.time)
		}
	}
	return s.decision(&sub.bucket, &sub.day, rate, wait), true
}

// peek is false where allow is.
func (s *shard) peek(name string, rate Rate) (Decision, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	sub := s.held[name]
	if sub == nil {
		if !s.hasRoom() {
			return Decision{}, false
		}
		sub = &subject{bucket: fullBucket}
	}
	b := sub.bucket
	b.refill(s.time, rate.PerMinute)
	sub.day.expire(s.time)
	return s.decision(&b, &sub.day, rate, s.wait(&b, &sub.day, rate)), true
}

func (s *shard) wait(b *bucket, d *day, rate Rate) time.Duration {
	return max(b.wait(), d.wait(s.time, rate.PerDay))
}

func (s *shard) decision(b *bucket, d *day, rate Rate, wait time.Duration) Decision {
	return Decision{
		Allowed:    wait == 0,
		Limit:      rate.PerMinute,
		Remaining:  min(b.tokens(), d.left(rate.PerDay)),
		Day:        rate.PerDay,
		Reset:      s.last.Add(b.untilFull()),
		RetryAfter: wait,
	}
}

// hold makes name known. The name is copied, for it may be part of a long header.
func (s *shard) hold(name string) *subject {
	sub := &subject{name: strings.Clone(name), bucket: fullBucket}
	s.held[sub.name] = sub
	s.ring = append(s.ring, sub)
	return sub
}

// hasRoom tells whether a new subject may be held, and drops idle ones for it. It
// looks at a few each time and goes on from there the next, so that a flood
// can't make every request a walk through all.
func (s *shard) hasRoom() bool {
	for range searchSteps {
		if len(s.ring) < s.limit {
			return true
		}
		s.hand %= len(s.ring)
		if s.ring[s.hand].idle(s.time) {
			s.drop(s.hand)
		} else {
			s.hand++
		}
	}
	return len(s.ring) < s.limit
}

func (s *shard) drop(i int) {
	delete(s.held, s.ring[i].name)
	last := len(s.ring) - 1
	s.ring[i], s.ring[last] = s.ring[last], nil
	s.ring = s.ring[:last]
}
