package server_test

import (
	"bytes"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"govsvc/db"
)

// BenchmarkMCP asks for a page of 25 risks, as a GET and as a call of the tool
// by turns, so that both see the same machine. The figure, calls a
// second beside GETs a second, must be 0.5 or more. The client is as bare as
// net/http has it: it shares the processors with the server.
func BenchmarkMCP(b *testing.B) {
	for name, encoding := range map[string]string{"plain": "identity", "gzip": "gzip"} {
		b.Run(name, func(b *testing.B) {
			s := serveMCP(b)
			// One that no limit stops, however long the run.
			_, key := s.mint(b, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"read:risks"}, PerMinute: new(100_000_000), PerDay: new(2_000_000_000)})
			get := repeatRequests(b, s, http.MethodGet, "/risks", key, encoding, "")
			call := repeatRequests(b, s, http.MethodPost, mcpPath, key, encoding, toolCall("list_risks", "{}"))
			var gets, calls time.Duration
			for b.Loop() {
				gets += get(b)
				calls += call(b)
			}
			b.ReportMetric(rate(b, gets), "GETs/s")
			b.ReportMetric(rate(b, calls), "calls/s")
			b.ReportMetric(float64(gets)/float64(calls), "calls/GETs")
		})
	}
}

const (
	burst     = 64 // requests of one kind at a time
	clients   = 8  // of them under way at once
	eachBurst = burst / clients
)

func rate(b *testing.B, spent time.Duration) float64 { return float64(b.N*burst) / spent.Seconds() }

// repeatRequests makes a function that makes a turn of requests, and times it.
func repeatRequests(b *testing.B, s *mcpService, method, path, key, encoding, body string) func(*testing.B) time.Duration {
	b.Helper()
	var failed atomic.Bool
	once := func() {
		r, err := http.NewRequestWithContext(b.Context(), method, s.url+path, bytes.NewReader([]byte(body)))
		if err != nil {
			failed.Store(true)
			return
		}
		r.Header = http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}, "Accept-Encoding": {encoding}}
		response, err := mcpClient.Do(r)
		if err != nil {
			failed.Store(true)
			return
		}
		defer response.Body.Close()
		n, err := io.Copy(io.Discard, response.Body)
		if err != nil || response.StatusCode != 200 || n < 1000 {
			failed.Store(true)
		}
	}
	return func(b *testing.B) time.Duration {
		began := time.Now()
		done := make(chan struct{})
		for range clients {
			go func() {
				for range eachBurst {
					once()
				}
				done <- struct{}{}
			}()
		}
		for range clients {
			<-done
		}
		if failed.Load() {
			b.Fatal("a request failed")
		}
		return time.Since(began)
	}
}
