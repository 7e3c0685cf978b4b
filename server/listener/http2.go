package listener

import (
	"context"
	"crypto/tls"
	"io"
	"maps"
	"net"
	"net/http"
)

// maxHeaderList is the maximum size of the head of an HTTP/2 request in bytes. Package
// net/http answers a larger head with its own text. So the limit is twice
// maxHeaderBytes, beyond which the service itself refuses a request.
const maxHeaderList = 2 * maxHeaderBytes

// serveHTTP2 makes web serve HTTP/2 with the settings of a second server, which
// has another bound of headers. The connections still belong to web.
func serveHTTP2(web *http.Server) {
	streams := &http.Server{
		ReadHeaderTimeout: web.ReadHeaderTimeout, ReadTimeout: web.ReadTimeout, WriteTimeout: web.WriteTimeout, IdleTimeout: web.IdleTimeout,
		MaxHeaderBytes: maxHeaderList, HTTP2: web.HTTP2, ErrorLog: web.ErrorLog, ConnState: web.ConnState,
	}
	_ = streams.Serve(closedListener{}) // fills TLSNextProto, then ends
	serve := streams.TLSNextProto[protocolHTTP2]
	if serve == nil { // GODEBUG turns HTTP/2 off
		return
	}
	web.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){
		protocolHTTP2: func(_ *http.Server, conn *tls.Conn, h http.Handler) { serve(streams, conn, h) },
	}
	web.RegisterOnShutdown(func() { _ = streams.Shutdown(context.Background()) }) // it has no connections to wait for
}

// closedListener is a listener that accepts nothing.
type closedListener struct{}

// Accept reports that the listener is closed.
func (closedListener) Accept() (net.Conn, error) { return nil, net.ErrClosed }

// Close does nothing.
func (closedListener) Close() error { return nil }

// Addr returns an empty address.
func (closedListener) Addr() net.Addr { return &net.TCPAddr{} }

// headBytes returns the size of a request's head as HTTP/2 counts it (RFC 9113, section
// 6.5.2), with the path but without the other pseudo-headers.
func headBytes(r *http.Request) int {
	const perField = 32
	size := len(r.RequestURI)
	for name, values := range r.Header {
		for _, value := range values {
			size += len(name) + len(value) + perField
		}
	}
	return size
}

// refuseHead answers a request whose headers are too large; false if the service
// has no response for it.
func (h connectionHandler) refuseHead(w http.ResponseWriter, c *connection) bool {
	service, ok := refuserOf(h.Service)
	if !ok {
		return false
	}
	response := service.RefuseMalformed(http.StatusRequestHeaderFieldsTooLarge, "", c.RemoteAddr()) //nolint:bodyclose // it is in memory
	maps.Copy(w.Header(), response.Header)
	w.Header()["Strict-Transport-Security"] = strictTransport
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, response.Body) // an error means that the client is gone
	return true
}
