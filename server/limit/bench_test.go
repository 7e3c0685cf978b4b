package limit_test

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"govsvc/server/limit"
)

var benchRate = limit.Rate{PerMinute: 1200, PerDay: 1_000_000}

func benchmark(b *testing.B, subjects int, rate limit.Rate) {
	limiter := limit.New(time.Now, 100_000)
	names := make([]string, subjects)
	for i := range names {
		names[i] = "gds_live_" + strconv.Itoa(i)
		limiter.Allow(names[i], rate)
	}
	b.Run("serial", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			limiter.Allow(names[i], rate)
			if i++; i == len(names) {
				i = 0
			}
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		var starts atomic.Int64
		b.RunParallel(func(pb *testing.PB) {
			for i := int(starts.Add(1)) * 7919; pb.Next(); i++ {
				limiter.Allow(names[i%len(names)], rate)
			}
		})
	})
}

func BenchmarkOne(b *testing.B)          { benchmark(b, 1, benchRate) }
func BenchmarkOneUnlimited(b *testing.B) { benchmark(b, 1, limit.Rate{PerDay: 1 << 30}) }
func BenchmarkThousand(b *testing.B)     { benchmark(b, 1000, benchRate) }
func Benchmark50000(b *testing.B)        { benchmark(b, 50_000, benchRate) }

// BenchmarkFlood uses a new address each time. The Limiter is full of busy ones.
func BenchmarkFlood(b *testing.B) {
	limiter := limit.New(time.Now, 10_000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		limiter.Allow(strconv.Itoa(i), limit.Rate{PerMinute: 1, PerDay: 1})
	}
}

// BenchmarkUnsaved saves 50,000 subjects without new requests.
func BenchmarkUnsaved(b *testing.B) {
	limiter := limit.New(time.Now, 100_000)
	for i := range 50_000 {
		limiter.Allow(strconv.Itoa(i), benchRate)
	}
	limiter.Unsaved()
	for b.Loop() {
		limiter.Unsaved()
	}
}
