package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/server"
)

// BenchmarkPage measures a page of 25 risks without a network, both from memory and
// read from the file each time.
//
//	go test ./server -run '^$' -bench Page -cpuprofile cpu.prof
func BenchmarkPage(b *testing.B) {
	for name, most := range map[string]int64{"held": 1 << 20, "cold": 0} {
		b.Run(name, func(b *testing.B) {
			s := serve(b, func(c *server.Config) { c.CacheBytes = most })
			by := by(b, s.store, db.DefaultOrganisation)
			err := s.store.Write(b.Context(), by, func(tx *db.Tx) error {
				for i := range 2000 {
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
			_, key := s.mint(b, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"read:risks"}, PerMinute: new(100_000_000), PerDay: new(2_000_000_000)})
			r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, server.Base+"/risks", nil)
			r.Header.Set("Authorization", "Bearer "+key)
			ask := func() {
				w := &discardWriter{head: http.Header{}}
				s.server.ServeHTTP(w, r)
				if w.status != http.StatusOK || w.size < 8000 {
					b.Fatalf("status %d, %d bytes", w.status, w.size)
				}
			}
			ask() // the first hashes the key
			b.ReportAllocs()
			for b.Loop() {
				ask()
			}
		})
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
