// Package limit decides whether a caller may make one more request. Every
// subject (a key or a client address) has a token bucket and a rolling day of
// 24 hours, as the section Limits of the specification sets out. The state
// lives in memory; the counts of the day can be saved and loaded.
package limit

import (
	"hash/maphash"
	"math"
	"sync"
	"time"
)

// unlimited is how the absence of a limit is reckoned and shown. It is also
// more than any limit in force can be.
const unlimited = math.MaxInt32

// maxPerMinute keeps a bucket's level within an int64; see token.
const maxPerMinute = 100_000_000

// Rate is what a subject is allowed (specification, section Limits). Zero or
// less, or more than 100,000,000 a minute or 2,147,483,646 a day, is no limit.
// Requests made while PerDay sets no limit are not counted towards the day.
type Rate struct {
	PerMinute int // the bucket's capacity in requests; a sixtieth of it is the refill each second
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

// Decision is the state of a subject after a call, in the terms of the
// response headers (specification, section Limits). A limit that is not set
// reads math.MaxInt32.
type Decision struct {
	Allowed    bool          // Allow: a request was taken; Peek: one would be
	Limit      int           // requests a minute
	Remaining  int           // requests available now: the lesser of the bucket's and the day's
	Day        int           // requests in a rolling 24 hours
	Reset      time.Time     // when the bucket is full again; now if it is
	RetryAfter time.Duration // until a request would be allowed, exact to the nanosecond; 0 when Allowed
}

// Limiter holds the state of all subjects. It is safe for concurrent use.
//
// Time never runs backwards for a Limiter: where the clock is set back, the
// time since the last call counts as none and goes on from there, so a subject
// neither gains requests nor waits for the clock to catch up. The readings of
// time.Now carry monotonic time, by which steps of the wall clock in either
// direction change nothing.
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

// New returns a Limiter of at most capacity subjects. Where a new one would be
// one too many, an idle one (its bucket full, its day empty) is forgotten,
// which changes nothing for it. Where none is found, new subjects share a
// single bucket and day until there is room: a flood of subjects is served as
// one caller. Callers of trust and strangers hence belong in two Limiters.
//
// now is called under a lock and must not call the Limiter.
func New(now func() time.Time, capacity int) *Limiter {
	n := 1
	for n < maxShards && capacity/n >= 2*minPerShard {
		n *= 2
	}
	l := &Limiter{now: now, seed: maphash.MakeSeed(), overflow: newShard(now, 1)}
	l.overflow.hold("")
	for range n {
		l.shards = append(l.shards, newShard(now, max(1, capacity/n)))
	}
	for n > 1 {
		n /= 2
		l.mask = l.mask<<1 | 1
	}
	return l
}

// Allow takes one request from the bucket and the day of subject if both have
// one; a refused request takes nothing (specification, sections Limits and
// Errors: rate_limit_exceeded). A rate other than that of the call before holds
// at once; a higher one fills the bucket in time, not at once.
func (l *Limiter) Allow(subject string, rate Rate) Decision {
	rate = rate.bounded()
	d, ok := l.shard(subject).allow(subject, rate)
	if !ok {
		d, _ = l.overflow.allow("", rate)
	}
	return d
}

// Peek is Allow that takes nothing and does not make subject known.
func (l *Limiter) Peek(subject string, rate Rate) Decision {
	rate = rate.bounded()
	d, ok := l.shard(subject).peek(subject, rate)
	if !ok {
		d, _ = l.overflow.peek("", rate)
	}
	return d
}

func (l *Limiter) shard(subject string) *shard {
	return l.shards[maphash.String(l.seed, subject)&l.mask]
}
