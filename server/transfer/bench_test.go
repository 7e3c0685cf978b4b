package transfer_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"govsvc/server/transfer"
)

// manyRisks writes n risks of typical size.
func manyRisks(n int) string {
	var text strings.Builder
	severities := []string{"CRITICAL", "HIGH", "MEDIUM", "LOW"}
	for i := range n {
		fmt.Fprintf(&text, `{"object":"risk","risk_id":"RISK-%06d","title":"Model %d drifts","dimension":"RELIABILITY",`+
			`"description":"Predictions of model %d get worse as customers change, and nobody is told of it in time.",`+
			`"severity":%q,"residual_severity":null,"likelihood":"LIKELY","status":"Open","source":"assessment","owner_name":"Head of Analytics",`+
			`"financial_exposure_min":%d,"financial_exposure_max":%d.5,"target_date":"2026-12-31","mitigation_action":"Watch it.","residual_gap_reason":null,`+
			`"created_at":"2026-01-%02dT08:00:00.000Z","updated_at":"2026-02-01T08:00:00.000Z"}`+"\n",
			i, i, i, severities[i%4], i, 2*i, i%28+1)
	}
	return text.String()
}

// manyCheckins writes 100 key results and n check-ins, of one period after the other.
func manyCheckins(n int) string {
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, `{"object":"kpi","code":"K-%d","statement":"Models are monitored","metric_name":"share","unit":"%%",`+
			`"direction":"increase","target_value":100,"measurement_frequency":"weekly","status":"active"}`+"\n", i)
	}
	for i := range n {
		period := time.Date(1900, 1, 1+7*(i/100), 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
		fmt.Fprintf(&text, `{"object":"kpi_checkin","key_result_code":"K-%d","period_start":%q,"value":%d.5,"source":"load","note":null}`+"\n", i%100, period, i)
	}
	return text.String()
}

// fileSource returns a source that reads a file and uses no memory for its content.
func fileSource(t testing.TB, name, text string) transfer.Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return transfer.File(path, int64(len(text)))
}

// BenchmarkImport imports or checks 100,000 risks or check-ins. The risks are new, or
// already exist.
func BenchmarkImport(b *testing.B) {
	const n = 100_000
	risks := manyRisks(n)
	filled, known := newStore(b), fileSource(b, "risks.ndjson", risks)
	if _, err := filled.try(transfer.Options{}, known); err != nil {
		b.Fatal(err)
	}
	for _, row := range []struct {
		name   string
		known  bool
		source transfer.Source
	}{
		{"new", false, fileSource(b, "risks.ndjson", risks)},
		{"new from an array", false, fileSource(b, "risks.json", "["+strings.ReplaceAll(strings.TrimSpace(risks), "\n", ",\n")+"]")},
		{"new from CSV", false, fileSource(b, "risks.csv", filled.exportAs(transfer.CSV, "risk"))},
		{"changed", true, fileSource(b, "changed.ndjson", strings.ReplaceAll(risks, "Head of Analytics", "Head of Risk"))},
		{"unchanged", true, fileSource(b, "risks.ndjson", risks)},
		{"new check-ins", false, fileSource(b, "checkins.ndjson", manyCheckins(n))},
		{"faulty", false, fileSource(b, "faulty.ndjson", risks+"nonsense\n")},
	} {
		b.Run(row.name, func(b *testing.B) {
			peak := watchHeap()
			took := time.Duration(0)
			for range b.N {
				b.StopTimer()
				s := newStore(b)
				if row.known {
					if _, err := s.try(transfer.Options{}, known); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
				began := time.Now()
				report, err := s.try(transfer.Options{}, row.source)
				took += time.Since(began)
				if (err != nil) != (row.name == "faulty") || report.Records < n {
					b.Fatal(err, report.Records)
				}
			}
			b.ReportMetric(float64(n*b.N)/took.Seconds(), "rows/s")
			b.ReportMetric(float64(peak())/(1<<20), "MB-heap-peak")
		})
	}
}

// BenchmarkExport writes 100,000 risks.
func BenchmarkExport(b *testing.B) {
	const n = 100_000
	s := newStore(b)
	if _, err := s.try(transfer.Options{}, fileSource(b, "risks.ndjson", manyRisks(n))); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.exportTo(io.Discard, transfer.NDJSON); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "rows/s")
}

// watchHeap returns a function that reports how much the heap grew at its peak,
// in bytes.
func watchHeap() func() uint64 {
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	before := memory.HeapInuse
	var peak atomic.Uint64
	stop := make(chan struct{})
	go func() {
		var memory runtime.MemStats
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				runtime.ReadMemStats(&memory)
				peak.Store(max(peak.Load(), memory.HeapInuse))
			}
		}
	}()
	return func() uint64 {
		close(stop)
		return max(peak.Load(), before) - before
	}
}
