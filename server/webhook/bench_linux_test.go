package webhook_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/internal/testkit"
	"govsvc/server/webhook"
)

// BenchmarkDeliveries measures how many deliveries per second one loop makes of an
// existing queue to the receivers that respond. A subscription must not have more than
// delivery.QueueLimit events, because the oldest would become dead letters.
func BenchmarkDeliveries(b *testing.B) {
	for _, row := range []struct{ subscriptions, dead int }{{1, 0}, {10, 0}, {100, 0}, {10, 5}, {100, 50}} {
		b.Run(fmt.Sprintf("subscriptions=%d/dead=%d", row.subscriptions, row.dead), func(b *testing.B) {
			s := newHarness(b, nil, func(c *webhook.Config) {
				c.Grace = time.Millisecond
				c.Logger = slog.New(slog.NewTextHandler(io.Discard, nil)) // as serve has it
			})
			r := newReceivers(b)
			silent := raw(b, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
			for range row.dead {
				s.subscribe(b, silent)
			}
			healthy := row.subscriptions - row.dead
			for i := range healthy {
				s.subscribe(b, fmt.Sprint(r.URL, "/", i))
			}
			events := max(1, b.N/healthy)
			s.enqueueMany(b, events)
			began := testkit.ProcessorTime(b)
			b.ResetTimer()
			stop := s.run(b)
			eventually(b, time.Hour, "all delivered", func() bool { return r.complete(healthy, events) })
			report(b, began, events*healthy)
			stop()
		})
	}
}

// BenchmarkBare measures the baseline of BenchmarkDeliveries: a loop of http.Client
// that posts the same bytes and headers to the same receivers. It uses as many
// connections as the loop, four for each receiver and 256 in all. Both begin without
// connections. It claims nothing, signs nothing and stores no outcome.
//
//	go test ./server/webhook -run '^$' -bench 'Deliveries//dead=0|Bare' -benchtime 10000x
func BenchmarkBare(b *testing.B) {
	for _, subscriptions := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("subscriptions=%d", subscriptions), func(b *testing.B) {
			r := newReceivers(b)
			connections := min(4*subscriptions, 256)
			client := r.Client()
			client.Transport.(*http.Transport).MaxIdleConnsPerHost = connections
			headers, body := signedSample(b)
			each := max(1, b.N/subscriptions)
			began := testkit.ProcessorTime(b)
			b.ResetTimer()
			var group sync.WaitGroup
			for first := range connections {
				group.Go(func() {
					for n := first; n < each*subscriptions; n += connections {
						bare(b, client, fmt.Sprint(r.URL, "/", n%subscriptions), fmt.Sprintf("evt_%032d", n/subscriptions), headers, body)
					}
				})
			}
			group.Wait()
			report(b, began, each*subscriptions)
			if !r.complete(subscriptions, each) {
				b.Error("not all arrived")
			}
		})
	}
}

// report stops the timer and reports the rate of n deliveries. cpu-µs is the processor time
// of a delivery, with that of its receiver, which varies less on a busy machine.
func report(b *testing.B, began time.Duration, n int) {
	b.Helper()
	b.StopTimer()
	used := testkit.ProcessorTime(b) - began
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "deliveries/s")
	b.ReportMetric(float64(used.Nanoseconds())/1000/float64(n), "cpu-µs/op")
}

// signedSample returns one of the events of BenchmarkDeliveries, signed.
func signedSample(b *testing.B) (http.Header, []byte) {
	b.Helper()
	uuid := "01993e0a-52c0-7c3e-9d2b-000000000000"
	m := db.NewMessage(uuid, "risk.created", time.Now(), map[string]any{"risk": map[string]any{"n": 50}})
	headers := webhook.Headers(webhook.Agent("1.2.3"), uuid, m, time.Now())
	signed, err := webhook.Sign([]string{testSecret}, m, time.Now())
	if err != nil {
		b.Fatal(err)
	}
	maps.Copy(headers, signed)
	return headers, m.Body
}

func bare(b *testing.B, client *http.Client, url, id string, headers http.Header, body []byte) {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		b.Error(err)
		return
	}
	request.Header = maps.Clone(headers)
	request.Header.Set("webhook-id", id)
	response, err := client.Do(request)
	if err != nil {
		b.Error(err)
		return
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		b.Error(err)
	}
}

// stopwatch measures the time from a commit to the arrival of each event.
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

// BenchmarkLatency measures the time from the end of a write to the arrival of its
// event at every healthy subscription. It does one write after another.
func BenchmarkLatency(b *testing.B) {
	for _, row := range []struct{ subscriptions, dead int }{{1, 0}, {10, 0}, {100, 0}, {10, 5}, {100, 50}} {
		b.Run(fmt.Sprintf("subscriptions=%d/dead=%d", row.subscriptions, row.dead), func(b *testing.B) {
			s := newHarness(b, nil, func(c *webhook.Config) { c.Grace = time.Millisecond })
			w := &stopwatch{arrived: make(chan bool, row.subscriptions)}
			r := testkit.NewReceiver(b, w.ServeHTTP)
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
				s.enqueue(b, 1)
				w.mutex.Lock()
				w.began = time.Now()
				w.mutex.Unlock()
				for range row.subscriptions - row.dead {
					<-w.arrived
				}
			}
			for range 5 { // the loop opens its connections and finds the receivers that do not respond
				one()
			}
			w.latencies = nil
			for b.Loop() {
				one()
				time.Sleep(20 * time.Millisecond) // measures latency without a queue
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
