package cmd

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"

	"golang.org/x/crypto/acme"
)

// Protocols that the server and its clients agree on in a handshake (ALPN).
const (
	protocolHTTP2 = "h2"
	protocolHTTP1 = "http/1.1"
)

// handshakes is a listener that does the TLS handshakes of its connections
// before it hands them on. Package net/http logs each that fails in a line of
// its own, and hides its replies of HTTP/1 below the encryption.
type handshakes struct {
	net.Listener
	config   *tls.Config
	warnings *warnings
	refuse   refusal

	ready   chan accepted
	ctx     context.Context //nolint:containedctx // that of all handshakes
	stop    context.CancelFunc
	running sync.WaitGroup
}

// accepted is what Accept returns.
type accepted struct {
	conn net.Conn
	err  error
}

func newHandshakes(listener net.Listener, config *tls.Config, w *warnings, refuse refusal) *handshakes {
	config = config.Clone()
	for _, protocol := range []string{protocolHTTP1, protocolHTTP2} {
		if !slices.Contains(config.NextProtos, protocol) {
			config.NextProtos = slices.Insert(config.NextProtos, 0, protocol)
		}
	}
	l := &handshakes{Listener: listener, config: config, warnings: w, refuse: refuse, ready: make(chan accepted)}
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.running.Go(l.accept)
	return l
}

// accept starts the handshake of each connection.
func (l *handshakes) accept() {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			if !l.handOn(accepted{err: err}) || errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		l.running.Go(func() { l.shake(conn) })
	}
}

// handOn waits until Accept takes a result; false if the listener is closed.
func (l *handshakes) handOn(result accepted) bool {
	select {
	case l.ready <- result:
		return true
	case <-l.ctx.Done():
		return false
	}
}

// shake does the handshake of one connection.
func (l *handshakes) shake(conn net.Conn) {
	ctx, cancel := context.WithTimeout(l.ctx, readHeaderTimeout)
	defer cancel()
	secure := tls.Server(conn, l.config)
	if err := secure.HandshakeContext(ctx); err != nil {
		l.failed(conn, err)
		return
	}
	var ready net.Conn = secure
	switch secure.ConnectionState().NegotiatedProtocol {
	case protocolHTTP2:
	case acme.ALPNProto: // the handshake was all that the authority wanted
		_ = secure.Close()
		return
	default:
		ready = secureHTTP1{newHTTP1(secure, l.refuse)}
	}
	if !l.handOn(accepted{conn: ready}) {
		_ = secure.Close() // the server ends
	}
}

// failed answers a client of plain HTTP and closes the connection.
func (l *handshakes) failed(conn net.Conn, err error) {
	reason := err.Error()
	var noTLS tls.RecordHeaderError
	if errors.As(err, &noTLS) && noTLS.Conn != nil && looksLikeHTTP(noTLS.RecordHeader) {
		reason = "the client sent an HTTP request to an HTTPS server"
		if l.refuse != nil {
			plain := newHTTP1(conn, l.refuse)
			_ = plain.reply(http.StatusBadRequest, "this address speaks https; use a URL that begins with https://") // else the client is gone
			conn = plain
		}
	}
	if l.ctx.Err() == nil {
		l.warnings.add("TLS handshake failed", countedAs(peer(conn)).String(), reason)
	}
	_ = conn.Close()
}

// looksLikeHTTP reports whether what came for a TLS record begins like a
// request.
func looksLikeHTTP(header [5]byte) bool {
	switch string(header[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "PATCH", "DELET", "OPTIO":
		return true
	}
	return false
}

// Accept waits for the next connection whose handshake has succeeded.
func (l *handshakes) Accept() (net.Conn, error) {
	select {
	case result := <-l.ready:
		return result.conn, result.err
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Close ends the handshakes under way.
func (l *handshakes) Close() error {
	l.stop()
	err := l.Listener.Close()
	l.running.Wait()
	return err
}
