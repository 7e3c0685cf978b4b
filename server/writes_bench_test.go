package server_test

import (
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// BenchmarkWrites creates risks over loopback from 1, 16 and 64 goroutines. Each write
// stores four rows, which are on disk when it is acknowledged. The same run measures
// the rate at which SQLite alone commits one row.
//
//	go test ./server -run '^$' -bench Writes -benchtime 2000x
func BenchmarkWrites(b *testing.B) {
	b.Run("raw", benchmarkRaw)
	for _, writers := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(writers), func(b *testing.B) { benchmarkWrites(b, writers) })
	}
}

// benchmarkRaw commits one insert per transaction, with a sync.
func benchmarkRaw(b *testing.B) {
	file, err := sql.Open("sqlite", "file:"+b.TempDir()+"/raw.db?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // the file is temporary
	file.SetMaxOpenConns(1)
	if _, err := file.ExecContext(b.Context(), "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)"); err != nil {
		b.Fatal(err)
	}
	insert, err := file.PrepareContext(b.Context(), "INSERT INTO t (b) VALUES (?)")
	if err != nil {
		b.Fatal(err)
	}
	defer insert.Close()
	text, took := strings.Repeat("x", 400), make([]time.Duration, 0, b.N)
	for b.Loop() {
		began := time.Now()
		if _, err := insert.ExecContext(b.Context(), text); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	report(b, took)
}

func benchmarkWrites(b *testing.B, writers int) {
	d := serveWrites(b)
	pool := &http.Transport{MaxIdleConnsPerHost: writers}
	defer pool.CloseIdleConnections()
	post := func() time.Duration {
		r := d.request(b, write{path: "/risks", body: goodRisk})
		began := time.Now()
		response, err := pool.RoundTrip(r)
		if err != nil {
			b.Error(err)
			return 0
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if response.StatusCode != http.StatusCreated {
			b.Errorf("status %d", response.StatusCode)
		}
		return time.Since(began)
	}
	post() // the first request verifies the key's hash
	took := make([]time.Duration, b.N)
	next := make(chan int, b.N)
	for i := range b.N {
		next <- i
	}
	close(next)
	b.ResetTimer()
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for i := range next {
				d.clock.Advance(time.Millisecond) // so that no limit is reached
				took[i] = post()
			}
		})
	}
	group.Wait()
	report(b, took)
}

// report prints the rate and the quantiles of the durations.
func report(b *testing.B, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	b.ReportMetric(float64(len(took))/b.Elapsed().Seconds(), "writes/s")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}
