package listener

import (
	"context"
	"net/http"
	"sync"
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
	ctx := &untilFailure{parent: r.Context(), connection: c}
	defer ctx.end()
	next.ServeHTTP(w, r.WithContext(ctx)) //nolint:contextcheck // it has the values of the request's own
}

// untilFailure is the context of a request of HTTP/1. Package net/http cancels its own
// when the client closes its sending side, which a client may do after the request. This
// one is canceled when the connection fails, or by end.
//
// Most requests never ask whether they are canceled, so nothing is prepared for that
// before the first one that does.
type untilFailure struct {
	parent     context.Context //nolint:containedctx // it is a context itself
	connection *connection

	mutex  sync.Mutex
	asked  context.Context //nolint:containedctx // nil until it is needed
	cancel func()
	ended  bool
}

// prepared returns the context that is canceled.
func (u *untilFailure) prepared() context.Context {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.asked != nil {
		return u.asked
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(u.parent))
	u.asked, u.cancel = ctx, cancel
	if u.ended {
		cancel()
		return ctx
	}
	stop := context.AfterFunc(u.parent, func() { u.connection.awaitFailure(ctx, cancel) })
	u.cancel = func() {
		stop()
		cancel()
	}
	return ctx
}

// end cancels the context.
func (u *untilFailure) end() {
	u.mutex.Lock()
	u.ended = true
	cancel := u.cancel
	u.mutex.Unlock()
	if cancel != nil {
		cancel() // without the mutex, since it may ask for values
	}
}

// Deadline implements context.Context.
func (u *untilFailure) Deadline() (at time.Time, ok bool) { return time.Time{}, false }

// Done implements context.Context.
func (u *untilFailure) Done() <-chan struct{} { return u.prepared().Done() }

// Err implements context.Context.
func (u *untilFailure) Err() error { return u.prepared().Err() }

// Value implements context.Context. Package context asks the prepared one for itself, so
// that contexts made from this one need no goroutine.
func (u *untilFailure) Value(key any) any {
	u.mutex.Lock()
	asked := u.asked
	u.mutex.Unlock()
	if asked != nil {
		return asked.Value(key)
	}
	return context.WithoutCancel(u.parent).Value(key)
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
