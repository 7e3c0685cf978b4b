package listener

import (
	"net"
	"sync"
)

// coalesceWrites makes a listener whose connections send the head of a response
// and its body in one write. Package net/http writes through a buffer of 4096
// bytes. So it sends a longer response with two system calls and usually in two
// packets. That makes a page of 25 records a third more expensive.
//
// A write of exactly that size is therefore buffered until the next write, or
// until the connection is read from or closed. Package net/http does either at
// the end of a response. A response that is streamed over time would be delayed,
// but this service has none.
func coalesceWrites(listener net.Listener) net.Listener { return writeCoalescer{listener} }

type writeCoalescer struct{ net.Listener }

// Accept waits for the next connection.
func (l writeCoalescer) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &coalescingConn{Conn: conn}, nil
}

// httpBufferSize is the size of net/http's buffer of a connection.
const httpBufferSize = 4096

// coalescingConn delays a full buffer until the next write.
type coalescingConn struct {
	net.Conn
	mutex    sync.Mutex
	buffered []byte
}

// Write sends p after the buffered bytes, or buffers it.
func (c *coalescingConn) Write(p []byte) (int, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if len(c.buffered) == 0 {
		if len(p) == httpBufferSize {
			c.buffered = append(c.buffered, p...)
			return len(p), nil
		}
		return c.Conn.Write(p)
	}
	before := len(c.buffered)
	both := net.Buffers{c.buffered, p}
	sent, err := both.WriteTo(c.Conn)
	c.buffered = c.buffered[:0]
	return max(0, int(sent)-before), err
}

// NetConn returns the connection that is written to.
func (c *coalescingConn) NetConn() net.Conn { return c.Conn }

// flush sends the buffered bytes.
func (c *coalescingConn) flush() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.send()
}

// send is flush for callers that hold the mutex.
func (c *coalescingConn) send() error {
	if len(c.buffered) == 0 {
		return nil
	}
	_, err := c.Conn.Write(c.buffered)
	c.buffered = c.buffered[:0]
	return err
}

// Read sends the buffered bytes first: a reader waits for the other side.
func (c *coalescingConn) Read(p []byte) (int, error) {
	if err := c.flush(); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// CloseWrite sends the buffered bytes and closes the sending side, if the
// connection supports it.
func (c *coalescingConn) CloseWrite() error {
	err := c.flush()
	if err != nil {
		return err
	}
	return closeWrite(c.Conn)
}

// Close sends the buffered bytes and closes the connection. It does not wait for
// a write under way, because the client may never read.
func (c *coalescingConn) Close() error {
	if c.mutex.TryLock() {
		_ = c.send() // an error may be the reason to close it
		c.mutex.Unlock()
	}
	return c.Conn.Close()
}
