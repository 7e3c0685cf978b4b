package cmd

import (
	"cmp"
	"context"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"govsvc/server/limit"
)

// connections is a listener that bounds the open connections, in all and for
// each address, so that one client cannot shut out the others. At the bound a new
// connection displaces an idle one: the one that has waited longest for a request,
// for the rest of its head, or for a body that is discarded. If none is idle, it
// displaces one whose client does not read its response. No other active
// connection is displaced. If none yields, the new connection is closed.
type connections struct {
	net.Listener
	most, perAddress int // 0 is no bound
	// exempt are proxies: theirs are the connections of many clients.
	exempt prefixes

	clock     atomic.Int64 // counts the ends of requests: who waits since when
	displaced atomic.Int64 // connections that gave way
	refused   atomic.Int64 // connections that were closed at once

	mutex sync.Mutex
	open  int
	from  map[netip.Addr][]*connection // those that are open, by address
}

// addressShare is the part of all connections that one address may hold.
const addressShare = 4

func boundConnections(listener net.Listener, most int, exempt prefixes) *connections {
	l := &connections{Listener: listener, most: most, exempt: exempt, from: map[netip.Addr][]*connection{}}
	boundUnsent(listener)
	if most > 0 {
		l.perAddress = max(1, most/addressShare)
	}
	return l
}

// connection is one that is counted until it is closed.
type connection struct {
	net.Conn
	list    *connections
	address netip.Addr   // IPv6 clients count by their /64
	at      int          // its place among those of its address; -1 once it is forgotten
	waiting atomic.Int64 // the clock when it began to wait; 0 while a request is under way

	writing   atomic.Int64 // uptime when the write under way began; 0 without one
	written   atomic.Int64 // bytes that the system has accepted
	answering atomic.Bool  // the service answers the request; HTTP/1 alone
	failed    atomic.Bool  // it can't be read from or written to any more
	progress  progress
	streams   streams
}

// Accept waits for the next connection that there is room for.
func (l *connections) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.admit(conn); c != nil {
			return c, nil
		}
		l.refused.Add(1)
		_ = conn.Close() // nothing was said on it
	}
}

// admit counts a connection in; nil if there is no room for it.
func (l *connections) admit(conn net.Conn) *connection {
	client := peer(conn)
	c := &connection{Conn: conn, list: l, address: countedAs(client)}
	c.waiting.Store(l.clock.Add(1))
	gone, ok := l.enter(c, client)
	if !ok {
		return nil
	}
	if gone != nil {
		l.displaced.Add(1)
		gone.yield()
	}
	return c
}

// enter puts a connection into the list; gone is the one that gave way to it,
// if one had to. Not ok is no room.
func (l *connections) enter(c *connection, client netip.Addr) (gone *connection, ok bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	switch {
	case l.most == 0:
	case len(l.from[c.address]) >= l.perAddress && !l.exempt.contain(client):
		if gone = l.displace(l.from[c.address]); gone == nil {
			return nil, false
		}
	case l.open >= l.most:
		if gone = l.displaceGreediest(); gone == nil {
			return nil, false
		}
	}
	c.at = len(l.from[c.address])
	l.from[c.address] = append(l.from[c.address], c)
	l.open++
	return gone, true
}

// displace takes the one of an address's connections that has waited longest
// out of the list; nil if requests are under way on all of them. The caller
// holds the mutex.
func (l *connections) displace(among []*connection) *connection {
	now := uptime()
	for {
		var oldest *connection
		var since int64
		for _, c := range among {
			if at := c.rank(now); at > 0 && (oldest == nil || at < since) {
				oldest, since = c, at
			}
		}
		if oldest == nil {
			return nil
		}
		if since >= stuckRank || oldest.waiting.CompareAndSwap(since, 0) { // else its request has come just now
			l.forget(oldest)
			return oldest
		}
	}
}

// displaceGreediest displaces a connection of the address that has the most,
// or, if none of them yields, of the address that has the next most. The caller
// holds the mutex.
func (l *connections) displaceGreediest() *connection {
	addresses := slices.Collect(maps.Values(l.from))
	slices.SortFunc(addresses, func(a, b []*connection) int { return cmp.Compare(len(b), len(a)) })
	for _, among := range addresses {
		if gone := l.displace(among); gone != nil {
			return gone
		}
	}
	return nil
}

// yield closes a connection that was taken out of the list.
func (c *connection) yield() {
	if c.writing.Load() > 0 {
		c.abort()
		return
	}
	c.failed.Store(true)
	_ = c.Conn.Close() // what it could say has no listener
}

// stuckRank is the lowest rank of connections whose clients do not read.
const stuckRank = 1 << 62

// rank orders the connections that yield, the first to yield lowest; 0 is one
// that does not yield.
func (c *connection) rank(now time.Duration) int64 {
	if at := c.waiting.Load(); at > 0 {
		return at
	}
	if c.stuck(now) {
		return stuckRank + c.writing.Load()
	}
	return 0
}

// forget takes a connection out of the list, once. The caller holds the mutex.
func (l *connections) forget(c *connection) {
	if c.at < 0 {
		return
	}
	among := l.from[c.address]
	last := len(among) - 1
	among[c.at], among[last].at = among[last], c.at
	among[last], c.at = nil, -1
	if l.from[c.address] = among[:last]; last == 0 {
		delete(l.from, c.address)
	}
	l.open--
}

// yields notes whether the connection waits, and gives way therefore, or not.
func (c *connection) yields(now bool) {
	if now {
		c.waiting.Store(c.list.clock.Add(1))
	} else {
		c.waiting.Store(0)
	}
}

// context gives a request its connection, and lets who answers it tell whether
// it yields (http.Server.ConnContext).
func (l *connections) context(ctx context.Context, conn net.Conn) context.Context {
	if c := beneath(conn); c != nil {
		return limit.Yielding(context.WithValue(ctx, connectionKey{}, c), c.yields)
	}
	return ctx
}

// beneath is the connection that is counted of one that net/http knows; nil if
// there is none.
func beneath(conn net.Conn) *connection {
	for {
		switch over := conn.(type) {
		case *connection:
			return over
		case interface{ NetConn() net.Conn }:
			conn = over.NetConn()
		default:
			return nil
		}
	}
}

// changed notes what net/http says about a connection (http.Server.ConnState):
// it is active from when the head of a request has come whole until the answer
// has left.
func (l *connections) changed(conn net.Conn, state http.ConnState) {
	c := beneath(conn)
	if c == nil {
		return
	}
	switch state {
	case http.StateActive:
		c.yields(false)
	case http.StateIdle:
		c.answering.Store(false)
		c.yields(true)
	case http.StateNew, http.StateHijacked, http.StateClosed: // as it was, until it is closed
	}
}

// Close closes the connection and makes room.
func (c *connection) Close() error {
	c.failed.Store(true)
	c.list.mutex.Lock()
	c.list.forget(c)
	c.list.mutex.Unlock()
	return c.Conn.Close()
}

// CloseWrite ends this side, where the connection can.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// peer is the address at the other end.
func peer(conn net.Conn) netip.Addr {
	at, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap().WithZone("")
}

// countedAs is the address that a client's connections count for: for IPv6 its
// /64, which is what one client has to itself.
func countedAs(client netip.Addr) netip.Addr {
	if client.Is6() && !client.IsLoopback() {
		if network, err := client.Prefix(64); err == nil {
			return network.Addr()
		}
	}
	return client
}

// contain tells whether one of the networks has the address.
func (v *prefixes) contain(address netip.Addr) bool {
	for _, prefix := range *v {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}
