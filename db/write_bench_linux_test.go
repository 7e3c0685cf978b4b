package db_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/resource"
)

// BenchmarkWrite creates and changes risks of a register of 20,000, with their audit
// events and idempotent responses, from 1 and 64 goroutines. In memory
// (TMPDIR=/dev/shm) the times do not depend on the disk. cpu-µs is the processor time
// of the process for a change, which varies less on a busy machine.
//
//	TMPDIR=/dev/shm go test ./db -run '^$' -bench 'Write/' -benchtime 20000x
func BenchmarkWrite(b *testing.B) {
	for _, row := range []struct {
		name   string
		change func(tx *db.Tx, ids []string, n int64) (db.Object, error)
	}{
		{"create", func(tx *db.Tx, _ []string, _ int64) (db.Object, error) {
			return tx.Create(resource.Risk, db.Record{
				"title": "Drift", "description": "The scoring model drifts from its population.", "severity": "HIGH", "likelihood": "LIKELY",
				"owner_name": "Head of Model Risk", "financial_exposure_min": json.Number("10000"), "financial_exposure_max": json.Number("250000.5"),
			})
		}},
		{"patch", func(tx *db.Tx, ids []string, n int64) (db.Object, error) {
			return tx.Update(resource.Risk, ids[n*7919%int64(len(ids))], db.Record{"title": fmt.Sprintf("Drift, as of change %d", n)})
		}},
	} {
		for _, writers := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/%d", row.name, writers), func(b *testing.B) { benchmarkWrite(b, writers, row.change) })
		}
	}
}

func benchmarkWrite(b *testing.B, writers int, change func(tx *db.Tx, ids []string, n int64) (db.Object, error)) {
	store, org := openLarge(b, 20_000)
	by := db.Actor{Org: org.Org, ID: "key:k", API: true, RequestID: "req_abcdefghijklmnopqrstuvwx", Address: "127.0.0.1"}
	var ids []string
	err := store.Each(b.Context(), func(row db.Scanner) error {
		ids = append(ids, "")
		return row.Scan(&ids[len(ids)-1])
	}, "SELECT id FROM risks")
	if err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	one := func(n int64) error {
		return store.WriteRepeatable(b.Context(), by, func(tx *db.Tx) error {
			made, err := change(tx, ids, n)
			if err != nil {
				return err
			}
			k := db.IdempotencyKey{Org: org.Org, Key: fmt.Sprint("bench-", n), Request: sha256.Sum256(made.JSON)}
			return tx.StoreResponse(k, db.IdempotentResponse{Status: 201, Body: made.JSON})
		})
	}
	before := processorTime()
	b.ResetTimer()
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if err := one(n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.StopTimer()
	b.ReportMetric(float64((processorTime()-before).Nanoseconds())/1000/float64(b.N), "cpu-µs/op")
}

// processorTime returns the processor time that the process has used.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
