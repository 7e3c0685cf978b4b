package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"govsvc/db"
	"govsvc/db/delivery"
)

// readTimeout is how long a scrape waits for the data file.
const readTimeout = 5 * time.Second

// collector collects the metrics that are not counted per request.
type collector struct{ Config }

func newCollector(c Config) prometheus.Collector {
	if c.OnError == nil {
		c.OnError = func(error) {}
	}
	return collector{c}
}

func newDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("govsvc_"+name, help, labels, nil)
}

var (
	build        = newDesc("build_info", "1, with what the program is made of.", "version", "commit", "go", "sqlite")
	up           = newDesc("data_file_up", "1 if the data file could be read just now, or else 0.")
	fileBytes    = newDesc("data_file_bytes", "Size of the data file.")
	walBytes     = newDesc("wal_bytes", "Size of the write-ahead log beside the data file.")
	queue        = newDesc("webhook_queue", "Deliveries of webhooks to be made: due now, later (under way, or after a wait), or paused with their subscription.", "state")
	oldest       = newDesc("webhook_oldest_due_seconds", "For how long the oldest delivery that is due has been; 0 if none is.")
	deadLetters  = newDesc("webhook_dead_letters", "Deliveries that ran out of attempts or left a full queue, and are neither replayed nor discarded.")
	attempts     = newDesc("webhook_attempts_total", "Attempts of this process to deliver a webhook: delivered, failed and to be repeated, or the last one (dead).", "outcome")
	batches      = newDesc("write_transaction_changes", "Changes that shared a transaction.")
	seconds      = newDesc("write_transaction_seconds", "Time that a write transaction took, the sync of the disk included.")
	failed       = newDesc("write_transactions_failed_total", "Write transactions that the data file did not take.")
	open         = newDesc("connections", "Connections that are open.")
	closed       = newDesc("connections_closed_total", "Connections that were closed because a limit was reached: displaced while no request was in progress, or refused when they opened.", "reason")
	certificates = newDesc("certificate_end_timestamp_seconds", "When a TLS certificate in use ends.", "name")
)

// Describe lists the metrics of Collect.
func (s collector) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		build, up, fileBytes, walBytes, queue, oldest, deadLetters, attempts, batches, seconds, failed, open, closed, certificates,
	} {
		to <- desc
	}
}

// Collect reads the metrics from their sources. If the data file can't be read,
// data_file_up is 0 and the metrics of the file are left out.
func (s collector) Collect(to chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	counter := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, value, labels...)
	}
	gauge(build, 1, s.Build.Version, s.Build.Commit, s.Build.Go, s.Build.SQLite)
	s.dataFile(gauge)
	writes := s.Store.File.WriteStats()
	to <- histogram(batches, writes.Changes)
	to <- histogram(seconds, writes.Seconds)
	counter(failed, float64(writes.Failed))
	if s.Attempts != nil {
		a := s.Attempts()
		counter(attempts, float64(a.Delivered), "delivered")
		counter(attempts, float64(a.Failed), "failed")
		counter(attempts, float64(a.Dead), "dead")
	}
	if s.Connections != nil {
		c := s.Connections()
		gauge(open, float64(c.Open))
		counter(closed, float64(c.Displaced), "displaced")
		counter(closed, float64(c.Refused), "refused")
	}
	if s.Certificates != nil {
		for name, end := range s.Certificates() {
			gauge(certificates, float64(end.Unix()), name)
		}
	}
}

func (s collector) dataFile(gauge func(*prometheus.Desc, float64, ...string)) {
	file, wal, err := s.Store.File.Sizes()
	if err == nil {
		gauge(fileBytes, float64(file))
		gauge(walBytes, float64(wal))
	}
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	q, failure := delivery.ReadStats(ctx, s.Store)
	if failure == nil {
		gauge(queue, float64(q.Due), "due")
		gauge(queue, float64(q.Later), "later")
		gauge(queue, float64(q.Paused), "paused")
		gauge(oldest, q.Oldest.Seconds())
		gauge(deadLetters, float64(q.Dead))
	}
	for _, problem := range []error{err, failure} {
		if problem != nil {
			gauge(up, 0)
			s.OnError(problem)
			return
		}
	}
	gauge(up, 1)
}

func histogram(desc *prometheus.Desc, t db.Histogram) prometheus.Metric {
	buckets, below := make(map[float64]uint64, len(t.Bounds)), uint64(0)
	for i, bound := range t.Bounds {
		below += t.Counts[i]
		buckets[bound] = below
	}
	return prometheus.MustNewConstHistogram(desc, below+t.Counts[len(t.Bounds)], t.Sum, buckets)
}
