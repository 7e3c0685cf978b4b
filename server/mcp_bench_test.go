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

// BenchmarkMCP requests a page of 25 risks as a GET and as a tool call in turn, so that
// both have the same conditions. The number of calls per second must be at least half
// the number of GETs. The client does as little as package net/http allows, because it
// shares the processors with the server.
func BenchmarkMCP(b *testing.B) {
	for name, encoding := range map[string]string{"plain": "identity", "gzip": "gzip"} {
		b.Run(name, func(b *testing.B) {
			s := serveMCP(b)
			// A key whose limits no run reaches.
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
	clients   = 8  // concurrent requests
	eachBurst = burst / clients
)

func rate(b *testing.B, spent time.Duration) float64 { return float64(b.N*burst) / spent.Seconds() }

// repeatRequests returns a function that sends a number of requests and measures their
// time.
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
