package server

import (
	"net"
	"sync"
)

// JoinWrites makes a listener whose connections send the head of an answer and
// its body in one write. net/http writes through a buffer of 4096 bytes, so
// that a longer answer leaves in two system calls and, mostly, in two packets;
// a page of 25 records costs a third more that way. So a write of just that
// size is held until more follows it, or until the connection is read from or
// closed, which net/http does when the answer has ended. Answers that trickle
// out over time are not for it; this service has none.
func JoinWrites(listener net.Listener) net.Listener { return writeCoalescer{listener} }

type writeCoalescer struct{ net.Listener }

// Accept waits for the next connection.
func (l writeCoalescer) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &joining{Conn: conn}, nil
}

// bufferOfHTTP is the size of net/http's buffer of a connection.
const bufferOfHTTP = 4096

// joining is a connection that holds a full buffer back until the next one.
type joining struct {
	net.Conn
	mutex sync.Mutex
	held  []byte // empty: nothing is held
}

// Write sends p behind what is held, or holds it.
func (c *joining) Write(p []byte) (int, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if len(c.held) == 0 {
		if len(p) == bufferOfHTTP {
			c.held = append(c.held, p...)
			return len(p), nil
		}
		return c.Conn.Write(p)
	}
	before := len(c.held)
	both := net.Buffers{c.held, p}
	sent, err := both.WriteTo(c.Conn)
	c.held = c.held[:0]
	return max(0, int(sent)-before), err
}

// NetConn is the connection that is written to.
func (c *joining) NetConn() net.Conn { return c.Conn }

// flush sends what is held.
func (c *joining) flush() error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.send()
}

// send is flush for who holds the mutex.
func (c *joining) send() error {
	if len(c.held) == 0 {
		return nil
	}
	_, err := c.Conn.Write(c.held)
	c.held = c.held[:0]
	return err
}

// Read sends what is held first: who reads waits for the other side.
func (c *joining) Read(p []byte) (int, error) {
	if err := c.flush(); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// CloseWrite sends what is held and ends this side, where the connection can.
func (c *joining) CloseWrite() error {
	err := c.flush()
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && err == nil {
		return half.CloseWrite()
	}
	return err
}

// Close sends what is held and closes the connection. What is being sent
// already is cut off: the client may take nothing, and who closes, to make room
// or at the end of the service, has others to see to.
func (c *joining) Close() error {
	if c.mutex.TryLock() {
		_ = c.send() // the other side may be gone, which is why it is being closed
		c.mutex.Unlock()
	}
	return c.Conn.Close()
}
