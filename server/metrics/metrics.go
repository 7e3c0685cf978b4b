// Package metrics has the Prometheus metrics of the service. Requests are counted
// as they happen, with counters that are looked up once. All other metrics are
// collected in a scrape.
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

// Names for requests that reach no operation of the API.
const (
	None   = "none"   // an unknown path of the API
	Health = "health" // /healthz and /readyz
	Page   = "page"   // everything else
)

// Limited is the kind of subject that a limit refused.
type Limited int

// The kinds of subjects of limits.
const (
	Key Limited = iota
	Address
)

// Build has the versions of the program and its parts.
type Build struct{ Version, Commit, Go, SQLite string }

// Connections is the state of the listener's connections.
type Connections struct {
	Open      int
	Displaced int64 // idle ones that were closed to make room
	Refused   int64 // new ones that were closed because there was no room
}

// Attempts counts the outcomes of the delivery loop.
type Attempts struct {
	Delivered, Failed int
	Dead              int // deliveries that became dead letters
}

// Config has the sources of the metrics. A function is nil if the process does not
// have that part.
type Config struct {
	Store       *db.DB
	Build       Build
	Operations  []string // the operations of the API
	Connections func() Connections
	Attempts    func() Attempts
	// Certificates returns when the certificates in use expire, by name.
	Certificates func() map[string]time.Time
	// OnError is called with errors of a scrape.
	OnError func(error)
}

// Metrics are the metrics of one process. A nil *Metrics counts nothing.
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
	m.registry.MustRegister(requests, durations, limited, newCollector(c),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Operation returns the counters of an operation.
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

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// statuses is the number of statuses that are counted separately.
const statuses = 600

// Operation counts the requests of one operation.
type Operation struct {
	name     string
	requests *prometheus.CounterVec
	duration prometheus.Observer
	counters [statuses]atomic.Pointer[prometheus.Counter] // found when first needed
}

// Done counts a response.
func (o *Operation) Done(status int, took time.Duration) {
	if o == nil {
		return
	}
	if status < 100 || status >= statuses {
		status = 0 // not a status of HTTP
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
