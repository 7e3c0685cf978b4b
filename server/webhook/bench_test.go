package webhook_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"govsvc/server/webhook"
)

// BenchmarkDeliveries is how many deliveries a second one loop makes of a queue
// that is there already, to those receivers that are well.
func BenchmarkDeliveries(b *testing.B) {
	for _, row := range []struct{ subscriptions, dead int }{{1, 0}, {10, 0}, {100, 0}, {10, 5}, {100, 50}} {
		b.Run(fmt.Sprintf("subscriptions=%d/dead=%d", row.subscriptions, row.dead), func(b *testing.B) {
			s := newScene(b, nil, func(c *webhook.Config) { c.Grace = time.Millisecond })
			r := newCrowd(b)
			silent := raw(b, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
			for range row.dead {
				s.subscribe(b, silent)
			}
			healthy := row.subscriptions - row.dead
			for i := range healthy {
				s.subscribe(b, fmt.Sprint(r.URL, "/", i))
			}
			events := max(1, b.N/healthy)
			s.raiseMany(b, events)
			b.ResetTimer()
			stop := s.run(b)
			eventually(b, time.Hour, "all delivered", func() bool { return r.complete(healthy, events) })
			b.StopTimer()
			b.ReportMetric(float64(events*healthy)/b.Elapsed().Seconds(), "deliveries/s")
			stop()
		})
	}
}

// stopwatch takes the time from a commit to the arrival of each event.
type stopwatch struct {
	mutex     sync.Mutex
	began     time.Time
	latencies []time.Duration
	arrived   chan bool
}

func (w *stopwatch) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.mutex.Lock()
	w.latencies = append(w.latencies, time.Since(w.began))
	w.mutex.Unlock()
	w.arrived <- true
}

// BenchmarkLatency is the time from the end of a write to the arrival of its
// event, one write after another, to every healthy subscription.
func BenchmarkLatency(b *testing.B) {
	for _, row := range []struct{ subscriptions, dead int }{{1, 0}, {10, 0}, {100, 0}, {10, 5}, {100, 50}} {
		b.Run(fmt.Sprintf("subscriptions=%d/dead=%d", row.subscriptions, row.dead), func(b *testing.B) {
			s := newScene(b, nil, func(c *webhook.Config) { c.Grace = time.Millisecond })
			w := &stopwatch{arrived: make(chan bool, row.subscriptions)}
			r := newReceiver(b, w.ServeHTTP)
			silent := raw(b, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
			for i := range row.subscriptions {
				url := fmt.Sprint(r.URL, "/", i)
				if i < row.dead {
					url = fmt.Sprint(strings.TrimSuffix(silent, "/"), "/", i)
				}
				s.subscribe(b, url)
			}
			stop := s.run(b)
			defer stop()
			one := func() {
				s.raise(b, 1)
				w.mutex.Lock()
				w.began = time.Now()
				w.mutex.Unlock()
				for range row.subscriptions - row.dead {
					<-w.arrived
				}
			}
			for range 5 { // connections are made, and the dead are known
				one()
			}
			w.latencies = nil
			for b.Loop() {
				one()
				time.Sleep(20 * time.Millisecond) // an idle machine, not a flood
			}
			slices.Sort(w.latencies)
			at := func(share float64) float64 {
				return float64(w.latencies[int(share*float64(len(w.latencies)-1))].Microseconds()) / 1000
			}
			b.ReportMetric(at(0.5), "p50-ms")
			b.ReportMetric(at(0.99), "p99-ms")
		})
	}
}
