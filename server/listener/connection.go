package listener

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"govsvc/server/limit"
)

// connection is an accepted connection, counted until it is closed.
type connection struct {
	net.Conn
	listener  *Listener
	address   netip.Addr   // that it counts for
	index     int          // in the list of its address; -1 once it is removed
	idleSince atomic.Int64 // the listener's clock; 0 while a request is under way

	writing   atomic.Int64 // uptime when the write under way began; 0 without one
	written   atomic.Int64 // bytes that the system has accepted
	answering atomic.Bool  // the service answers the request; HTTP/1 alone
	failed    atomic.Bool  // it can't be read from or written to any more
	progress  progress
	streams   streams
}

// stuckRank is the lowest rank of connections whose clients do not read.
const stuckRank = 1 << 62

// displacementRank orders the connections that may be displaced, the first one
// lowest. It is 0 for a connection that may not.
func (c *connection) displacementRank(now time.Duration) int64 {
	if since := c.idleSince.Load(); since > 0 {
		return since
	}
	if c.stuck(now) {
		return stuckRank + c.writing.Load()
	}
	return 0
}

// setIdle notes whether the connection may be displaced because it is idle.
func (c *connection) setIdle(idle bool) {
	if idle {
		c.idleSince.Store(c.listener.clock.Add(1))
	} else {
		c.idleSince.Store(0)
	}
}

// closeDisplaced closes a connection that was taken out of the list.
func (c *connection) closeDisplaced() {
	if c.writing.Load() > 0 {
		c.abort()
		return
	}
	c.failed.Store(true)
	_ = c.Conn.Close() // an error would concern only the displaced client
}

// Close closes the connection and makes room for another.
func (c *connection) Close() error {
	c.failed.Store(true)
	c.listener.mutex.Lock()
	c.listener.remove(c)
	c.listener.mutex.Unlock()
	return c.Conn.Close()
}

// CloseWrite closes the sending side, if the connection supports it.
func (c *connection) CloseWrite() error { return closeWrite(c.Conn) }

func closeWrite(conn net.Conn) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

type connectionKey struct{}

// connectionOf returns the connection of a request, or nil if it is not known.
func connectionOf(ctx context.Context) *connection {
	c, _ := ctx.Value(connectionKey{}).(*connection)
	return c
}

// connContext gives requests their connection (http.Server.ConnContext). Handlers
// that discard a body mark the connection as idle by it.
func (l *Listener) connContext(ctx context.Context, conn net.Conn) context.Context {
	if c := countedConnection(conn); c != nil {
		return limit.Yielding(context.WithValue(ctx, connectionKey{}, c), c.setIdle)
	}
	return ctx
}

// connState notes what net/http reports about a connection
// (http.Server.ConnState). It is active from the time at which the head of a
// request is complete until the response has been sent.
func (l *Listener) connState(conn net.Conn, state http.ConnState) {
	c := countedConnection(conn)
	if c == nil {
		return
	}
	switch state {
	case http.StateActive:
		c.setIdle(false)
	case http.StateIdle:
		c.answering.Store(false)
		c.setIdle(true)
	case http.StateNew, http.StateHijacked, http.StateClosed: // unchanged until it is closed
	}
}

// countedConnection finds the counted connection under one that net/http knows;
// nil if there is none.
func countedConnection(conn net.Conn) *connection {
	for {
		switch outer := conn.(type) {
		case *connection:
			return outer
		case interface{ NetConn() net.Conn }:
			conn = outer.NetConn()
		default:
			return nil
		}
	}
}
