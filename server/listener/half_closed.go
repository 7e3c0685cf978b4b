package listener

import (
	"context"
	"net/http"
	"time"
)

// failureInterval is how often a connection is checked whose client has closed
// its sending side while a request is answered.
const failureInterval = 100 * time.Millisecond

// respond serves a request on its connection.
func (c *connection) respond(next http.Handler, w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor > 1 {
		stream := c.streams.begin(w)
		defer stream.end()
		next.ServeHTTP(stream, r)
		return
	}
	c.answering.Store(true)
	ctx, end := c.untilFailure(r.Context())
	defer end()
	next.ServeHTTP(w, r.WithContext(ctx))
}

// untilFailure returns the context of a request of HTTP/1. Package net/http cancels its
// own when the client closes its sending side, which a client may do after the request.
// This one is canceled when the connection fails. The caller calls end.
func (c *connection) untilFailure(parent context.Context) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() { c.awaitFailure(ctx, cancel) })
	return ctx, func() {
		stop()
		cancel()
	}
}

// awaitFailure calls cancel when the connection fails, unless ctx ends first.
func (c *connection) awaitFailure(ctx context.Context, cancel func()) {
	ticker := time.NewTicker(failureInterval)
	defer ticker.Stop()
	for !c.hasFailed() {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
	cancel()
}
