package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/server"
)

// BenchmarkBesideWrites answers an unchanged page, with a change after every 40 reads:
// none, of another file, of another resource, of another organisation, of the same
// list. That is about 500 changes a second. It reports the median time of a read,
// without the changes. A change of another file shows what the processor's caches lose
// by any work.
//
//	go test ./server -run '^$' -bench BesideWrites -benchtime 500x
func BenchmarkBesideWrites(b *testing.B) {
	for _, beside := range []string{"none", "file", "resource", "organisation", "list"} {
		b.Run(beside, func(b *testing.B) { benchmarkBeside(b, beside) })
	}
}

const readsForWrite = 40

func benchmarkBeside(b *testing.B, beside string) {
	s := serve(b)
	store := s.store
	organisation(b, store, "another")
	own, another := by(b, store, db.DefaultOrganisation), by(b, store, "another")
	write := func(ctx context.Context, to *db.DB, by db.Actor, object string, n, count int) error {
		return to.Write(ctx, by, func(tx *db.Tx) error {
			for i := range count {
				if _, err := tx.Put(object, sample(object, "B", n+i, start)); err != nil {
					return err
				}
			}
			return tx.Audit(audit.Event{Action: "data.imported", Category: audit.DataChange, Severity: audit.SeverityWrite, ResourceType: object})
		})
	}
	if err := write(b.Context(), store, own, "risk", 1_000_000, 200); err != nil {
		b.Fatal(err)
	}
	_, key := s.mint(b, db.DefaultOrganisation, db.KeyDraft{Scopes: []string{"read:risks"}, PerMinute: new(100_000_000), PerDay: new(2_000_000_000)})
	r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, server.Base+"/risks", nil)
	r.Header.Set("Authorization", "Bearer "+key)
	ask := func() {
		w := &discardWriter{head: http.Header{}}
		s.server.ServeHTTP(w, r)
		if w.status != http.StatusOK || w.size < 2000 {
			b.Fatalf("status %d, %d bytes", w.status, w.size)
		}
	}
	ask() // the first hashes the key
	to, object, actor := store, "risk", own
	switch beside {
	case "file":
		to = serve(b).store
	case "resource":
		object = "vendor"
	case "organisation":
		actor = another
	}
	var took []time.Duration
	for n := 0; b.Loop(); n++ {
		if beside != "none" {
			if err := write(b.Context(), to, actor, object, n, 1); err != nil {
				b.Fatal(err)
			}
		}
		began := time.Now()
		for range readsForWrite {
			ask()
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1000/readsForWrite, "µs/read")
}
