package cmd

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/server/metrics"
	"govsvc/server/openapi"
	"govsvc/server/webhook"
)

// watching are the flags that say how a server can be watched.
type watching struct {
	metricsAddr string
	accessLog   bool
}

// flags adds them to a command.
func (o *watching) flags(c *cobra.Command) {
	c.Flags().Var(address{&o.metricsAddr}, "metrics-addr", "serve metrics for Prometheus at /metrics of this address, by plain HTTP and without a key; other addresses than loopback need --insecure")
	c.Flags().BoolVar(&o.accessLog, "access-log", false, "log every request, without its query, on stderr")
}

// refusePlain refuses to show metrics to everybody, unless that is wanted.
func (o *watching) refusePlain(ctx context.Context, insecure bool) error {
	if o.metricsAddr == "" || insecure {
		return nil
	}
	loopback, err := staysOnMachine(ctx, "--metrics-addr", o.metricsAddr)
	if err != nil || loopback {
		return err
	}
	return misusef("--metrics-addr %s can be reached from other machines, and metrics are served in the clear to all who ask: "+
		"give an address of loopback and let a collector on this machine read it, or --insecure to serve them all the same", o.metricsAddr)
}

// watched are the parts of a server that its metrics tell of.
type watched struct {
	store        *db.DB
	document     *openapi.Document
	connections  *connections
	certificates certificates
	delivery     *webhook.Deliverer
	logger       *slog.Logger
}

func (w watched) metrics() *metrics.Metrics {
	v := programVersion()
	c := metrics.Config{
		Store:       w.store,
		Build:       metrics.Build{Version: v.Version, Commit: v.Commit, Go: v.Go, SQLite: v.SQLite},
		Connections: w.connections.stand,
		Attempts: func() metrics.Attempts {
			t := w.delivery.Totals()
			return metrics.Attempts{Delivered: t.Delivered, Failed: t.Failed, Dead: t.Dead}
		},
		Certificates: w.certificates.ends,
		Problem:      func(err error) { w.logger.Warn("metrics: the data file can't be looked at", "error", err) },
	}
	for _, op := range w.document.Operations {
		c.Operations = append(c.Operations, op.ID)
	}
	return metrics.New(c)
}

const (
	// metricsTimeout bounds every phase of a request for metrics.
	metricsTimeout = 30 * time.Second
	// metricsConnections is how many connections readers of metrics may hold.
	metricsConnections = 64
)

// serve gives work that serves metrics until its ctx ends.
func (o *watching) serve(ctx context.Context, m *metrics.Metrics, logger *slog.Logger) (func(context.Context) error, error) {
	listener, err := listen(ctx, "--metrics-addr", o.metricsAddr)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", m.Handler())
	connections := boundConnections(listener, metricsConnections, nil)
	web := &http.Server{
		Handler: mux, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: metricsTimeout, WriteTimeout: metricsTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, ConnState: connections.changed, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	logger.Info("serving metrics", "address", "http://"+reachable(o.metricsAddr, listener.Addr())+"/metrics")
	return func(ctx context.Context) error {
		stop := context.AfterFunc(ctx, func() { _ = web.Close() }) // a reader comes again
		defer stop()
		if err := web.Serve(connections); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}, nil
}

// stand tells how the connections stand.
func (l *connections) stand() metrics.Connections {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return metrics.Connections{Open: l.open, Displaced: l.displaced.Load(), Refused: l.refused.Load()}
}
