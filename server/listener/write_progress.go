package listener

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// The minimum progress of a response. A client that takes less than
// progressBytes in progressTime, while the server waits for it, loses its
// connection, or its stream of HTTP/2. The rate is 1.6 KB a second.
const (
	progressBytes = 16 << 10
	progressTime  = 10 * time.Second
	// writeWait is how long one write may wait for the client before its
	// connection may be displaced by a new one.
	writeWait = 250 * time.Millisecond
	// progressInterval is how often waiting writes are checked.
	progressInterval = time.Second
	// writePart is the size of the parts in which a long write is made.
	writePart = 64 << 10
)

var processStart = time.Now()

// uptime returns the monotonic time since the process started; never 0.
func uptime() time.Duration { return time.Since(processStart) + 1 }

// progress is what the last check found about the write under way. Only
// checkProgress uses it.
type progress struct {
	write time.Duration // when the write began
	at    time.Duration // when taken was read
	taken int64         // bytes that the client had taken then
}

// Write sends p in parts, so that checkProgress sees how long each part takes.
func (c *connection) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		part := p[:min(len(p), writePart)]
		c.writing.Store(int64(uptime()))
		sent, err := c.Conn.Write(part)
		c.writing.Store(0)
		c.written.Add(int64(sent))
		n += sent
		if err != nil {
			c.failed.Store(true)
			return n, err
		}
		p = p[sent:]
	}
	return n, nil
}

// Read notes a connection that fails. Its end is not a failure: a client may
// close its sending side and wait for the response.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.failed.Store(true)
	}
	return n, err
}

// hasFailed reports whether the connection has failed in both directions.
func (c *connection) hasFailed() bool {
	if c.failed.Load() {
		return true
	}
	tcp := tcpOf(c.Conn)
	return tcp != nil && socketClosed(tcp)
}

// stuck reports whether the connection waits for a client that does not read.
func (c *connection) stuck(now time.Duration) bool {
	began := time.Duration(c.writing.Load())
	return began > 0 && now-began > writeWait || c.streams.stuck(now)
}

// checkProgress closes the connection if its client has taken too little.
func (c *connection) checkProgress(now time.Duration) {
	c.streams.checkProgress(now)
	began, seen := time.Duration(c.writing.Load()), &c.progress
	if began == 0 || began == seen.write && now-seen.at < progressTime {
		return
	}
	taken := c.taken()
	if began == seen.write && taken-seen.taken < progressBytes {
		c.abort()
		return
	}
	*seen = progress{began, now, taken}
}

// taken returns how many bytes the client has acknowledged, or, where the system does
// not report that, how many the system has accepted.
func (c *connection) taken() int64 {
	if tcp := tcpOf(c.Conn); tcp != nil {
		if acknowledged, ok := bytesAcknowledged(tcp); ok {
			return acknowledged
		}
	}
	return c.written.Load()
}

// abort closes the connection and discards what the client has not taken. The
// system would keep it for minutes otherwise.
func (c *connection) abort() {
	if tcp := tcpOf(c.Conn); tcp != nil {
		_ = tcp.SetLinger(0) // the connection may be closed already
	}
	_ = c.Close() // an error would concern only this client
}

// checkProgress closes connections whose clients take too little, until ctx ends.
func (l *Listener) checkProgress(ctx context.Context) {
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := uptime()
		for _, c := range l.writers() {
			c.checkProgress(now)
		}
	}
}

// writers returns the connections on which something is being written.
func (l *Listener) writers() []*connection {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var found []*connection
	for _, list := range l.byAddress {
		for _, c := range list {
			if c.writing.Load() > 0 || c.streams.used.Load() {
				found = append(found, c)
			}
		}
	}
	return found
}

// startProgressChecks runs checkProgress in the background until stop is called.
func (l *Listener) startProgressChecks() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { l.checkProgress(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// tcpOf returns the TCP connection under all others, or nil if there is none.
func tcpOf(conn net.Conn) *net.TCPConn {
	for {
		switch outer := conn.(type) {
		case *net.TCPConn:
			return outer
		case interface{ NetConn() net.Conn }:
			conn = outer.NetConn()
		default:
			return nil
		}
	}
}
