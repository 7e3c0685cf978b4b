package limit_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"govsvc/server/limit"
)

// disk is what a process leaves to the next.
type disk map[limit.Count]int

func (d disk) save(counts []limit.Count) {
	for _, c := range counts {
		n := c.Requests
		c.Requests = 0
		d[c] += n
	}
}

func (d disk) counts() (counts []limit.Count) {
	for c, n := range d {
		c.Requests = n
		counts = append(counts, c)
	}
	return counts
}

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
	expect := func(what string, want []limit.Count) {
		t.Helper()
		if diff := cmp.Diff(want, limiter.Unsaved(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
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
	expect("once cleared", nil)

	ask(limiter, "a", 1, fiveADay)
	limiter.Restore(first)
	limiter.Restore([]limit.Count{{"b", start, 1}})
	expect("restored, with new ones", []limit.Count{{"a", start, 3}, {"a", start + 60, 2}, {"b", start, 6}})

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
		"this slot":          {[]limit.Count{{"a", start, 2}}, 3, 0},
		"added up":           {[]limit.Count{{"a", start, 2}, {"a", start - 60, 1}, {"a", start, 1}}, 1, 0},
		"of another":         {[]limit.Count{{"b", start, 5}}, 5, 0},
		"more than allowed":  {[]limit.Count{{"a", start, 500}}, 0, 24*time.Hour + 36*time.Second},
		"at the edge":        {[]limit.Count{{"a", start - day, 5}}, 0, 36 * time.Second},
		"past the edge":      {[]limit.Count{{"a", start - day - 60, 5}}, 5, 0},
		"within this slot":   {[]limit.Count{{"a", start + 12, 5}}, 0, 24*time.Hour + 36*time.Second},
		"between two slots":  {[]limit.Count{{"a", start - day - 59, 5}}, 0, 36 * time.Second},
		"in the future":      {[]limit.Count{{"a", start + 400*day, 5}}, 0, 24*time.Hour + 36*time.Second},
		"in no time at all":  {[]limit.Count{{"a", math.MinInt64, 5}, {"a", 0, 5}}, 5, 0},
		"in no time to come": {[]limit.Count{{"a", 1 << 50, 5}}, 0, 24*time.Hour + 36*time.Second},
		"nothing":            {[]limit.Count{{"a", start, 0}, {"a", start, -3}}, 5, 0},
		"too many to count":  {[]limit.Count{{"a", start, math.MaxInt}, {"a", start - 60, math.MaxInt}}, 0, 24*time.Hour + 36*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newClock()
			clock.Advance(24 * time.Second)
			limiter := limit.New(clock.Now, 10)
			limiter.Load(row.counts)
			d := limiter.Peek("a", fiveADay)
			if d.Remaining != row.remaining || d.RetryAfter != row.retry {
				t.Errorf("remaining %d, retry after %v; want %d, %v", d.Remaining, d.RetryAfter, row.remaining, row.retry)
			}
			if got := limiter.Unsaved(); len(got) != 0 {
				t.Errorf("loaded counts are unsaved: %v", got)
			}
		})
	}
}

func TestLoadMoreThanCapacity(t *testing.T) {
	t.Parallel()
	clock := newClock()
	limiter := limit.New(clock.Now, 1)
	limiter.Load([]limit.Count{{"a", clock.Now().Unix(), 5}, {"b", clock.Now().Unix(), 4}})
	if got := ask(limiter, "a", 9, fiveADay); got != 0 {
		t.Errorf("a: %d allowed, want 0", got)
	}
	if got := ask(limiter, "b", 9, fiveADay); got != 1 {
		t.Errorf("b: %d allowed, want 1", got)
	}
}

// TestSetBack saves under a clock that is an hour fast, sets it right, saves
// again and restarts: the requests keep their age.
func TestSetBack(t *testing.T) {
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
		t.Errorf("wait %v before the restart, %v after", before, after)
	}
}

// TestSetBackALittle is what two readings of one clock differ by: the slot stays
// the same, saved and loaded.
func TestSetBackALittle(t *testing.T) {
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
		t.Errorf("wait %v after the restart, want %v", got, want)
	}
}

// TestRestarts kills the process again and again, with saves before that fail
// or not. A kill loses what was counted since the last save and nothing else.
func TestRestarts(t *testing.T) {
	t.Parallel()
	rng := random(t)
	for range *roundsFlag {
		clock := newClock()
		clock.Advance(time.Duration(rng.Int64N(int64(time.Hour))))
		limiter := limit.New(clock.Now, 10)
		saved := disk{}
		rate := limit.Rate{PerDay: 50}
		var elapsed time.Duration
		var allowed []time.Duration
		var unsaved int // of allowed, the last ones
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
				t.Fatalf("remaining %d, want %d", limiter.Peek("a", rate).Remaining, left)
			}
		}
	}
}

// remaining is what allowed, in time elapsed until now, leaves of the day.
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
