//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// files are the commands that read or write all records.
var files = []struct {
	name string
	args func(b *bench, round int) []string
}{
	{"import of new risks", func(b *bench, round int) []string {
		return []string{"import", "--db", filepath.Join(b.folder, fmt.Sprintf("import-%d.db", round)), b.records(b.transferred)}
	}},
	{"import of the same risks", func(b *bench, _ int) []string {
		return []string{"import", "--db", filepath.Join(b.folder, "import-0.db"), b.records(b.transferred)}
	}},
	{"import of new check-ins", func(b *bench, round int) []string {
		return []string{"import", "--db", filepath.Join(b.folder, fmt.Sprintf("checkins-%d.db", round)), b.checkins(b.transferred)}
	}},
	{"export", func(b *bench, _ int) []string {
		return []string{"export", "--db", filepath.Join(b.folder, "import-0.db"), "--type", "risk", "--out", filepath.Join(b.folder, "export.ndjson")}
	}},
}

// transfer measures imports and exports.
func transfer(ctx context.Context, out io.Writer, b *bench) error {
	fmt.Fprintf(out, "## Import and export of %d records\n\n| | records/s | processor time of a record | MB at most |\n|---|---|---|---|\n", b.transferred)
	if err := writeRisks(b.records(b.transferred), b.transferred); err != nil {
		return err
	}
	if err := writeCheckins(b.checkins(b.transferred), b.transferred); err != nil {
		return err
	}
	for _, f := range files {
		var took, used []time.Duration
		var most int64
		for round := range b.rounds {
			command := exec.CommandContext(ctx, b.binary, f.args(b, round)...)
			begun := time.Now()
			if out, err := command.CombinedOutput(); err != nil {
				return fmt.Errorf("%s: %w: %s", f.name, err, out)
			}
			took = append(took, time.Since(begun))
			used = append(used, command.ProcessState.UserTime()+command.ProcessState.SystemTime())
			if usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage); ok {
				most = max(most, usage.Maxrss)
			}
		}
		slices.Sort(took)
		slices.Sort(used)
		fmt.Fprintf(out, "| %s | %.0f | %s | %d |\n", f.name, float64(b.transferred)/took[len(took)/2].Seconds(),
			(used[len(used)/2] / time.Duration(b.transferred)).Round(100*time.Nanosecond), most>>10)
	}
	_, err := fmt.Fprintln(out)
	return err
}

var delivered = regexp.MustCompile(`(?m)^Benchmark(Deliveries|Bare)/subscriptions=(\d+)\S*\s.*?([0-9.]+) cpu-µs/op\s+([0-9.]+) deliveries/s`)

// webhooks runs the benchmark of deliveries and its bare client, in turn. The processor time
// is that of both sides.
func webhooks(ctx context.Context, out io.Writer, b *bench) error {
	type figures struct{ rates, times []float64 }
	found := map[string]figures{} // by the name of the benchmark and the number of subscriptions
	for range b.rounds {
		command := exec.CommandContext(ctx, "go", "test", "./server/webhook", "-run", "^$", "-bench", "Deliveries//dead=0|Bare", "-benchtime", "10000x")
		text, err := command.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, text)
		}
		for _, match := range delivered.FindAllStringSubmatch(string(text), -1) {
			used, err := strconv.ParseFloat(match[3], 64)
			if err != nil {
				return err
			}
			rate, err := strconv.ParseFloat(match[4], 64)
			if err != nil {
				return err
			}
			f := found[match[1]+match[2]]
			found[match[1]+match[2]] = figures{append(f.rates, rate), append(f.times, used)}
		}
	}
	fmt.Fprintln(out, "## Webhooks: deliveries compared with a bare client\n\n| subscriptions | deliveries/s | bare posts/s | share | processor time each | bare | share |\n|---|---|---|---|---|---|---|")
	for _, subscriptions := range []string{"1", "10", "100"} {
		ours, bare := found["Deliveries"+subscriptions], found["Bare"+subscriptions]
		if len(ours.rates) == 0 || len(bare.rates) == 0 {
			return errors.New("the benchmark printed no rate")
		}
		for _, list := range [][]float64{ours.rates, ours.times, bare.rates, bare.times} {
			slices.Sort(list)
		}
		middle := b.rounds / 2
		fmt.Fprintf(out, "| %s | %.0f | %.0f | %.2f | %.0fµs | %.0fµs | %.2f |\n", subscriptions,
			ours.rates[middle], bare.rates[middle], ours.rates[middle]/bare.rates[middle],
			ours.times[middle], bare.times[middle], bare.times[middle]/ours.times[middle])
	}
	_, err := fmt.Fprintln(out)
	return err
}
