package receiver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

// forwarder sends webhooks to another URL.
type forwarder struct {
	url       string
	transport *http.Transport
}

func newForwarder(url string) *forwarder {
	return &forwarder{url, &http.Transport{
		DisableCompression: true, // request and response remain unchanged
		DisableKeepAlives:  true, // a target under development is often restarted
	}}
}

// send makes the same request to the target. It does not follow redirects.
func (f *forwarder) send(original *http.Request, body []byte) (response, error) {
	ctx, cancel := context.WithTimeout(original.Context(), forwardTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url, bytes.NewReader(body))
	if err != nil {
		return response{}, err
	}
	request.Header = endToEnd(original.Header)
	if request.UserAgent() == "" {
		request.Header["User-Agent"] = nil // prevents Go's own
	}
	answer, err := f.transport.RoundTrip(request)
	if err != nil {
		return response{}, err
	}
	defer answer.Body.Close()
	if answer.StatusCode < http.StatusOK {
		return response{}, fmt.Errorf("the target returned status %d instead of a response", answer.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxResponse))
	if err != nil {
		return response{}, err
	}
	return response{answer.StatusCode, endToEnd(answer.Header), text}, nil
}

// hopByHop are the headers of one connection, and the length, which is counted
// again.
var hopByHop = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length",
}

// endToEnd returns the headers that are forwarded.
func endToEnd(h http.Header) http.Header {
	forwarded := h.Clone()
	for _, name := range hopByHop {
		forwarded.Del(name)
	}
	return forwarded
}
