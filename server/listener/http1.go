package listener

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
// its message. It is "" if the status alone describes the error.
type refusal func(status int, detail string, client net.Addr) []byte

// Refuser is a service that has a response for requests that could not be read.
type Refuser interface {
	RefuseMalformed(status int, detail string, client net.Addr) *http.Response
}

// refusalOf returns the refusal of a service, or nil if it has none.
func refusalOf(s http.Handler, secure bool) refusal {
	service, ok := refuserOf(s)
	if !ok {
		return nil
	}
	return func(status int, detail string, client net.Addr) []byte {
		response := service.RefuseMalformed(status, detail, client) //nolint:bodyclose // it is in memory
		if secure {
			response.Header["Strict-Transport-Security"] = strictTransport
		}
		var out bytes.Buffer
		_ = response.Write(&out) // a buffer accepts every write
		return out.Bytes()
	}
}

// refuserOf returns the service that refuses requests, with StrictTransport too.
func refuserOf(s http.Handler) (Refuser, bool) {
	if outer, ok := s.(StrictTransport); ok {
		s = outer.Service
	}
	service, ok := s.(Refuser)
	return service, ok
}

// http1Conn is a connection of HTTP/1. Package net/http writes its own text
// where it can't read a request. This connection writes the service's response
// instead.
type http1Conn struct {
	net.Conn
	counted *connection
	refuse  refusal
	refused atomic.Bool
}

func newHTTP1Conn(conn net.Conn, refuse refusal) *http1Conn {
	return &http1Conn{Conn: conn, counted: countedConnection(conn), refuse: refuse}
}

// NetConn returns the connection that is written to.
func (c *http1Conn) NetConn() net.Conn { return c.Conn }

// Write sends p, or the service's own response where package net/http answers.
// Package net/http does so only while the service answers no request.
func (c *http1Conn) Write(p []byte) (int, error) {
	if c.refuse == nil || c.counted == nil || c.counted.answering.Load() {
		return c.Conn.Write(p)
	}
	status, detail, ok := parseReply(p)
	if !ok {
		return c.Conn.Write(p)
	}
	return len(p), c.reply(status, detail)
}

// reply sends the service's response to a request that could not be read.
func (c *http1Conn) reply(status int, detail string) error {
	c.refused.Store(true)
	_, err := c.Conn.Write(c.refuse(status, detail, c.RemoteAddr()))
	return err
}

// parseReply reads the status line of a reply of package net/http. The detail
// follows a colon there, in fixed words.
func parseReply(p []byte) (status int, detail string, ok bool) {
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

// After a refusal the connection reads what the client still sends, within these
// bounds. Closing with unread bytes would reset the connection before the client
// has read the response.
const (
	refusedTimeout  = 2 * time.Second
	maxRefusedBytes = 8 << 20
)

// Close closes the connection. After a refusal it first reads what the client
// still sends. New connections may displace this one in that time.
func (c *http1Conn) Close() error {
	if c.refused.CompareAndSwap(true, false) {
		c.counted.setIdle(true)
		_ = c.CloseWrite() // the connection may have failed already; so below
		_ = c.SetReadDeadline(time.Now().Add(refusedTimeout))
		_, _ = io.CopyN(io.Discard, c.Conn, maxRefusedBytes)
	}
	return c.Conn.Close()
}

// CloseWrite closes the sending side, if the connection supports it.
func (c *http1Conn) CloseWrite() error { return closeWrite(c.Conn) }

// secureHTTP1Conn is a connection of HTTP/1 over TLS.
type secureHTTP1Conn struct{ *http1Conn }

// ConnectionState returns what package net/http sets http.Request.TLS to.
func (c secureHTTP1Conn) ConnectionState() tls.ConnectionState {
	return c.Conn.(*tls.Conn).ConnectionState()
}

// http1Listener is a listener for connections of HTTP/1 without TLS.
type http1Listener struct {
	net.Listener
	refuse refusal
}

// Accept waits for the next connection.
func (l http1Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newHTTP1Conn(conn, l.refuse), nil
}
