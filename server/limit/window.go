package limit

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// token is one request in units of a bucket's level. A nanosecond adds PerMinute
// units, so that refill and wait are exact integers.
const token = int64(time.Minute)

// bucket is a token bucket. An empty one is full after a minute at any rate.
type bucket struct {
	level     int64         // in units of token
	at        time.Duration // the shard's time of the level
	perMinute int           // the rate at that time
}

// fullBucket is full at any rate.
var fullBucket = bucket{level: math.MaxInt64, perMinute: unlimited}

// refill brings b to the time at and the rate perMinute. If the rate changed, the
// time of the change is unknown, so the lower rate counts for all of the time.
func (b *bucket) refill(at time.Duration, perMinute int) {
	slower := int64(min(b.perMinute, perMinute))
	elapsed := int64(min(at-b.at, time.Minute))
	b.at, b.perMinute = at, perMinute
	if perMinute == unlimited {
		b.level = math.MaxInt64
		return
	}
	capacity := slower * token
	if gain := slower * elapsed; gain < capacity-b.level {
		b.level += gain
	} else {
		b.level = capacity
	}
}

func (b *bucket) take() {
	if b.perMinute != unlimited {
		b.level -= token
	}
}

// tokens returns the number of whole requests in b.
func (b *bucket) tokens() int {
	if b.perMinute == unlimited {
		return unlimited
	}
	return int(b.level / token)
}

// wait returns the time until b has one request.
func (b *bucket) wait() time.Duration { return b.until(token) }

// untilFull returns the time until b is full.
func (b *bucket) untilFull() time.Duration { return b.until(int64(b.perMinute) * token) }

func (b *bucket) until(level int64) time.Duration {
	if b.perMinute == unlimited || b.level >= level {
		return 0
	}
	perNano := int64(b.perMinute)
	return time.Duration((level - b.level + perNano - 1) / perNano)
}

// fullAt reports whether b is full at that time if nothing is taken.
func (b bucket) fullAt(at time.Duration) bool {
	b.refill(at, b.perMinute)
	return b.untilFull() == 0
}

const (
	window    = 24 * time.Hour
	slotWidth = time.Minute
)

// slot counts the requests of one minute. A whole day has less than 2,147,483,647
// requests, so its counts do not overflow.
type slot struct {
	index    int32 // of the shard's time, in slot widths
	requests int32
	unsaved  int32 // the part of requests that is not saved yet
}

// day counts the requests of the rolling 24 hours. A slot counts until all of it
// is 24 hours ago. No 24 hours have more than PerDay requests, and a wait is at
// most 24 hours and one minute (contract, section 2).
type day struct {
	slots []slot // oldest first, only those with requests
	total int    // requests in slots
	dirty bool   // a slot has unsaved requests
}

func slotAt(at time.Duration) int32 {
	return int32(at / slotWidth) //nolint:gosec // the maximum Duration, 292 years, fits
}

func (s slot) start() time.Duration { return time.Duration(s.index) * slotWidth }

func (s slot) end() time.Duration { return s.start() + slotWidth + window }

func (d *day) expire(at time.Duration) {
	n := 0
	for n < len(d.slots) && d.slots[n].end() <= at {
		d.total -= int(d.slots[n].requests)
		n++
	}
	if n > 0 {
		d.slots = slices.Delete(d.slots, 0, n)
	}
}

// emptyAt reports whether d is empty at that time if no request comes.
func (d *day) emptyAt(at time.Duration) bool {
	return len(d.slots) == 0 || d.slots[len(d.slots)-1].end() <= at
}

// take counts one request. The shard's time only grows, so its slot is the last.
func (d *day) take(at time.Duration) {
	index := slotAt(at)
	if n := len(d.slots); n == 0 || d.slots[n-1].index != index {
		d.slots = append(d.slots, slot{index: index})
	}
	last := &d.slots[len(d.slots)-1]
	last.requests++
	last.unsaved++
	d.total++
	d.dirty = true
}

// load counts saved requests of a slot.
func (d *day) load(index int32, requests int) {
	requests = min(requests, unlimited-1-d.total)
	i, found := slices.BinarySearchFunc(d.slots, index, func(s slot, index int32) int {
		return cmp.Compare(s.index, index)
	})
	if !found {
		d.slots = slices.Insert(d.slots, i, slot{index: index})
	}
	d.slots[i].requests += int32(requests) //nolint:gosec // bounded above
	d.total += requests
}

// left returns the number of requests that perDay still allows.
func (d *day) left(perDay int) int {
	if perDay == unlimited {
		return unlimited
	}
	return max(0, perDay-d.total)
}

// wait returns the time until perDay allows a request, which is when enough of the
// oldest slots have expired.
func (d *day) wait(at time.Duration, perDay int) time.Duration {
	surplus := d.total - perDay
	for i := 0; surplus >= 0 && i < len(d.slots); i++ {
		surplus -= int(d.slots[i].requests)
		if surplus < 0 {
			return d.slots[i].end() - at
		}
	}
	return 0
}
