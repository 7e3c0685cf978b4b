package server_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/audit"
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
	ask := askForRisks(b, s, 2000)
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
