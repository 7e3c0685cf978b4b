package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// line has the measurements of one line of the table.
type line struct {
	requests, writes float64 // requests per second; changes since the start
	p50, p99, worst  time.Duration
	resident         float64 // MB
	heap             float64 // MB
	goroutines       float64
	descriptors      float64
	wal, file        float64 // MB
	queue            float64 // deliveries
}

// lines prints and returns the lines of the table until the load ends.
func (h *harness) lines(ctx context.Context, begun time.Time, responses *tally, o options) ([]line, error) {
	fmt.Println("| time | requests/s | p50 | p99 | worst | memory MB | heap MB | goroutines | descriptors | WAL MB | file MB | queue |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|")
	var all []line
	for end := o.every; end <= o.length; end += o.every {
		select {
		case <-ctx.Done():
			return nil, errors.New("the load ended early")
		case <-time.After(time.Until(begun.Add(end))):
		}
		took, failure := responses.drain()
		if failure != nil {
			return nil, fmt.Errorf("a request failed after %s: %w", end, failure)
		}
		if len(took) == 0 {
			return nil, fmt.Errorf("no response within %s", o.every)
		}
		l, err := h.measure(ctx)
		if err != nil {
			return nil, err
		}
		l.requests = float64(len(took)) / o.every.Seconds()
		l.p50, l.p99, l.worst = took[len(took)/2], took[len(took)*99/100], took[len(took)-1]
		fmt.Printf("| %s | %.0f | %.2f ms | %.1f ms | %.0f ms | %.0f | %.0f | %.0f | %.0f | %.1f | %.1f | %.0f |\n", end, l.requests,
			ms(l.p50), ms(l.p99), ms(l.worst), l.resident, l.heap, l.goroutines, l.descriptors, l.wal, l.file, l.queue)
		all = append(all, l)
	}
	return all, nil
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

// values returns the metrics of the server.
func (h *harness) values(ctx context.Context) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, h.metrics, nil)
	if err != nil {
		return nil, err
	}
	response, err := h.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	all, rows := map[string]float64{}, bufio.NewScanner(response.Body)
	for rows.Scan() {
		name, text, ok := strings.Cut(rows.Text(), "} ")
		if ok {
			name += "}"
		} else {
			name, text, _ = strings.Cut(rows.Text(), " ")
		}
		if value, err := strconv.ParseFloat(text, 64); err == nil {
			all[name] = value
		}
	}
	return all, rows.Err()
}

func (h *harness) measure(ctx context.Context) (line, error) {
	v, err := h.values(ctx)
	if err != nil {
		return line{}, err
	}
	for _, name := range []string{"go_goroutines", "go_memstats_heap_inuse_bytes", "process_resident_memory_bytes", "govsvc_data_file_bytes", "govsvc_wal_bytes", `govsvc_webhook_queue{state="due"}`} {
		if _, ok := v[name]; !ok {
			return line{}, fmt.Errorf("the metrics have no %s", name)
		}
	}
	descriptors, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", h.server.Process.Pid))
	if err != nil {
		return line{}, err
	}
	const mb = 1 << 20
	return line{
		resident: v["process_resident_memory_bytes"] / mb, heap: v["go_memstats_heap_inuse_bytes"] / mb,
		goroutines: v["go_goroutines"], descriptors: float64(len(descriptors)),
		wal: v["govsvc_wal_bytes"] / mb, file: v["govsvc_data_file_bytes"] / mb,
		queue:  v[`govsvc_webhook_queue{state="due"}`] + v[`govsvc_webhook_queue{state="later"}`],
		writes: v["govsvc_write_transaction_changes_sum"],
	}, nil
}

// bound limits the median of the last third of the lines, compared with that of
// the first third: factor times the first median, plus more. The first line is
// left out, because caches fill then. For a latency, the best line of the last
// third counts: other load on the machine can slow down a minute, but a latency
// that has grown is high in every minute.
type bound struct {
	name   string
	value  func(line) float64
	factor float64
	more   float64
	best   bool
}

var bounds = []bound{
	{"memory (MB)", func(l line) float64 { return l.resident }, 1.2, 24, false},
	{"heap in use (MB)", func(l line) float64 { return l.heap }, 1.3, 16, false},
	{"goroutines", func(l line) float64 { return l.goroutines }, 1.1, 16, false},
	{"descriptors", func(l line) float64 { return l.descriptors }, 1.1, 8, false},
	// The log grows during a backup of a large file. Afterwards it keeps its size, up to
	// its limit.
	{"WAL (MB)", func(l line) float64 { return l.wal }, 1, 64, false},
	{"p50 (ms)", func(l line) float64 { return ms(l.p50) }, 1.5, 1, true},
	{"p99 (ms)", func(l line) float64 { return ms(l.p99) }, 1.5, 15, true},
	{"deliveries queued", func(l line) float64 { return l.queue }, 1, 200, false},
}

// fileGrowthFactor bounds the growth of the file for each change: in the second half of
// the run it may be this many times the growth in the first half.
const fileGrowthFactor = 1.3

// verdict prints the comparison and returns an error for each exceeded bound.
func verdict(lines []line) (exceeded []error) {
	lines = lines[1:]
	third := max(1, len(lines)/3)
	first, last := lines[:third], lines[len(lines)-third:]
	fmt.Print("\n| | first third | last third | bound |\n|---|---|---|---|\n")
	compare := func(name string, before, after, limit float64) {
		fmt.Printf("| %s | %.2f | %.2f | %.2f |\n", name, before, after, limit)
		if after > limit {
			exceeded = append(exceeded, fmt.Errorf("%s grew from %.2f to %.2f, the bound is %.2f", name, before, after, limit))
		}
	}
	for _, b := range bounds {
		before, after := sortedValues(first, b.value), sortedValues(last, b.value)
		at := len(after) / 2
		if b.best {
			at = 0
		}
		compare(b.name, before[len(before)/2], after[at], b.factor*before[len(before)/2]+b.more)
	}
	half := len(lines) / 2
	before, after := growth(lines[0], lines[half]), growth(lines[half], lines[len(lines)-1])
	compare("file, KB per change (halves)", before, after, fileGrowthFactor*before+0.2)
	return exceeded
}

// growth returns the growth of the file in KB for each change.
func growth(from, to line) float64 {
	return (to.file - from.file) * 1024 / max(1, to.writes-from.writes)
}

// sortedValues returns one value of each line, smallest first.
func sortedValues(lines []line, value func(line) float64) []float64 {
	var all []float64
	for _, l := range lines {
		all = append(all, value(l))
	}
	slices.Sort(all)
	return all
}
