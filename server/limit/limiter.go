// Package limit limits requests. Every subject, a key or a client address, has a
// token bucket and a rolling day of 24 hours (specification, Limits). The state is
// in memory; the counts of the day can be saved and loaded. A Budget limits the
// memory of responses.
package limit

import (
	"hash/maphash"
	"math"
	"strings"
	"sync"
	"time"
)

// unlimited means no limit. Every real limit is less.
const unlimited = math.MaxInt32

// maxPerMinute is the largest limit whose bucket fits an int64; see token.
const maxPerMinute = 100_000_000

// Rate is the limit of a subject (specification, Limits). Zero or less, or more
// than 100,000,000 a minute or 2,147,483,646 a day, is no limit. Without a limit a
// day, requests do not count for the day.
type Rate struct {
	PerMinute int // the bucket's capacity in requests; it refills by a sixtieth each second
	PerDay    int // requests in any 24 hours
}

func (r Rate) bounded() Rate {
	if r.PerMinute <= 0 || r.PerMinute > maxPerMinute {
		r.PerMinute = unlimited
	}
	if r.PerDay <= 0 || r.PerDay > unlimited {
		r.PerDay = unlimited
	}
	return r
}

// Decision is the state of a subject after a call, as in the response headers
// (specification, Limits). math.MaxInt32 is no limit.
type Decision struct {
	Allowed    bool          // Allow: the request is allowed; Peek: one would be
	Limit      int           // requests a minute
	Remaining  int           // requests available now, in the bucket and in the day
	Day        int           // requests in a rolling 24 hours
	Reset      time.Time     // when the bucket is full again; now if it is full
	RetryAfter time.Duration // until a request would be allowed, exact to the nanosecond; 0 when Allowed
}

// Limiter has the state of all subjects. It is safe for concurrent use.
//
// Its time never goes backwards. If the clock is set back, no time has passed
// since the last call, so a subject neither gains requests nor waits for the
// clock. Times of time.Now have a monotonic reading, which a change of the wall
// clock does not affect.
type Limiter struct {
	now      func() time.Time
	seed     maphash.Seed
	shards   []*shard
	mask     uint64
	overflow *shard

	mu       sync.Mutex
	restored []Count
}

const (
	maxShards   = 32
	minPerShard = 1024 // so that chance fills the shards evenly
)

// New returns a Limiter of at most capacity subjects. A new subject replaces an
// idle one, whose bucket is full and whose day is empty, because both are in the
// same state. If no idle one is found, new subjects share a single bucket and day:
// a flood of subjects is limited as one caller. Use one Limiter for authenticated
// callers and another for the rest.
//
// now is called with a lock held and must not call the Limiter.
func New(now func() time.Time, capacity int) *Limiter {
	n := 1
	for n < maxShards && capacity/n >= 2*minPerShard {
		n *= 2
	}
	l := &Limiter{now: now, seed: maphash.MakeSeed(), overflow: newShard(now, 1)}
	l.overflow.add("")
	for range n {
		l.shards = append(l.shards, newShard(now, max(1, capacity/n)))
	}
	for n > 1 {
		n /= 2
		l.mask = l.mask<<1 | 1
	}
	return l
}

// Allow takes one request from the bucket and the day of the subject if both have
// one. A refused request takes nothing (specification, Limits and Errors:
// rate_limit_exceeded). A new rate applies immediately, but a higher one does not
// fill the bucket.
func (l *Limiter) Allow(subject string, rate Rate) Decision {
	return l.decide((*shard).allow, subject, rate)
}

// Peek returns the decision of Allow without taking a request or adding the subject.
func (l *Limiter) Peek(subject string, rate Rate) Decision {
	return l.decide((*shard).peek, subject, rate)
}

// decide asks the subject's shard, or the overflow if that has no place for the subject.
func (l *Limiter) decide(ask func(*shard, string, Rate) (Decision, bool), subject string, rate Rate) Decision {
	rate = rate.bounded()
	d, ok := ask(l.shard(subject), subject, rate)
	if !ok {
		d, _ = ask(l.overflow, "", rate)
	}
	return d
}

func (l *Limiter) shard(subject string) *shard {
	return l.shards[maphash.String(l.seed, subject)&l.mask]
}

type subject struct {
	name   string
	bucket bucket
	day    day
}

func (s *subject) idle(at time.Duration) bool {
	return s.day.emptyAt(at) && s.bucket.fullAt(at)
}

// shard is a part of the subjects, with a lock.
type shard struct {
	mu       sync.Mutex
	now      func() time.Time
	last     time.Time     // the last time of the clock
	time     time.Duration // the shard's own time, which never goes backwards
	subjects map[string]*subject
	list     []*subject // the subjects, for the search of an idle one
	next     int        // index in list at which the next search starts
	limit    int        // the maximum length of list
}

const (
	// epoch is the shard's time at its start. Saved slots are before it and must not
	// be negative.
	epoch = 2 * (window + slotWidth)
	// maxStep is longer than any bucket or day lasts. Longer steps of the clock are
	// shortened to it, so that the shard's time can't overflow.
	maxStep = 2 * (window + slotWidth)
	// maxEvictionSteps limits the search for an idle subject.
	maxEvictionSteps = 8
)

func newShard(now func() time.Time, limit int) *shard {
	t := now()
	// Slots start at multiples of their width on the wall clock, so that a slot
	// saved before a restart is one slot again.
	phase := time.Duration(t.Unix()%int64(slotWidth/time.Second))*time.Second + time.Duration(t.Nanosecond())
	return &shard{now: now, last: t, time: epoch + phase, subjects: map[string]*subject{}, limit: limit}
}

// advance reads the clock. The caller holds the lock, so that the times are in
// order.
func (s *shard) advance() {
	now := s.now()
	if d := now.Sub(s.last); d > maxStep {
		s.time += maxStep + d%slotWidth
	} else if d > 0 {
		s.time += d
	}
	s.last = now
}

// allow returns false if name is new and the shard is full.
func (s *shard) allow(name string, rate Rate) (Decision, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	sub := s.subjects[name]
	if sub == nil {
		if !s.makeRoom() {
			return Decision{}, false
		}
		sub = s.add(name)
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

// peek returns false if allow would.
func (s *shard) peek(name string, rate Rate) (Decision, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	sub := s.subjects[name]
	if sub == nil {
		if !s.makeRoom() {
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

// add adds a subject. It copies the name, which may be a part of a long header.
func (s *shard) add(name string) *subject {
	sub := &subject{name: strings.Clone(name), bucket: fullBucket}
	s.subjects[sub.name] = sub
	s.list = append(s.list, sub)
	return sub
}

// makeRoom reports whether a subject can be added, and removes idle ones for it.
// It checks a few subjects in each call and continues there in the next, so that
// in a flood no request searches all of them.
func (s *shard) makeRoom() bool {
	for range maxEvictionSteps {
		if len(s.list) < s.limit {
			return true
		}
		s.next %= len(s.list)
		if s.list[s.next].idle(s.time) {
			s.remove(s.next)
		} else {
			s.next++
		}
	}
	return len(s.list) < s.limit
}

func (s *shard) remove(i int) {
	delete(s.subjects, s.list[i].name)
	last := len(s.list) - 1
	s.list[i], s.list[last] = s.list[last], nil
	s.list = s.list[:last]
}
