package listener

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"
)

// metricsTimeout bounds each phase of a request for metrics.
const metricsTimeout = 30 * time.Second

// MetricsConnections is how many connections clients may hold that read metrics.
const MetricsConnections = 64

// ServeMetrics serves a handler of short requests by plain HTTP until ctx ends.
// Requests under way are cut off then: a collector asks again.
func ServeMetrics(ctx context.Context, l *Listener, handler http.Handler, logger *slog.Logger) error {
	web := &http.Server{
		Handler: handler, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: metricsTimeout, WriteTimeout: metricsTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes, ConnState: l.connState, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	stop := context.AfterFunc(ctx, func() { _ = web.Close() }) // as said above
	defer stop()
	if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
