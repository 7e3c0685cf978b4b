package cmd

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/spf13/cobra"

	"govsvc/db"
	"govsvc/server/certificates"
	"govsvc/server/listener"
	"govsvc/server/metrics"
	"govsvc/server/openapi"
	"govsvc/server/webhook"
)

// observabilityFlags are the flags about metrics and the access log.
type observabilityFlags struct {
	metricsAddr string
	accessLog   bool
}

// add defines the flags on a command.
func (f *observabilityFlags) add(c *cobra.Command) {
	c.Flags().Var(textValue{&f.metricsAddr, "HOST:PORT", parseAddress}, "metrics-addr", "serve metrics for Prometheus at /metrics of this address, by plain HTTP and without a key; other addresses than loopback need --insecure")
	c.Flags().BoolVar(&f.accessLog, "access-log", false, "log every request, without its query, on stderr")
}

// checkPlain refuses to serve metrics to other machines without --insecure.
func (f *observabilityFlags) checkPlain(ctx context.Context, insecure bool) error {
	if f.metricsAddr == "" || insecure {
		return nil
	}
	loopback, err := isLoopback(ctx, "--metrics-addr", f.metricsAddr)
	if err != nil || loopback {
		return err
	}
	return usageErrorf("--metrics-addr %s can be reached from other machines, and metrics are served unencrypted and without a key: "+
		"give a loopback address and let a collector on this machine read it, or --insecure to serve them anyway", f.metricsAddr)
}

// observed are the parts of a server that its metrics report.
type observed struct {
	store     *db.DB
	document  *openapi.Document
	listener  *listener.Listener
	source    certificates.Source
	deliverer *webhook.Deliverer
	logger    *slog.Logger
}

func (o observed) metrics() *metrics.Metrics {
	v := programVersion()
	c := metrics.Config{
		Store:       o.store,
		Build:       metrics.Build{Version: v.Version, Commit: v.Commit, Go: v.Go, SQLite: v.SQLite},
		Connections: func() metrics.Connections { return metrics.Connections(o.listener.Stats()) },
		Attempts: func() metrics.Attempts {
			t := o.deliverer.Totals()
			return metrics.Attempts{Delivered: t.Delivered, Failed: t.Failed, Dead: t.Dead}
		},
		Certificates: o.source.Expiry,
		OnError:      func(err error) { o.logger.Warn("metrics: the data file can't be read", "error", err) },
	}
	for _, op := range o.document.Operations {
		c.Operations = append(c.Operations, op.ID)
	}
	return metrics.New(c)
}

// serve opens the address of --metrics-addr and returns work that serves metrics
// there until its context ends.
func (f *observabilityFlags) serve(ctx context.Context, m *metrics.Metrics, logger *slog.Logger) (func(context.Context) error, error) {
	l, err := listen(ctx, "--metrics-addr", f.metricsAddr, listener.Limits{Connections: listener.MetricsConnections})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", m.Handler())
	logger.Info("serving metrics", "address", urlOf(l, nil)+"/metrics")
	return func(ctx context.Context) error { return listener.ServeMetrics(ctx, l, mux, logger) }, nil
}
