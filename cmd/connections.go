package cmd

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"

	"govsvc/server/limit"
)

// connections is a listener that bounds how many connections are open, in all
// and from one address, so that clients who open many and say little can't
// shut others out. Where there is no room for a new one, the one that has
// waited longest for a request, for the rest of a request's head, or for a body
// that nobody will read, gives way; a request that is being answered never does.
// Where none can, the new one is closed.
type connections struct {
	net.Listener
	most, perAddress int // 0 is no bound
	// exempt are proxies: theirs are the connections of many clients.
	exempt prefixes

	clock     atomic.Int64 // counts the ends of requests: who waits since when
	displaced atomic.Int64 // connections that gave way
	refused   atomic.Int64 // connections that were closed at once

	mutex sync.Mutex
	open  map[*connection]struct{}
	from  map[netip.Addr]int // how many of them, by address
}

// addressShare is the part of all connections that one address may hold.
const addressShare = 4

func boundConnections(listener net.Listener, most int, exempt prefixes) *connections {
	l := &connections{Listener: listener, most: most, exempt: exempt, open: map[*connection]struct{}{}, from: map[netip.Addr]int{}}
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
	waiting atomic.Int64 // the clock when it began to wait; 0 while a request is under way
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
		_ = gone.Conn.Close() // what it could say has no listener
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
	case l.from[c.address] >= l.perAddress && !l.exempt.contain(client):
		if gone = l.displace(c.address); gone == nil {
			return nil, false
		}
	case len(l.open) >= l.most:
		if gone = l.displace(l.greediest()); gone == nil {
			return nil, false
		}
	}
	l.open[c] = struct{}{}
	l.from[c.address]++
	return gone, true
}

// displace takes the connection of an address that has waited longest out of
// the list; nil if requests are under way on all of them. The caller holds the
// mutex.
func (l *connections) displace(address netip.Addr) *connection {
	for {
		var oldest *connection
		var since int64
		for c := range l.open {
			if at := c.waiting.Load(); c.address == address && at > 0 && (oldest == nil || at < since) {
				oldest, since = c, at
			}
		}
		if oldest == nil {
			return nil
		}
		if oldest.waiting.CompareAndSwap(since, 0) { // else its request has come just now
			l.forget(oldest)
			return oldest
		}
	}
}

// greediest is the address with the most connections among those that have one
// that could give way. The caller holds the mutex.
func (l *connections) greediest() netip.Addr {
	var found netip.Addr
	for c := range l.open {
		if c.waiting.Load() > 0 && l.from[c.address] > l.from[found] {
			found = c.address
		}
	}
	return found
}

// forget takes a connection out of the list, once. The caller holds the mutex.
func (l *connections) forget(c *connection) {
	if _, open := l.open[c]; !open {
		return
	}
	delete(l.open, c)
	if l.from[c.address]--; l.from[c.address] == 0 {
		delete(l.from, c.address)
	}
}

// yields notes whether the connection waits, and gives way therefore, or not.
func (c *connection) yields(now bool) {
	if now {
		c.waiting.Store(c.list.clock.Add(1))
	} else {
		c.waiting.Store(0)
	}
}

// context lets who answers the requests of a connection tell whether it yields
// (http.Server.ConnContext).
func (l *connections) context(ctx context.Context, conn net.Conn) context.Context {
	if c := beneath(conn); c != nil {
		return limit.Yielding(ctx, c.yields)
	}
	return ctx
}

// beneath is the connection that is counted of one that net/http knows; nil if
// there is none.
func beneath(conn net.Conn) *connection {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	c, _ := conn.(*connection)
	return c
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
		c.yields(true)
	case http.StateNew, http.StateHijacked, http.StateClosed: // as it was, until it is closed
	}
}

// Close closes the connection and makes room.
func (c *connection) Close() error {
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
