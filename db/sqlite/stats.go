package sqlite

import "time"

// Histogram counts values by the least of the bounds that each does not exceed.
// The last count is of those above all bounds. It does not change after it was
// returned.
type Histogram struct {
	Bounds []float64
	Counts []uint64
	Sum    float64
}

func newHistogram(bounds ...float64) Histogram {
	return Histogram{Bounds: bounds, Counts: make([]uint64, len(bounds)+1)}
}

func (h *Histogram) add(value float64) {
	i := 0
	for i < len(h.Bounds) && value > h.Bounds[i] {
		i++
	}
	h.Counts[i]++
	h.Sum += value
}

func (h *Histogram) copied() Histogram {
	return Histogram{h.Bounds, append([]uint64(nil), h.Counts...), h.Sum}
}

// WriteStats describes the write transactions since the file was opened.
type WriteStats struct {
	Changes Histogram // requests of each committed transaction
	Seconds Histogram // duration of each committed transaction, with the sync
	Failed  uint64    // transactions that failed
}

// writerStats is guarded by the writer's mutex.
type writerStats struct {
	requests, seconds Histogram
	failed            uint64
}

func newWriterStats() writerStats {
	return writerStats{
		requests: newHistogram(1, 2, 4, 8, 16, 32, 64, 128, maxBatch),
		seconds:  newHistogram(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
	}
}

// note counts a transaction that has ended. One that had nothing to commit is not
// counted.
func (w *writer) note(requests int, took time.Duration, committed bool, err error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	switch {
	case committed:
		w.stats.requests.add(float64(requests))
		w.stats.seconds.add(took.Seconds())
	case err != nil:
		w.stats.failed++
	}
}

// WriteStats returns the counts up to now.
func (d *DB) WriteStats() WriteStats {
	d.writer.mutex.Lock()
	defer d.writer.mutex.Unlock()
	s := &d.writer.stats
	return WriteStats{s.requests.copied(), s.seconds.copied(), s.failed}
}
