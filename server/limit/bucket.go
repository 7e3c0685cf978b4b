package limit

import (
	"math"
	"time"
)

// token is one request in the unit of a bucket's level. A nanosecond adds
// PerMinute units, so that refill and waits are exact in whole numbers.
const token = int64(time.Minute)

// bucket is a token bucket. It fills from empty in a minute at any rate.
type bucket struct {
	level     int64         // units of token
	at        time.Duration // the shard's time at which level held
	perMinute int           // the rate at that time
}

// fullBucket is full at whichever rate comes first.
var fullBucket = bucket{level: math.MaxInt64, perMinute: unlimited}

// refill brings b to the time at and the rate perMinute. When the rate changed
// since is not known, so the slower of the two counts for all the time between:
// no order of changes yields more than the rates allow.
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

// tokens counts the whole requests in b.
func (b *bucket) tokens() int {
	if b.perMinute == unlimited {
		return unlimited
	}
	return int(b.level / token)
}

// wait is the time until b holds one request.
func (b *bucket) wait() time.Duration { return b.until(token) }

// untilFull is the time until b holds all it can.
func (b *bucket) untilFull() time.Duration { return b.until(int64(b.perMinute) * token) }

func (b *bucket) until(level int64) time.Duration {
	if b.perMinute == unlimited || b.level >= level {
		return 0
	}
	perNano := int64(b.perMinute)
	return time.Duration((level - b.level + perNano - 1) / perNano)
}

// fullAt tells whether b, left alone, is full at that time.
func (b bucket) fullAt(at time.Duration) bool {
	b.refill(at, b.perMinute)
	return b.untilFull() == 0
}
