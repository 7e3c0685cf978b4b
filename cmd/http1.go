package cmd

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// refusal makes the response to a request that could not be read. The detail is
// its message, "" if only the status says what was wrong.
type refusal func(status int, detail string, client net.Addr) []byte

// refuser is a service that has a response for requests that could not be read.
type refuser interface {
	RefuseUnread(status int, detail string, client net.Addr) *http.Response
}

// refusalOf is the refusal of a service; nil if it has none.
func refusalOf(s http.Handler, secure bool) refusal {
	service, ok := refuserOf(s)
	if !ok {
		return nil
	}
	return func(status int, detail string, client net.Addr) []byte {
		response := service.RefuseUnread(status, detail, client) //nolint:bodyclose // it is in memory
		if secure {
			response.Header["Strict-Transport-Security"] = strictTransport
		}
		var out bytes.Buffer
		_ = response.Write(&out) // a buffer takes everything
		return out.Bytes()
	}
}

// refuserOf is the service that refuses requests, also under strict.
func refuserOf(s http.Handler) (refuser, bool) {
	if over, ok := s.(strict); ok {
		s = over.service
	}
	service, ok := s.(refuser)
	return service, ok
}

// http1 is a connection of HTTP/1. Package net/http writes its own text where it
// can't read a request. This connection writes the service's response instead.
type http1 struct {
	net.Conn
	counted *connection
	refuse  refusal
	refused atomic.Bool
}

func newHTTP1(conn net.Conn, refuse refusal) *http1 {
	return &http1{Conn: conn, counted: beneath(conn), refuse: refuse}
}

// NetConn is the connection that is written to.
func (c *http1) NetConn() net.Conn { return c.Conn }

// Write sends p, or the service's own response where package net/http answers.
// It does so outside of the time in which the service answers a request.
func (c *http1) Write(p []byte) (int, error) {
	if c.refuse == nil || c.counted == nil || c.counted.answering.Load() {
		return c.Conn.Write(p)
	}
	status, detail, ok := replyOf(p)
	if !ok {
		return c.Conn.Write(p)
	}
	return len(p), c.reply(status, detail)
}

// reply sends the service's response to a request that could not be read.
func (c *http1) reply(status int, detail string) error {
	c.refused.Store(true)
	_, err := c.Conn.Write(c.refuse(status, detail, c.RemoteAddr()))
	return err
}

// replyOf reads the status line of a reply of package net/http. What is wrong
// follows a colon there, in fixed words.
func replyOf(p []byte) (status int, detail string, ok bool) {
	line, _, _ := strings.Cut(string(p), "\r\n")
	version, rest, _ := strings.Cut(line, " ")
	code, reason, _ := strings.Cut(rest, " ")
	status, err := strconv.Atoi(code)
	if err != nil || status < 400 || !strings.HasPrefix(version, "HTTP/1.") {
		return 0, "", false
	}
	if _, fault, found := strings.Cut(reason, ": "); found && status == http.StatusBadRequest {
		detail = "the request is malformed: " + fault
	}
	return status, detail, true
}

// What a client still sends after a refusal is read for so long, and so far.
// Closing on unread bytes would reset the connection before the client has read
// the response.
const (
	refusedGrace = 2 * time.Second
	refusedBytes = 8 << 20
)

// Close closes the connection. After a refusal it reads what the client still
// sends first, while the connection yields to new ones.
func (c *http1) Close() error {
	if c.refused.CompareAndSwap(true, false) {
		c.counted.yields(true)
		_ = c.CloseWrite() // the connection may have failed already, as below
		_ = c.SetReadDeadline(time.Now().Add(refusedGrace))
		_, _ = io.CopyN(io.Discard, c.Conn, refusedBytes)
	}
	return c.Conn.Close()
}

// CloseWrite ends this side.
func (c *http1) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// secureHTTP1 is a connection of HTTP/1 over TLS.
type secureHTTP1 struct{ *http1 }

// ConnectionState is what package net/http sets http.Request.TLS to.
func (c secureHTTP1) ConnectionState() tls.ConnectionState {
	return c.Conn.(*tls.Conn).ConnectionState()
}

// plainHTTP1 is a listener for connections of HTTP/1.
type plainHTTP1 struct {
	net.Listener
	refuse refusal
}

// Accept waits for the next connection.
func (l plainHTTP1) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newHTTP1(conn, l.refuse), nil
}
