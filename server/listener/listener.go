// Package listener accepts connections and serves HTTP on them. It limits the
// open connections, performs TLS handshakes, closes connections whose clients
// read a response too slowly, and answers requests that can't be parsed. It
// works for every handler and does not depend on the API.
package listener

import (
	"cmp"
	"context"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
)

// DefaultConnections is how many connections may be open at once by default.
const DefaultConnections = 4096

// addressShare is the part of all connections that one address may hold.
const addressShare = 4

// Limits bound the connections of a listener.
type Limits struct {
	Connections int // open at once; 0 is no limit
	// Proxies have no limit of their own: their connections serve many clients.
	Proxies []netip.Prefix
}

// Listener limits the open connections, in all and for each address, so that one
// client cannot shut out the others. At the limit a new connection displaces an
// idle one: the one that has waited longest for a request, for the rest of its
// head, or for a body that is discarded. If none is idle, it displaces one whose
// client does not read its response. No other active connection is displaced. If
// none can be displaced, the new connection is closed.
type Listener struct {
	net.Listener
	accepts net.Listener // Listener, or one that coalesces the writes of its connections

	given           string // the address as the caller wrote it
	max, perAddress int    // 0 is no limit
	proxies         []netip.Prefix

	clock     atomic.Int64 // counts the ends of requests; orders idle connections
	displaced atomic.Int64
	refused   atomic.Int64

	mutex     sync.Mutex
	open      int
	byAddress map[netip.Addr][]*connection // the open ones
}

// Stats count the connections of a listener.
type Stats struct {
	Open      int
	Displaced int64 // idle, and closed so that a new one could open
	Refused   int64 // closed immediately because a limit was reached
}

// Listen opens a TCP address for connections within limits.
func Listen(ctx context.Context, address string, limits Limits) (*Listener, error) {
	opened, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	l := &Listener{
		Listener: opened, accepts: opened, given: address,
		max: limits.Connections, proxies: limits.Proxies, byAddress: map[netip.Addr][]*connection{},
	}
	limitUnsent(opened)
	if l.max > 0 {
		l.perAddress = max(1, l.max/addressShare)
	}
	return l, nil
}

// HostPort returns where clients can reach the listener. The host is the one bound or,
// if that means all addresses, the one passed to Listen.
func (l *Listener) HostPort() string {
	bound, err := netip.ParseAddrPort(l.Addr().String())
	if err != nil {
		return l.Addr().String()
	}
	if !bound.Addr().IsUnspecified() {
		return bound.String()
	}
	host, _, _ := net.SplitHostPort(l.given)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return net.JoinHostPort(cmp.Or(host, "localhost"), port)
}

// Stats returns the present counts.
func (l *Listener) Stats() Stats {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return Stats{Open: l.open, Displaced: l.displaced.Load(), Refused: l.refused.Load()}
}

// Accept waits for the next connection within the limits.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.accepts.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.admit(conn); c != nil {
			return c, nil
		}
		l.refused.Add(1)
		_ = conn.Close() // nothing was sent on it
	}
}

// admit counts a connection; nil if there is no room for it.
func (l *Listener) admit(conn net.Conn) *connection {
	client := clientAddress(conn)
	c := &connection{Conn: conn, listener: l, address: limitedAs(client)}
	c.idleSince.Store(l.clock.Add(1))
	displaced, ok := l.add(c, client)
	if !ok {
		return nil
	}
	if displaced != nil {
		l.displaced.Add(1)
		displaced.closeDisplaced()
	}
	return c
}

// add puts a connection into the list, and takes out the one that it displaces,
// if any. It reports false if there is no room.
func (l *Listener) add(c *connection, client netip.Addr) (displaced *connection, ok bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	switch {
	case l.max == 0:
	case len(l.byAddress[c.address]) >= l.perAddress && !contains(l.proxies, client):
		if displaced = l.displace(l.byAddress[c.address]); displaced == nil {
			return nil, false
		}
	case l.open >= l.max:
		if displaced = l.displaceOfLargest(); displaced == nil {
			return nil, false
		}
	}
	c.index = len(l.byAddress[c.address])
	l.byAddress[c.address] = append(l.byAddress[c.address], c)
	l.open++
	return displaced, true
}

// displace takes one of an address's connections out of the list: the one that
// has been idle for the longest time, else one whose client does not read. It
// returns nil if all others are active. The caller holds the mutex.
func (l *Listener) displace(candidates []*connection) *connection {
	now := uptime()
	for {
		var first *connection
		var lowest int64
		for _, c := range candidates {
			if rank := c.displacementRank(now); rank > 0 && (first == nil || rank < lowest) {
				first, lowest = c, rank
			}
		}
		if first == nil {
			return nil
		}
		// A swap that fails means that a request has just arrived.
		if lowest >= stuckRank || first.idleSince.CompareAndSwap(lowest, 0) {
			l.remove(first)
			return first
		}
	}
}

// displaceOfLargest displaces a connection of the address that has the most
// connections. If all of those are active, it tries the next largest address.
// The caller holds the mutex.
func (l *Listener) displaceOfLargest() *connection {
	addresses := slices.Collect(maps.Values(l.byAddress))
	slices.SortFunc(addresses, func(a, b []*connection) int { return cmp.Compare(len(b), len(a)) })
	for _, candidates := range addresses {
		if c := l.displace(candidates); c != nil {
			return c
		}
	}
	return nil
}

// remove takes a connection out of the list, once. The caller holds the mutex.
func (l *Listener) remove(c *connection) {
	if c.index < 0 {
		return
	}
	list := l.byAddress[c.address]
	last := len(list) - 1
	list[c.index], list[last].index = list[last], c.index
	list[last], c.index = nil, -1
	if l.byAddress[c.address] = list[:last]; last == 0 {
		delete(l.byAddress, c.address)
	}
	l.open--
}

// clientAddress returns the address at the other end.
func clientAddress(conn net.Conn) netip.Addr {
	remote, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return remote.Addr().Unmap().WithZone("")
}

// limitedAs returns the address that a client's connections count for. For IPv6 it is
// the /64, because one client usually has all of it.
func limitedAs(client netip.Addr) netip.Addr {
	if client.Is6() && !client.IsLoopback() {
		if network, err := client.Prefix(64); err == nil {
			return network.Addr()
		}
	}
	return client
}

// contains reports whether one of the networks has the address.
func contains(networks []netip.Prefix, address netip.Addr) bool {
	return slices.ContainsFunc(networks, func(network netip.Prefix) bool { return network.Contains(address) })
}
