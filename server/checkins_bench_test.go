package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// BenchmarkCheckins records batches of 500 points without a network, each point for a
// different period.
//
//	go test ./server -run '^$' -bench Checkins -cpuprofile cpu.prof
func BenchmarkCheckins(b *testing.B) {
	d, _ := serveKpis(b)
	codes := []string{"W", "M", "Q", "A"}
	day := time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC)
	record := func() {
		points := make([]string, 500)
		for i := range points {
			if i%len(codes) == 0 {
				day = day.AddDate(0, 0, 1)
			}
			points[i] = fmt.Sprintf(`"key_result_code":%q,"value":%d.5,"period_start":%q`, codes[i%len(codes)], i, day.Format(time.DateOnly))
		}
		d.clock.Advance(time.Second)
		w := httptest.NewRecorder()
		d.server.ServeHTTP(w, d.request(b, batch(points...)))
		if w.Code != http.StatusCreated {
			b.Fatalf("status %d: %s", w.Code, w.Body)
		}
	}
	record() // the first hashes the key
	for b.Loop() {
		record()
	}
	b.ReportMetric(500*float64(b.N)/b.Elapsed().Seconds(), "points/s")
}
