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

// BenchmarkBare is what BenchmarkDeliveries is held against: a loop of
// http.Client that posts as many bytes to the same receivers, with as many
// requests under way to each. It claims nothing, signs nothing and stores no
// outcome.
//
//	go test ./server/webhook -run '^$' -bench 'Deliveries//dead=0|Bare' -benchtime 20000x
func BenchmarkBare(b *testing.B) {
	for _, subscriptions := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("subscriptions=%d", subscriptions), func(b *testing.B) {
			const perReceiver = 4 // the loop's own
			r := newCrowd(b)
			client := r.Client()
			client.Transport.(*http.Transport).MaxIdleConnsPerHost = perReceiver * subscriptions
			body := strings.Repeat("x", 512) // some risk's event
			each := max(1, b.N/subscriptions)
			b.ResetTimer()
			var group sync.WaitGroup
			for i := range subscriptions {
				for worker := range perReceiver {
					group.Go(func() {
						for n := worker; n < each; n += perReceiver {
							bare(b, client, fmt.Sprint(r.URL, "/", i), fmt.Sprint("evt_", n), body)
						}
					})
				}
			}
			group.Wait()
			b.StopTimer()
			if !r.complete(subscriptions, each) {
				b.Error("not all arrived")
			}
			b.ReportMetric(float64(each*subscriptions)/b.Elapsed().Seconds(), "deliveries/s")
		})
	}
}

func bare(b *testing.B, client *http.Client, url, id, body string) {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		b.Error(err)
		return
	}
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
