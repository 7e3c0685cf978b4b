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

// attemptLimit is how many tries somebody has within a time.
type attemptLimit struct {
	attempts  int
	window time.Duration
}

// The allowances of sign-in. Only tries that fail are used up. One client that
// guesses at one name is stopped first. A name can't be closed by a few
// clients: that takes many of them, and its sessions go on meanwhile. Names
// that nobody has are counted like others, so that a refusal tells nothing.
// Codes are few, and who tries them knows the password: they have the least.
var (
	perNameAndAddress = attemptLimit{5, 15 * time.Minute}
	perName           = attemptLimit{50, 15 * time.Minute}
	perAddress        = attemptLimit{200, 15 * time.Minute}
	perCode           = attemptLimit{5, time.Hour}
	perOwnPassword    = attemptLimit{5, 15 * time.Minute} // asked again of who is signed in
)

// maxCounters bounds how many tallies are kept; a full memory forgets others.
// It holds what can fail in a quarter of an hour at the rate of the hashes.
const maxCounters = 100_000

// throttle counts tries in memory: a restart forgets them, which gains a
// guesser nothing that the counts do not give within minutes.
type throttle struct {
	mutex   sync.Mutex
	counters map[digest]*counter
}

// digest is a digest of what is counted, so that it takes the same room
// whatever was typed.
type digest [sha256.Size]byte

// counter is a subject's tries.
type counter struct {
	attemptLimit
	at []time.Time // oldest first
}

// attempt is one try, counted under one or more subjects.
type attempt struct {
	at       time.Time
	subjects []subject
}

type subject struct {
	digest
	attemptLimit
}

func subjectOf(a attemptLimit, kind string, names ...string) subject {
	return subject{sha256.Sum256([]byte(kind + "\x00" + strings.Join(names, "\x00"))), a}
}

// begin counts a try before it is made, so that many at once are no way around.
// Where an allowance is used up, nothing is counted and it is Throttled.
func (t *throttle) begin(now time.Time, subjects ...subject) (attempt, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	wait := time.Duration(0)
	for _, s := range subjects {
		wait = max(wait, t.counters[s.digest].wait(now))
	}
	if wait > 0 {
		return attempt{}, &db.Error{Code: db.Throttled, RetryAfter: wait, Message: "too many tries that failed; wait " + minutes(wait) + " and try again"}
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

// wait is how long there is no further try.
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

// evict forgets what is over, or else anything, where the memory is full.
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

// refund takes a try back that did not fail.
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

// reset gives a subject all its tries anew.
func (t *throttle) reset(s subject) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	delete(t.counters, s.digest)
}

// minutes says how long a wait is.
func minutes(wait time.Duration) string {
	if wait <= time.Minute {
		return "a minute"
	}
	return fmt.Sprintf("%.0f minutes", math.Ceil(wait.Minutes()))
}
