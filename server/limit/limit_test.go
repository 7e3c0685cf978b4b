package limit_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/internal/testkit"
	"govsvc/server/limit"
)

// newClock returns a clock at the start of a minute.
func newClock() *testkit.Clock {
	return testkit.NewClock(time.Date(2026, 9, 12, 8, 30, 0, 0, time.UTC))
}

const none = math.MaxInt32

// step advances the clock and makes requests of subject a. It states how many are allowed,
// and what a Peek returns after them.
type step struct {
	move      time.Duration // how far the clock advances
	rate      limit.Rate
	ask       int // requests
	allowed   int
	remaining int
	full      time.Duration // until Reset
	retry     time.Duration // of the Peek
}

func TestAllow(t *testing.T) {
	t.Parallel()
	const (
		day  = 24 * time.Hour
		year = 365 * day
	)
	minute := limit.Rate{PerMinute: 60}
	both := limit.Rate{PerMinute: 60, PerDay: 5}
	for name, steps := range map[string][]step{
		"burst to capacity, then one a second": {
			{rate: minute, ask: 61, allowed: 60, full: time.Minute, retry: time.Second},
			{move: time.Second - 1, rate: minute, ask: 1, full: time.Minute - time.Second + 1, retry: 1},
			{move: 1, rate: minute, ask: 2, allowed: 1, full: time.Minute, retry: time.Second},
			{move: 2500 * time.Millisecond, rate: minute, ask: 1, allowed: 1, remaining: 1, full: 58500 * time.Millisecond},
		},
		"a refused request takes nothing": {
			{rate: both, ask: 100, allowed: 5, full: 5 * time.Second, retry: day + time.Minute},
			{move: time.Minute, rate: minute, ask: 60, allowed: 60, full: time.Minute, retry: time.Second},
		},
		"a long pause fills the bucket to its capacity only": {
			{rate: minute, ask: 1, allowed: 1, remaining: 59, full: time.Second},
			{move: year, rate: minute, ask: 0, remaining: 60},
			{rate: minute, ask: 100, allowed: 60, full: time.Minute, retry: time.Second},
		},
		"the wait of a rate that does not divide is rounded up to the nanosecond": {
			{rate: limit.Rate{PerMinute: 7}, ask: 7, allowed: 7, full: time.Minute, retry: 8571428572},
			{move: 8571428571, rate: limit.Rate{PerMinute: 7}, ask: 1, full: 51428571429, retry: 1},
			{move: 1, rate: limit.Rate{PerMinute: 7}, ask: 1, allowed: 1, full: time.Minute, retry: 8571428571},
		},
		"one a minute": {
			{rate: limit.Rate{PerMinute: 1}, ask: 2, allowed: 1, full: time.Minute, retry: time.Minute},
			{move: time.Minute, rate: limit.Rate{PerMinute: 1}, ask: 2, allowed: 1, full: time.Minute, retry: time.Minute},
		},
		"no limit": {
			{ask: 1000, allowed: 1000, remaining: none},
			{rate: limit.Rate{PerMinute: -1, PerDay: -1}, ask: 1000, allowed: 1000, remaining: none},
			{rate: limit.Rate{PerMinute: math.MaxInt, PerDay: math.MaxInt}, ask: 1000, allowed: 1000, remaining: none},
		},
		"the highest limits": {
			{
				rate: limit.Rate{PerMinute: 100_000_000, PerDay: math.MaxInt32 - 1},
				ask:  1000, allowed: 1000, remaining: 99_999_000, full: 600 * time.Microsecond,
			},
			{move: 2 * time.Minute, rate: limit.Rate{PerMinute: 100_000_000}, ask: 0, remaining: 100_000_000},
		},
		"the limit of the day is lower": {
			{rate: both, ask: 3, allowed: 3, remaining: 2, full: 3 * time.Second},
			{move: time.Minute, rate: both, ask: 0, remaining: 2},
		},
		"a limit of the day alone": {
			{rate: limit.Rate{PerDay: 5}, ask: 6, allowed: 5, retry: day + time.Minute},
		},
		"the day moves slot by slot": {
			{rate: both, ask: 2, allowed: 2, remaining: 3, full: 2 * time.Second},
			{move: 12*time.Hour + 12*time.Second, rate: both, ask: 4, allowed: 3, full: 3 * time.Second, retry: 12*time.Hour + 48*time.Second},
			{move: 12*time.Hour + 48*time.Second - 1, rate: both, ask: 1, retry: 1},
			{move: 1, rate: both, ask: 3, allowed: 2, full: 2 * time.Second, retry: 12 * time.Hour},
			{move: 12 * time.Hour, rate: both, ask: 0, remaining: 3},
		},
		"a clock that is set back gives no request and continues from there": {
			{rate: minute, ask: 60, allowed: 60, full: time.Minute, retry: time.Second},
			{move: -year, rate: minute, ask: 1, full: time.Minute, retry: time.Second},
			{move: time.Second, rate: minute, ask: 2, allowed: 1, full: time.Minute, retry: time.Second},
		},
		"the day continues when the clock is set back": {
			{rate: both, ask: 5, allowed: 5, full: 5 * time.Second, retry: day + time.Minute},
			{move: time.Hour, rate: both, ask: 1, retry: 23*time.Hour + time.Minute},
			{move: -10 * year, rate: both, ask: 1, retry: 23*time.Hour + time.Minute},
			{move: 23*time.Hour + time.Minute, rate: both, ask: 1, allowed: 1, remaining: 4, full: time.Second},
		},
		"slots start at full minutes after a long pause": {
			{move: 10*year + 24*time.Second, rate: both, ask: 5, allowed: 5, full: 5 * time.Second, retry: day + 36*time.Second},
		},
		"centuries do not overflow": {
			{rate: both, ask: 5, allowed: 5, full: 5 * time.Second, retry: day + time.Minute},
			{move: 290 * year, rate: both, ask: 5, allowed: 5, full: 5 * time.Second, retry: day + time.Minute},
			{move: 290 * year, rate: both, ask: 5, allowed: 5, full: 5 * time.Second, retry: day + time.Minute},
			{move: -290 * year, rate: both, ask: 1, retry: day + time.Minute, full: 5 * time.Second},
			{move: -290 * year, rate: both, ask: 1, retry: day + time.Minute, full: 5 * time.Second},
		},
		"a lower rate applies immediately": {
			{rate: limit.Rate{PerMinute: 600}, ask: 100, allowed: 100, remaining: 500, full: 10 * time.Second},
			{rate: minute, ask: 0, remaining: 60},
			{rate: minute, ask: 100, allowed: 60, full: time.Minute, retry: time.Second},
		},
		"a higher rate does not fill the bucket": {
			{rate: minute, ask: 60, allowed: 60, full: time.Minute, retry: time.Second},
			{rate: limit.Rate{PerMinute: 600}, ask: 1, full: time.Minute, retry: 100 * time.Millisecond},
			{move: time.Second, rate: limit.Rate{PerMinute: 600}, ask: 11, allowed: 10, full: time.Minute, retry: 100 * time.Millisecond},
		},
		"switching between rates gives no request": {
			{rate: limit.Rate{PerMinute: 600}, ask: 600, allowed: 600, full: time.Minute, retry: 100 * time.Millisecond},
			{rate: minute, ask: 1, full: time.Minute, retry: time.Second},
			{rate: limit.Rate{PerMinute: 600}, ask: 1, full: time.Minute, retry: 100 * time.Millisecond},
		},
		"a limit after none starts full": {
			{ask: 1000, allowed: 1000, remaining: none},
			{rate: both, ask: 6, allowed: 5, full: 5 * time.Second, retry: day + time.Minute},
		},
		"a lower limit of the day applies immediately and waits for as many slots as needed": {
			{rate: limit.Rate{PerDay: 10}, ask: 4, allowed: 4, remaining: 6},
			{move: time.Hour, rate: limit.Rate{PerDay: 10}, ask: 4, allowed: 4, remaining: 2},
			{rate: limit.Rate{PerDay: 5}, ask: 1, retry: 23*time.Hour + time.Minute},
			{rate: limit.Rate{PerDay: 4}, ask: 1, retry: day + time.Minute},
			{rate: limit.Rate{PerDay: 9}, ask: 2, allowed: 1, retry: 23*time.Hour + time.Minute},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newClock()
			limiter := limit.New(clock.Now, 100)
			for i, want := range steps {
				if diff := cmp.Diff(want, want.run(clock, limiter), cmp.AllowUnexported(step{})); diff != "" {
					t.Errorf("step %d (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}

func (s step) run(clock *testkit.Clock, limiter *limit.Limiter) step {
	clock.Advance(s.move)
	got := step{move: s.move, rate: s.rate, ask: s.ask, allowed: ask(limiter, "a", s.ask, s.rate)}
	d := limiter.Peek("a", s.rate)
	got.remaining, got.retry, got.full = d.Remaining, d.RetryAfter, d.Reset.Sub(clock.Now())
	return got
}

func TestDecision(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		rate limit.Rate
		want limit.Decision
	}{
		{limit.Rate{}, limit.Decision{Allowed: true, Limit: none, Remaining: none, Day: none}},
		{limit.Rate{PerMinute: 120}, limit.Decision{Allowed: true, Limit: 120, Remaining: 119, Day: none}},
		{limit.Rate{PerDay: 9}, limit.Decision{Allowed: true, Limit: none, Remaining: 8, Day: 9}},
		{limit.Rate{PerMinute: 120, PerDay: 9}, limit.Decision{Allowed: true, Limit: 120, Remaining: 8, Day: 9}},
		{limit.Rate{PerMinute: 100_000_001, PerDay: math.MaxInt}, limit.Decision{Allowed: true, Limit: none, Remaining: none, Day: none}},
	} {
		t.Run(fmt.Sprint(row.rate), func(t *testing.T) {
			t.Parallel()
			clock := newClock()
			row.want.Reset = clock.Now()
			if row.want.Limit == 120 {
				row.want.Reset = clock.Now().Add(time.Second / 2)
			}
			if diff := cmp.Diff(row.want, limit.New(clock.Now, 1).Allow("a", row.rate)); diff != "" {
				t.Errorf("Allow (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPeek_TakesNothing(t *testing.T) {
	t.Parallel()
	clock := newClock()
	limiter := limit.New(clock.Now, 1)
	rate := limit.Rate{PerMinute: 3, PerDay: 3}
	for range 100 {
		limiter.Peek("a", rate)
		limiter.Peek("b", limit.Rate{PerMinute: 1, PerDay: 1})
		limiter.Peek("a", limit.Rate{PerMinute: 1, PerDay: 1})
	}
	want := limit.Decision{Allowed: true, Limit: 3, Remaining: 3, Day: 3, Reset: clock.Now()}
	if diff := cmp.Diff(want, limiter.Peek("a", rate)); diff != "" {
		t.Errorf("Peek (-want +got):\n%s", diff)
	}
	if got := limiter.Unsaved(); len(got) != 0 {
		t.Errorf("got unsaved counts %v after Peek, want none", got)
	}
}

func TestAllow_CountsEachSubject(t *testing.T) {
	t.Parallel()
	clock := newClock()
	limiter := limit.New(clock.Now, 10_000)
	rate := limit.Rate{PerMinute: 2, PerDay: 3}
	for i := range 1000 {
		name := fmt.Sprint(i)
		for n, want := range []bool{true, true, false} {
			if got := limiter.Allow(name, rate).Allowed; got != want {
				t.Fatalf("subject %s, request %d: got %t, want %t", name, n, got, want)
			}
		}
	}
}
