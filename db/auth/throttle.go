package auth

import (
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"govsvc/db"
)

// attemptLimit is how many failed attempts are allowed within a time.
type attemptLimit struct {
	attempts int
	window   time.Duration
}

// The limits of sign-in. Only failed attempts count. A client that guesses at one name
// reaches its limit first. To block a name takes many clients, and sessions of the user
// continue. Unknown names count like known ones, so that a refusal does not reveal which
// names exist. Codes have the lowest limit: there are few of them, and a client that
// guesses codes knows the password.
var (
	perNameAndAddress = attemptLimit{5, 15 * time.Minute}
	perName           = attemptLimit{50, 15 * time.Minute}
	perAddress        = attemptLimit{200, 15 * time.Minute}
	perCode           = attemptLimit{5, time.Hour}
	perOwnPassword    = attemptLimit{5, 15 * time.Minute} // of a signed-in user
)

// maxCounters limits the counters in memory. The rate of hashing allows fewer failed
// attempts in a quarter of an hour.
const maxCounters = 100_000

// throttle counts failed attempts in memory. A restart resets the counters. They expire
// within minutes anyway.
type throttle struct {
	mutex    sync.Mutex
	counters map[digest]*counter
}

// digest identifies what is counted. All digests have the same size, even those of long
// names.
type digest [sha256.Size]byte

// counter holds the attempts of one subject.
type counter struct {
	attemptLimit
	at []time.Time // oldest first
}

// attempt is one attempt, which counts for one or more subjects.
type attempt struct {
	at       time.Time
	subjects []subject
}

// subject is a name, an address or a user whose attempts are limited.
type subject struct {
	digest
	attemptLimit
}

func subjectOf(limit attemptLimit, kind string, names ...string) subject {
	return subject{sha256.Sum256([]byte(kind + "\x00" + strings.Join(names, "\x00"))), limit}
}

// begin counts an attempt before it is made, so that parallel attempts can't exceed the
// limit. If a limit is reached, it counts nothing and returns Throttled.
func (t *throttle) begin(now time.Time, subjects ...subject) (attempt, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	wait := time.Duration(0)
	for _, s := range subjects {
		wait = max(wait, t.counters[s.digest].wait(now))
	}
	if wait > 0 {
		return attempt{}, &db.Error{Code: db.Throttled, RetryAfter: wait, Message: "too many failed attempts; wait " + minutes(wait) + " and try again"}
	}
	for _, s := range subjects {
		c := t.counters[s.digest]
		if c == nil {
			t.evict(now)
			c = &counter{attemptLimit: s.attemptLimit}
			t.counters[s.digest] = c
		}
		c.at = append(c.at, now)
	}
	return attempt{now, subjects}, nil
}

// wait returns the time until the next attempt is allowed.
func (c *counter) wait(now time.Time) time.Duration {
	if c == nil {
		return 0
	}
	c.at = slices.DeleteFunc(c.at, func(at time.Time) bool { return now.Sub(at) >= c.window })
	if len(c.at) < c.attempts {
		return 0
	}
	return c.at[len(c.at)-c.attempts].Add(c.window).Sub(now)
}

// evict makes room for a counter. It removes expired counters, or others if there are
// none.
func (t *throttle) evict(now time.Time) {
	if t.counters == nil {
		t.counters = map[digest]*counter{}
	}
	if len(t.counters) < maxCounters {
		return
	}
	for key, c := range t.counters {
		if c.wait(now); len(c.at) == 0 {
			delete(t.counters, key)
		}
	}
	for key := range t.counters {
		if len(t.counters) < maxCounters {
			return
		}
		delete(t.counters, key)
	}
}

// refund removes an attempt that did not fail.
func (t *throttle) refund(made attempt) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, s := range made.subjects {
		if c := t.counters[s.digest]; c != nil {
			if i := slices.Index(c.at, made.at); i >= 0 {
				c.at = slices.Delete(c.at, i, i+1)
			}
			if len(c.at) == 0 {
				delete(t.counters, s.digest)
			}
		}
	}
}

// reset removes all attempts of a subject.
func (t *throttle) reset(s subject) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	delete(t.counters, s.digest)
}

// minutes formats a wait for a message.
func minutes(wait time.Duration) string {
	if wait <= time.Minute {
		return "a minute"
	}
	return fmt.Sprintf("%.0f minutes", math.Ceil(wait.Minutes()))
}
