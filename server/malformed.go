package server

import (
	"bytes"
	"cmp"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"govsvc/server/api"
)

// malformedMessages are the messages for requests that net/http could not read,
// by status.
var malformedMessages = map[int]string{
	http.StatusBadRequest:                  "the request is malformed; check the request line, the escapes in the path and the headers",
	http.StatusExpectationFailed:           "this Expect is not supported; use 100-continue, or leave the header out",
	http.StatusRequestHeaderFieldsTooLarge: "the headers are too large; shorten them to 32 KB in all",
	http.StatusNotImplemented:              "this Transfer-Encoding is not supported; use chunked, or send Content-Length instead",
	http.StatusHTTPVersionNotSupported:     "this version of HTTP is not supported; use HTTP/1.1 or HTTP/2",
}

// RefuseMalformed returns the response to a request that net/http could not read:
// the status, the error envelope and the headers of all responses. The detail is
// its message; "" is the message of the status. The request counts for the
// client's address, unless that is a trusted proxy's.
func (s *Server) RefuseMalformed(status int, detail string, client net.Addr) *http.Response {
	message := cmp.Or(detail, malformedMessages[status], "the request could not be read")
	response := &malformedResponse{
		status: status,
		Response: http.Response{
			ProtoMajor: 1, ProtoMinor: 1, Close: true,
			Header: http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}},
		},
	}
	var w http.ResponseWriter = response
	r := &http.Request{URL: &url.URL{}, RemoteAddr: client.String(), Header: http.Header{}}
	if s.Metrics != nil || s.AccessLog {
		o := &responseRecorder{ResponseWriter: w, started: time.Now()}
		defer func() {
			o.status = response.StatusCode
			s.logRequest(o, r)
		}()
		w = o
	}
	s.refuseMalformed(w, r, message)
	response.Body = io.NopCloser(&response.body)
	response.ContentLength = int64(response.body.Len())
	return &response.Response
}

func (s *Server) refuseMalformed(w http.ResponseWriter, r *http.Request, message string) {
	req := s.begin(w, r)
	refusal := &api.Error{Code: api.InvalidParameter, Message: message}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err == nil && Proxies(s.TrustedProxies).trust(peer.Addr().Unmap()) {
		req.rateLimit = s.anonymous(s.addresses.Peek(req.address, req.server.addressRate()))
	} else if limited := req.limitAddress(); limited != nil {
		refusal = limited
	}
	req.fail(refusal)
}

// RefuseWithoutKey refuses a request without checking its credential. The
// request counts for the client's address.
func (s *Server) RefuseWithoutKey(w http.ResponseWriter, r *http.Request, refusal *api.Error) {
	req := s.begin(w, r)
	if limited := req.limitAddress(); limited != nil {
		refusal = limited
	}
	req.fail(refusal)
}

// malformedResponse buffers the response to a request that could not be read.
type malformedResponse struct {
	http.Response
	status int // instead of 400
	body   bytes.Buffer
}

func (m *malformedResponse) Header() http.Header         { return m.Response.Header }
func (m *malformedResponse) Write(p []byte) (int, error) { return m.body.Write(p) }

func (m *malformedResponse) WriteHeader(status int) {
	if status == http.StatusBadRequest {
		status = m.status
	}
	m.StatusCode = status
}
