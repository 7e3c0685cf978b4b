package limit_test

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/internal/testkit"
	"govsvc/server/limit"
)

var (
	seedFlag   = flag.Uint64("seed", 0, "seed of the random tests; 0 draws one")
	roundsFlag = flag.Int("rounds", 30, "rounds of each random test: go test ./server/limit -rounds 1000")
)

// random returns a generator. It logs the seed, so that a failure can be repeated.
func random(t *testing.T) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("repeat with -seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// jump returns a random step of the clock. Every tenth step is backward.
func jump(rng *rand.Rand) time.Duration {
	sizes := []time.Duration{
		0, 0, 0, 100, time.Millisecond, time.Second, time.Second, 10 * time.Second,
		time.Minute, 5 * time.Minute, time.Hour, 13 * time.Hour, 30 * time.Hour,
	}
	d := time.Duration(rng.Int64N(int64(sizes[rng.IntN(len(sizes))]) + 1))
	if rng.IntN(10) == 0 {
		d = -d * time.Duration(rng.IntN(400))
	}
	return d
}

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

func randomRate(rng *rand.Rand) limit.Rate {
	return limit.Rate{
		PerMinute: pick(rng, 0, 1, 2, 7, 60, 61, 600),
		PerDay:    pick(rng, 0, 1, 3, 10, 50, 200),
	}
}

// pair is a Limiter and a model for each subject, with one clock.
type pair struct {
	t       *testing.T
	clock   *testkit.Clock
	limiter *limit.Limiter
	models  map[string]*model
	rates   map[string]limit.Rate
}

func newPair(t *testing.T) *pair {
	c := newClock()
	models := map[string]*model{"a": newModel(c), "b": newModel(c), "c": newModel(c)}
	return &pair{t, c, limit.New(c.Now, 5000), models, map[string]limit.Rate{}}
}

// move advances the clock and lets the Limiter and the models read it, because a step
// backward is only visible to a reader of the time before it.
func (p *pair) move(d time.Duration) {
	p.clock.Advance(d)
	for name, m := range p.models {
		p.limiter.Peek(name, limit.Rate{})
		m.advance(p.clock)
	}
}

func (p *pair) ask(name string, take bool) limit.Decision {
	p.t.Helper()
	ask := p.limiter.Peek
	if take {
		ask = p.limiter.Allow
	}
	rate := p.rates[name]
	got := ask(name, rate)
	if diff := cmp.Diff(p.models[name].decide(rate, take), got); diff != "" {
		p.t.Fatalf("%s at %v, take %t (-model +got):\n%s", name, rate, take, diff)
	}
	return got
}

// waitOut checks RetryAfter to the nanosecond.
func (p *pair) waitOut(name string, wait time.Duration) {
	p.t.Helper()
	p.move(wait - 1)
	if p.ask(name, false).Allowed {
		p.t.Fatal("got allowed before RetryAfter")
	}
	p.move(1)
	if !p.ask(name, true).Allowed {
		p.t.Fatal("got refused after RetryAfter")
	}
}

// TestAllow_EqualsModel compares each decision of random sequences with that of the model.
func TestAllow_EqualsModel(t *testing.T) {
	t.Parallel()
	rng := random(t)
	for range *roundsFlag {
		p := newPair(t)
		for range 300 {
			p.move(jump(rng))
			name := pick(rng, "a", "b", "c")
			if rng.IntN(20) == 0 {
				p.rates[name] = randomRate(rng)
			}
			p.ask(name, false)
			if d := p.ask(name, true); !d.Allowed && rng.IntN(3) == 0 {
				p.waitOut(name, d.RetryAfter)
			}
		}
	}
}

// TestAllow_Bounds checks the contract itself, without a model: in any interval at most
// capacity + elapsed*rate requests are allowed, in any 24 hours at most PerDay.
func TestAllow_Bounds(t *testing.T) {
	t.Parallel()
	rng := random(t)
	for range *roundsFlag {
		clock := newClock()
		clock.Advance(time.Duration(rng.Int64N(int64(time.Hour))))
		limiter := limit.New(clock.Now, 1)
		rate := limit.Rate{PerMinute: 1 + rng.IntN(60), PerDay: 1 + rng.IntN(200)}
		var elapsed time.Duration
		var allowed []time.Duration
		for range 500 {
			d := jump(rng)
			clock.Advance(d)
			elapsed += max(0, d)
			for range 1 + rng.IntN(10) {
				if limiter.Allow("a", rate).Allowed {
					allowed = append(allowed, elapsed)
				}
			}
		}
		checkBounds(t, rate, allowed)
	}
}

func checkBounds(t *testing.T, rate limit.Rate, allowed []time.Duration) {
	t.Helper()
	if !slices.IsSorted(allowed) || len(allowed) == 0 {
		t.Fatalf("got %d requests, want some in order", len(allowed))
	}
	for i, from := range allowed {
		day := 0
		for n, to := range allowed[i:] {
			if to-from < 24*time.Hour {
				day++
			}
			capacity := int64(rate.PerMinute) * (int64(time.Minute) + int64(min(to-from, 1e6*time.Minute)))
			if int64(n+1)*int64(time.Minute) > capacity {
				t.Fatalf("got %d requests from %v to %v at %v", n+1, from, to, rate)
			}
		}
		if day > rate.PerDay {
			t.Fatalf("got %d requests in 24 h from %v at %v", day, from, rate)
		}
	}
}
