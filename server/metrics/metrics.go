// Package metrics counts what the service does, in the form of Prometheus. What
// happens on every request is counted where it happens, with counters found
// beforehand; the rest is asked for when somebody reads the metrics.
package metrics

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"govsvc/db"
)

// What requests are counted as that reach no operation of the API.
const (
	None   = "none"   // a path of the API at which there is nothing
	Health = "health" // /healthz and /readyz
	Page   = "page"   // everything else
)

// Limited says for whom a request was refused by a limit.
type Limited int

// The subjects of limits.
const (
	Key Limited = iota
	Address
)

// Build says what the program is made of.
type Build struct{ Version, Commit, Go, SQLite string }

// Connections says how those of the listener stand.
type Connections struct {
	Open      int
	Displaced int64 // closed to make room, as no request was under way on them
	Refused   int64 // closed at once, as there was no room
}

// Attempts says how the attempts of the delivery loop ended so far.
type Attempts struct {
	Delivered, Failed int
	Dead              int // deliveries that became dead letters
}

// Config is what the metrics are about. A function that is nil is of something
// that this process does not do.
type Config struct {
	Store       *db.DB
	Build       Build
	Operations  []string // the operations of the API
	Connections func() Connections
	Attempts    func() Attempts
	// Certificates tells when those in use end, by name.
	Certificates func() map[string]time.Time
	// Problem is told of what can't be found out.
	Problem func(error)
}

// Metrics are those of one process. A nil one counts nothing.
type Metrics struct {
	registry   *prometheus.Registry
	operations map[string]*Operation
	limited    [2]prometheus.Counter
}

// New makes the metrics of a process.
func New(c Config) *Metrics {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "govsvc_http_requests_total",
		Help: "Requests answered, by operation of the API (or none, health, page) and status.",
	}, []string{"operation", "status"})
	durations := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "govsvc_http_request_duration_seconds",
		Help:    "Time from a request's head to the end of its answer, by operation.",
		Buckets: []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10},
	}, []string{"operation"})
	limited := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "govsvc_rate_limited_total",
		Help: "Requests refused by a limit, of a key or of an address without a valid key.",
	}, []string{"subject"})
	m := &Metrics{
		registry: prometheus.NewRegistry(), operations: map[string]*Operation{},
		limited: [2]prometheus.Counter{Key: limited.WithLabelValues("key"), Address: limited.WithLabelValues("address")},
	}
	for _, name := range append([]string{None, Health, Page}, c.Operations...) {
		m.operations[name] = &Operation{name: name, requests: requests, duration: durations.WithLabelValues(name)}
	}
	m.registry.MustRegister(requests, durations, limited, newStanding(c),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Operation finds where the requests of an operation are counted.
func (m *Metrics) Operation(name string) *Operation {
	if m == nil {
		return nil
	}
	if known := m.operations[name]; known != nil {
		return known
	}
	return m.operations[None]
}

// Refused counts a request that a limit refused.
func (m *Metrics) Refused(whose Limited) {
	if m != nil {
		m.limited[whose].Inc()
	}
}

// Handler answers with the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// statuses bounds what is counted apart: statuses have three digits.
const statuses = 600

// Operation counts the requests of one operation.
type Operation struct {
	name     string
	requests *prometheus.CounterVec
	duration prometheus.Observer
	counters [statuses]atomic.Pointer[prometheus.Counter] // found when first needed
}

// Done counts a request that was answered.
func (o *Operation) Done(status int, took time.Duration) {
	if o == nil {
		return
	}
	if status < 100 || status >= statuses {
		status = 0 // none that HTTP has
	}
	counter := o.counters[status].Load()
	if counter == nil {
		found := o.requests.WithLabelValues(o.name, strconv.Itoa(status))
		counter = &found
		o.counters[status].Store(counter)
	}
	(*counter).Inc()
	o.duration.Observe(took.Seconds())
}
