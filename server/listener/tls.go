package listener

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

// tlsListener performs the TLS handshakes of its connections before Accept
// returns them. Package net/http would log each failure in a separate line, and
// hide its replies of HTTP/1 under the encryption.
type tlsListener struct {
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

func newTLSListener(listener net.Listener, config *tls.Config, w *warnings, refuse refusal) *tlsListener {
	config = config.Clone()
	for _, protocol := range []string{protocolHTTP1, protocolHTTP2} {
		if !slices.Contains(config.NextProtos, protocol) {
			config.NextProtos = slices.Insert(config.NextProtos, 0, protocol)
		}
	}
	l := &tlsListener{Listener: listener, config: config, warnings: w, refuse: refuse, ready: make(chan accepted)}
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.running.Go(l.accept)
	return l
}

// accept starts the handshake of each connection.
func (l *tlsListener) accept() {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			if !l.hand(accepted{err: err}) || errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		l.running.Go(func() { l.handshake(conn) })
	}
}

// hand waits until Accept takes a result. It reports false if the listener is
// closed.
func (l *tlsListener) hand(result accepted) bool {
	select {
	case l.ready <- result:
		return true
	case <-l.ctx.Done():
		return false
	}
}

// handshake performs the handshake of one connection.
func (l *tlsListener) handshake(conn net.Conn) {
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
	case acme.ALPNProto: // the authority needs the handshake alone
		_ = secure.Close()
		return
	default:
		ready = secureHTTP1Conn{newHTTP1Conn(secure, l.refuse)}
	}
	if !l.hand(accepted{conn: ready}) {
		_ = secure.Close() // the server ends
	}
}

// failed answers a client of plain HTTP and closes the connection.
func (l *tlsListener) failed(conn net.Conn, err error) {
	reason := err.Error()
	var noTLS tls.RecordHeaderError
	if errors.As(err, &noTLS) && noTLS.Conn != nil && looksLikeHTTP(noTLS.RecordHeader) {
		reason = "the client sent an HTTP request to an HTTPS server"
		if l.refuse != nil {
			plain := newHTTP1Conn(conn, l.refuse)
			_ = plain.reply(http.StatusBadRequest, "this address speaks https; use a URL that begins with https://") // an error means that the client is gone
			conn = plain
		}
	}
	if l.ctx.Err() == nil {
		l.warnings.add("TLS handshake failed", limitedAs(clientAddress(conn)).String(), reason)
	}
	_ = conn.Close()
}

// looksLikeHTTP reports whether the header of a TLS record is the start of a
// request instead.
func looksLikeHTTP(header [5]byte) bool {
	switch string(header[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "PATCH", "DELET", "OPTIO":
		return true
	}
	return false
}

// Accept waits for the next connection whose handshake has succeeded.
func (l *tlsListener) Accept() (net.Conn, error) {
	select {
	case result := <-l.ready:
		return result.conn, result.err
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Close ends the handshakes under way.
func (l *tlsListener) Close() error {
	l.stop()
	err := l.Listener.Close()
	l.running.Wait()
	return err
}
