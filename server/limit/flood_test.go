package limit_test

import (
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"govsvc/server/limit"
)

// TestAllow_Flood makes requests of a million addresses at once, and then of others, slowly
// enough that the first ones become idle. It is not parallel, because it measures the heap.
func TestAllow_Flood(t *testing.T) {
	const capacity, addresses = 20_000, 1_000_000
	clock := newClock()
	limiter := limit.New(clock.Now, capacity)
	rate := limit.Rate{PerMinute: 600}
	before := heap()
	allowed := 0
	for i := range addresses {
		allowed += ask(limiter, "10.0."+strconv.Itoa(i), 1, rate)
	}
	// The last shard fills later than the first. New subjects share one bucket then.
	if allowed < capacity*9/10 || allowed > capacity+rate.PerMinute {
		t.Errorf("got %d allowed of busy addresses, want about %d", allowed, capacity+rate.PerMinute)
	}
	allowed = 0
	for i := range addresses / 5 {
		if i%(capacity/2) == 0 {
			clock.Advance(100 * time.Millisecond)
		}
		allowed += ask(limiter, "10.1."+strconv.Itoa(i), 1, rate)
	}
	if allowed != addresses/5 {
		t.Errorf("got %d allowed while addresses become idle, want all", allowed)
	}
	if grown := heap() - before; grown > capacity*400 {
		t.Errorf("the heap grew by %d bytes, %d a subject", grown, grown/capacity)
	}
	runtime.KeepAlive(limiter)
}

func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestAllow_Allocates checks that a decision allocates no memory. It is not parallel,
// because it counts the allocations of the process.
func TestAllow_Allocates(t *testing.T) {
	limiter := limit.New(time.Now, 10)
	for _, rate := range []limit.Rate{{PerMinute: 600, PerDay: 1_000_000}, {PerMinute: 1, PerDay: 1}} {
		limiter.Allow("a", rate)
		if got := testing.AllocsPerRun(1000, func() { limiter.Allow("a", rate); limiter.Peek("a", rate) }); got != 0 {
			t.Errorf("got %v allocations at %v, want none", got, rate)
		}
	}
}

// TestAllow_OverCapacity fills a Limiter of two subjects. New subjects share one bucket and
// day until a known one is idle. The known ones keep their own.
func TestAllow_OverCapacity(t *testing.T) {
	t.Parallel()
	clock := newClock()
	limiter := limit.New(clock.Now, 2)
	minute, day := limit.Rate{PerMinute: 3}, limit.Rate{PerMinute: 3, PerDay: 3}
	expect := func(subject string, rate limit.Rate, n, want int) {
		t.Helper()
		peeked := limiter.Peek(subject, rate).Remaining
		if got := ask(limiter, subject, n, rate); got != want || peeked < want {
			t.Errorf("%s: got %d allowed of %d after a Peek of %d, want %d", subject, got, n, peeked, want)
		}
	}
	expect("address", minute, 1, 1)
	expect("key", day, 2, 2)
	expect("new", day, 2, 2)
	expect("other", day, 2, 1)
	expect("new", day, 1, 0)
	expect("address", minute, 9, 2)
	expect("key", day, 9, 1)

	clock.Advance(time.Minute)
	expect("new", day, 3, 3)   // replaces "address"
	expect("other", day, 3, 0) // the shared day is used up
	expect("key", day, 1, 0)
	clock.Advance(24*time.Hour + time.Minute)
	expect("other", day, 9, 3)
	expect("third", day, 9, 3)
	expect("key", day, 9, 3) // shares the day again
	for _, c := range limiter.Unsaved() {
		if c.Subject == "" {
			t.Errorf("got unsaved count %v of the shared day", c)
		}
	}
}

// TestAllow_Concurrent makes requests while counts are saved, some without success. No
// request over the limit is allowed, and no allowed one is lost.
func TestAllow_Concurrent(t *testing.T) {
	t.Parallel()
	const workers, each = 8, 2000
	clock := newClock()
	limiter := limit.New(clock.Now, 10_000)
	rate := limit.Rate{PerMinute: 700, PerDay: 1000}
	var allowed, saved atomic.Int64
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := range each {
				subject := fmt.Sprint("s", i%5)
				limiter.Peek(subject, rate)
				allowed.Add(int64(ask(limiter, subject, 1, rate)))
				if counts := limiter.Unsaved(); i%2 == w%2 {
					limiter.Restore(counts)
				} else {
					saved.Add(total(counts))
				}
			}
		})
	}
	group.Wait()
	saved.Add(total(limiter.Unsaved()))
	if got, want := allowed.Load(), int64(5*rate.PerMinute); got != want || saved.Load() != want {
		t.Errorf("got %d allowed and %d saved, want %d of each", got, saved.Load(), want)
	}
}

func total(counts []limit.Count) (n int64) {
	for _, c := range counts {
		n += int64(c.Requests)
	}
	return n
}
