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

// allowance is how many tries somebody has within a time.
type allowance struct {
	tries  int
	within time.Duration
}

// The allowances of sign-in. Only tries that fail are used up. One client that
// guesses at one name is stopped first. A name can't be closed by a few
// clients: that takes many of them, and its sessions go on meanwhile. Names
// that nobody has are counted like others, so that a refusal tells nothing.
// Codes are few, and who tries them knows the password: they have the least.
var (
	perNameAndAddress = allowance{5, 15 * time.Minute}
	perName           = allowance{50, 15 * time.Minute}
	perAddress        = allowance{200, 15 * time.Minute}
	perCode           = allowance{5, time.Hour}
	perOwnPassword    = allowance{5, 15 * time.Minute} // asked again of who is signed in
)

// throttleKept bounds how many tallies are kept; a full memory forgets others.
// It holds what can fail in a quarter of an hour at the rate of the hashes.
const throttleKept = 100_000

// throttle counts tries in memory: a restart forgets them, which gains a
// guesser nothing that the counts do not give within minutes.
type throttle struct {
	mutex   sync.Mutex
	tallies map[counted]*tally
}

// counted is a digest of what is counted, so that it takes the same room
// whatever was typed.
type counted [sha256.Size]byte

// tally is a subject's tries.
type tally struct {
	allowance
	at []time.Time // oldest first
}

// try is one try, counted under one or more subjects.
type try struct {
	at       time.Time
	subjects []subject
}

type subject struct {
	counted
	allowance
}

func subjectOf(a allowance, kind string, names ...string) subject {
	return subject{sha256.Sum256([]byte(kind + "\x00" + strings.Join(names, "\x00"))), a}
}

// take counts a try before it is made, so that many at once are no way around.
// Where an allowance is used up, nothing is counted and it is Throttled.
func (t *throttle) take(now time.Time, subjects ...subject) (try, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	wait := time.Duration(0)
	for _, s := range subjects {
		wait = max(wait, t.tallies[s.counted].wait(now))
	}
	if wait > 0 {
		return try{}, &db.Error{Code: db.Throttled, RetryAfter: wait, Message: "too many tries that failed; wait " + minutes(wait) + " and try again"}
	}
	for _, s := range subjects {
		c := t.tallies[s.counted]
		if c == nil {
			t.makeRoom(now)
			c = &tally{allowance: s.allowance}
			t.tallies[s.counted] = c
		}
		c.at = append(c.at, now)
	}
	return try{now, subjects}, nil
}

// wait is how long there is no further try.
func (c *tally) wait(now time.Time) time.Duration {
	if c == nil {
		return 0
	}
	c.at = slices.DeleteFunc(c.at, func(at time.Time) bool { return now.Sub(at) >= c.within })
	if len(c.at) < c.tries {
		return 0
	}
	return c.at[len(c.at)-c.tries].Add(c.within).Sub(now)
}

// makeRoom forgets what is over, or else anything, where the memory is full.
func (t *throttle) makeRoom(now time.Time) {
	if t.tallies == nil {
		t.tallies = map[counted]*tally{}
	}
	if len(t.tallies) < throttleKept {
		return
	}
	for key, c := range t.tallies {
		if c.wait(now); len(c.at) == 0 {
			delete(t.tallies, key)
		}
	}
	for key := range t.tallies {
		if len(t.tallies) < throttleKept {
			return
		}
		delete(t.tallies, key)
	}
}

// giveBack takes a try back that did not fail.
func (t *throttle) giveBack(made try) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, s := range made.subjects {
		if c := t.tallies[s.counted]; c != nil {
			if i := slices.Index(c.at, made.at); i >= 0 {
				c.at = slices.Delete(c.at, i, i+1)
			}
			if len(c.at) == 0 {
				delete(t.tallies, s.counted)
			}
		}
	}
}

// forget gives a subject all its tries anew.
func (t *throttle) forget(s subject) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	delete(t.tallies, s.counted)
}

// minutes says how long a wait is.
func minutes(wait time.Duration) string {
	if wait <= time.Minute {
		return "a minute"
	}
	return fmt.Sprintf("%.0f minutes", math.Ceil(wait.Minutes()))
}
