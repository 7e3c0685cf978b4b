package limit_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"govsvc/server/limit"
)

// savedCounts is what a process saves for the next one.
type savedCounts map[limit.Count]int

func (d savedCounts) save(counts []limit.Count) {
	for _, c := range counts {
		n := c.Requests
		c.Requests = 0
		d[c] += n
	}
}

func (d savedCounts) counts() (counts []limit.Count) {
	for c, n := range d {
		c.Requests = n
		counts = append(counts, c)
	}
	return counts
}

// ask makes n requests of a subject and returns how many are allowed.
func ask(limiter *limit.Limiter, subject string, n int, rate limit.Rate) (allowed int) {
	for range n {
		if limiter.Allow(subject, rate).Allowed {
			allowed++
		}
	}
	return allowed
}

var fiveADay = limit.Rate{PerDay: 5}

func TestUnsaved(t *testing.T) {
	t.Parallel()
	clock := newClock()
	start := clock.Now().Unix()
	limiter := limit.New(clock.Now, 10)
	expect := func(name string, want []limit.Count) {
		t.Helper()
		if diff := cmp.Diff(want, limiter.Unsaved(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	ask(limiter, "b", 100, fiveADay)
	ask(limiter, "a", 2, fiveADay)
	ask(limiter, "uncounted", 2, limit.Rate{PerMinute: 10})
	clock.Advance(59 * time.Second)
	ask(limiter, "a", 1, fiveADay)
	clock.Advance(time.Second)
	ask(limiter, "a", 1, fiveADay)
	first := []limit.Count{{"a", start, 3}, {"a", start + 60, 1}, {"b", start, 5}}
	expect("the first time", first)
	expect("after the counts were taken", nil)

	ask(limiter, "a", 1, fiveADay)
	limiter.Restore(first)
	limiter.Restore([]limit.Count{{"b", start, 1}})
	expect("restored counts and new ones", []limit.Count{{"a", start, 3}, {"a", start + 60, 2}, {"b", start, 6}})

	limiter.Restore(first)
	clock.Advance(24*time.Hour + time.Minute)
	limiter.Restore(first)
	expect("older than a day when restored", []limit.Count{{"a", start, 3}, {"a", start + 60, 1}, {"b", start, 5}})

	ask(limiter, "a", 1, fiveADay)
	clock.Advance(25 * time.Hour)
	expect("older than a day", nil)
}

func TestLoad(t *testing.T) {
	t.Parallel()
	start := newClock().Now().Unix()
	const day = 24 * 60 * 60
	for name, row := range map[string]struct {
		counts    []limit.Count
		remaining int
		retry     time.Duration
	}{
		"this slot":              {[]limit.Count{{"a", start, 2}}, 3, 0},
		"added up":               {[]limit.Count{{"a", start, 2}, {"a", start - 60, 1}, {"a", start, 1}}, 1, 0},
		"of another subject":     {[]limit.Count{{"b", start, 5}}, 5, 0},
		"more than allowed":      {[]limit.Count{{"a", start, 500}}, 0, 24*time.Hour + 36*time.Second},
		"at the end of a day":    {[]limit.Count{{"a", start - day, 5}}, 0, 36 * time.Second},
		"after the end of a day": {[]limit.Count{{"a", start - day - 60, 5}}, 5, 0},
		"within this slot":       {[]limit.Count{{"a", start + 12, 5}}, 0, 24*time.Hour + 36*time.Second},
		"between two slots":      {[]limit.Count{{"a", start - day - 59, 5}}, 0, 36 * time.Second},
		"in the future":          {[]limit.Count{{"a", start + 400*day, 5}}, 0, 24*time.Hour + 36*time.Second},
		"far in the past":        {[]limit.Count{{"a", math.MinInt64, 5}, {"a", 0, 5}}, 5, 0},
		"far in the future":      {[]limit.Count{{"a", 1 << 50, 5}}, 0, 24*time.Hour + 36*time.Second},
		"nothing":                {[]limit.Count{{"a", start, 0}, {"a", start, -3}}, 5, 0},
		"too many to count":      {[]limit.Count{{"a", start, math.MaxInt}, {"a", start - 60, math.MaxInt}}, 0, 24*time.Hour + 36*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newClock()
			clock.Advance(24 * time.Second)
			limiter := limit.New(clock.Now, 10)
			limiter.Load(row.counts)
			d := limiter.Peek("a", fiveADay)
			if d.Remaining != row.remaining || d.RetryAfter != row.retry {
				t.Errorf("got %d remaining, retry after %v, want %d, %v", d.Remaining, d.RetryAfter, row.remaining, row.retry)
			}
			if got := limiter.Unsaved(); len(got) != 0 {
				t.Errorf("got unsaved counts %v after Load, want none", got)
			}
		})
	}
}

func TestLoad_OverCapacity(t *testing.T) {
	t.Parallel()
	clock := newClock()
	limiter := limit.New(clock.Now, 1)
	limiter.Load([]limit.Count{{"a", clock.Now().Unix(), 5}, {"b", clock.Now().Unix(), 4}})
	if got := ask(limiter, "a", 9, fiveADay); got != 0 {
		t.Errorf("subject a: got %d allowed, want 0", got)
	}
	if got := ask(limiter, "b", 9, fiveADay); got != 1 {
		t.Errorf("subject b: got %d allowed, want 1", got)
	}
}

// TestUnsaved_ClockSetBack counts requests by a clock that is an hour fast, sets the clock
// back and restarts. The requests keep their age.
func TestUnsaved_ClockSetBack(t *testing.T) {
	t.Parallel()
	clock := newClock()
	limiter := limit.New(clock.Now, 10)
	ask(limiter, "a", 2, fiveADay)
	clock.Advance(10 * time.Minute)
	limiter.Peek("a", fiveADay)
	clock.Advance(-time.Hour - 90*time.Second)
	counts := limiter.Unsaved()
	want := []limit.Count{{"a", newClock().Now().Add(-time.Hour - 90*time.Second).Unix(), 2}}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("Unsaved (-want +got):\n%s", diff)
	}
	restarted := limit.New(clock.Now, 10)
	restarted.Load(counts)
	before := limiter.Peek("a", limit.Rate{PerDay: 2}).RetryAfter
	after := restarted.Peek("a", limit.Rate{PerDay: 2}).RetryAfter
	if before != 23*time.Hour+51*time.Minute || after < before || after > before+time.Minute {
		t.Errorf("got the wait %v before the restart and %v after it", before, after)
	}
}

// TestUnsaved_ClockSetBackSlightly checks that a count stays in its slot if the clock goes
// back by a millisecond.
func TestUnsaved_ClockSetBackSlightly(t *testing.T) {
	t.Parallel()
	clock := newClock()
	limiter := limit.New(clock.Now, 10)
	ask(limiter, "a", 1, fiveADay)
	clock.Advance(-time.Millisecond)
	counts := limiter.Unsaved()
	if diff := cmp.Diff([]limit.Count{{"a", newClock().Now().Unix(), 1}}, counts); diff != "" {
		t.Errorf("Unsaved (-want +got):\n%s", diff)
	}
	clock.Advance(time.Second)
	restarted := limit.New(clock.Now, 10)
	clock.Advance(time.Millisecond)
	restarted.Load(counts)
	want := 24*time.Hour + time.Minute - time.Second
	if got := restarted.Peek("a", limit.Rate{PerDay: 1}).RetryAfter; got != want {
		t.Errorf("got the wait %v after the restart, want %v", got, want)
	}
}

// TestLoad_Restarts restarts a limiter many times, with saves between that succeed or fail.
// A restart loses the requests since the last save and nothing else.
func TestLoad_Restarts(t *testing.T) {
	t.Parallel()
	rng := random(t)
	for range *roundsFlag {
		clock := newClock()
		clock.Advance(time.Duration(rng.Int64N(int64(time.Hour))))
		limiter := limit.New(clock.Now, 10)
		saved := savedCounts{}
		rate := limit.Rate{PerDay: 50}
		var elapsed time.Duration
		var allowed []time.Duration
		var unsaved int // how many of the last allowed ones are not saved
		for range 200 {
			d := time.Duration(rng.Int64N(int64(time.Hour)))
			clock.Advance(d)
			elapsed += d
			for range ask(limiter, "a", rng.IntN(9), rate) {
				allowed = append(allowed, elapsed)
				unsaved++
			}
			switch rng.IntN(6) {
			case 0, 1:
				saved.save(limiter.Unsaved())
				unsaved = 0
			case 2:
				limiter.Restore(limiter.Unsaved())
			case 3:
				limiter = limit.New(clock.Now, 10)
				limiter.Load(saved.counts())
				allowed = allowed[:len(allowed)-unsaved]
				unsaved = 0
			}
			if left := remaining(rate, allowed, elapsed, clock.Now()); limiter.Peek("a", rate).Remaining != left {
				t.Fatalf("got %d remaining, want %d", limiter.Peek("a", rate).Remaining, left)
			}
		}
	}
}

// remaining returns how many requests of the day are left after the allowed ones.
func remaining(rate limit.Rate, allowed []time.Duration, elapsed time.Duration, now time.Time) int {
	left := rate.PerDay
	for _, at := range allowed {
		slot := now.Add(at - elapsed).Truncate(time.Minute)
		if now.Sub(slot) < 24*time.Hour+time.Minute {
			left--
		}
	}
	return left
}
