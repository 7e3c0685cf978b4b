package server_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/server"
)

// askForRisks returns a function that reads the first page of risks, of at least that many
// bytes. The key is hashed before it returns.
func askForRisks(b *testing.B, s *service, least int) func() {
	b.Helper()
	_, key := s.mint(b, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"read:risks"}, PerMinute: new(100_000_000), PerDay: new(2_000_000_000)})
	r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, server.Base+"/risks", nil)
	r.Header.Set("Authorization", "Bearer "+key)
	ask := func() {
		w := &discardWriter{head: http.Header{}}
		s.server.ServeHTTP(w, r)
		if w.status != http.StatusOK || w.size < least {
			b.Fatalf("status %d, %d bytes", w.status, w.size)
		}
	}
	ask()
	return ask
}

// BenchmarkPage measures a page of 25 risks without a network, both from memory and
// read from the file each time.
//
//	go test ./server -run '^$' -bench Page -cpuprofile cpu.prof
func BenchmarkPage(b *testing.B) {
	for name, most := range map[string]int64{"held": 1 << 20, "cold": 0} {
		b.Run(name, func(b *testing.B) {
			s := serve(b, func(c *server.Config) { c.CacheBytes = most })
			addRisks(b, s, 2000)
			ask := askForRisks(b, s, 8000)
			b.ReportAllocs()
			for b.Loop() {
				ask()
			}
		})
	}
}

// BenchmarkPage_Random measures random pages of 20,000 risks, which 16 clients read at once
// and which are not in memory.
//
//	go test ./server -run '^$' -bench Page_Random -cpuprofile cpu.prof
func BenchmarkPage_Random(b *testing.B) {
	s := serve(b, func(c *server.Config) { c.CacheBytes = 0 })
	addRisks(b, s, 20_000)
	_, key := s.mint(b, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"read:risks"}, PerMinute: new(100_000_000), PerDay: new(2_000_000_000)})
	ask := func(query string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, server.Base+"/risks"+query, nil)
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		s.server.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			b.Fatalf("status %d", w.Code)
		}
		return w
	}
	var pages []string
	for next := ""; ; {
		var page struct {
			Next *string `json:"next_cursor"`
		}
		if err := json.Unmarshal(ask(next).Body.Bytes(), &page); err != nil {
			b.Fatal(err)
		}
		if page.Next == nil {
			break
		}
		next = "?cursor=" + *page.Next
		pages = append(pages, next)
	}
	b.ReportAllocs()
	b.SetParallelism(16 / runtime.GOMAXPROCS(0))
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			ask(pages[rand.IntN(len(pages))]) //nolint:gosec // any page
		}
	})
}

// addRisks adds so many risks to the default organisation.
func addRisks(b *testing.B, s *service, n int) {
	b.Helper()
	err := s.store.Write(b.Context(), by(b, s.store, db.DefaultOrganisation), func(tx *db.Tx) error {
		for i := range n {
			if _, err := tx.Put("risk", db.Record{
				"risk_id": fmt.Sprintf("LOAD-%07d", i), "title": "Drift", "dimension": "MODEL", "severity": "HIGH",
				"description": "The scoring model drifts from the population it was trained on, and nobody is told.",
				"likelihood":  "POSSIBLE", "status": "Open", "source": "load", "owner_name": "Head of Model Risk",
			}); err != nil {
				return err
			}
		}
		return tx.Audit(audit.Event{Action: "data.imported", Category: audit.DataChange, Severity: audit.SeverityWrite, ResourceType: "risk"})
	})
	if err != nil {
		b.Fatal(err)
	}
}

// discardWriter is a response of which only the size is stored.
type discardWriter struct {
	head         http.Header
	status, size int
}

func (d *discardWriter) Header() http.Header { return d.head }

func (d *discardWriter) WriteHeader(status int) { d.status = status }

func (d *discardWriter) Write(p []byte) (int, error) {
	if d.status == 0 {
		d.status = http.StatusOK
	}
	d.size += len(p)
	return len(p), nil
}
