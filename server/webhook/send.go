package webhook

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"time"

	"govsvc/db"
	"govsvc/db/delivery"
)

// Limits of an attempt (contract, "Events").
const (
	AttemptTimeout      = 15 * time.Second // for the whole attempt
	keptResponseBytes   = 1 << 10
	readResponseBytes   = 64 << 10 // of a longer response the connection is closed
	responseBodyTimeout = 2 * time.Second
)

// Sender sends messages to receivers. It is safe for concurrent use.
type Sender struct {
	agent     string
	now       func() time.Time
	guard     guard
	rates     *hostRates // nil is no limit
	transport *http.Transport
}

// Close closes the idle connections.
func (s *Sender) Close() { s.transport.CloseIdleConnections() }

// Send makes one attempt to deliver a message. It checks the address again and
// signs the body. Any 2xx is an acknowledgement. The rate of the receiving host
// does not apply, because the rate limit of the key limits the test operation.
func (s *Sender) Send(ctx context.Context, to delivery.Receiver, deliveryID string, m db.Message) delivery.Attempt {
	a, _ := s.attempt(ctx, to, deliveryID, m)
	return a
}

// attempt is Send with the rate limit of hosts; see chargedHosts. limited is true,
// and nothing is sent, if the rate of the address is used up.
func (s *Sender) attempt(ctx context.Context, to delivery.Receiver, deliveryID string, m db.Message) (a delivery.Attempt, limited bool) {
	began := time.Now()
	a = delivery.Attempt{At: s.now()}
	ctx, cancel := context.WithTimeout(ctx, AttemptTimeout)
	defer cancel()
	if err := s.send(ctx, cancel, to, deliveryID, m, &a); err != nil {
		a.Error = failureText(ctx, err)
		a.Blocked = errors.Is(err, errBlocked) || isInvalidURL(err)
		limited = errors.Is(err, errLimited)
	}
	a.Duration = time.Since(began)
	return a, limited
}

func (s *Sender) send(ctx context.Context, cancel func(), to delivery.Receiver, deliveryID string, m db.Message, a *delivery.Attempt) error {
	request, err := s.request(ctx, to, deliveryID, m, a.At)
	if err != nil {
		return err
	}
	// A Client would follow redirects.
	response, err := s.transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode < http.StatusContinue {
		return errNoStatus
	}
	a.Status = response.StatusCode
	a.RetryAfter = retryAfter(response.Header.Get("Retry-After"), a.At)
	// The status decides. A slow body must not occupy the worker.
	slow := time.AfterFunc(responseBodyTimeout, cancel)
	defer slow.Stop()
	body := io.LimitReader(response.Body, readResponseBytes)
	a.Answer, _ = io.ReadAll(io.LimitReader(body, keptResponseBytes))
	_, _ = io.Copy(io.Discard, body)
	return nil
}

// errNoStatus is the error of a status below 100, which net/http accepts.
var errNoStatus = errors.New("the answer's status is none of HTTP's")

func (s *Sender) request(ctx context.Context, to delivery.Receiver, deliveryID string, m db.Message, at time.Time) (*http.Request, error) {
	t, err := parseURL(to.URL)
	if err != nil {
		return nil, err
	}
	signed, err := Sign(to.Secrets, m, at)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url.String(), bytes.NewReader(m.Body))
	if err != nil {
		return nil, err
	}
	request.Header = Headers(s.agent, deliveryID, m, at)
	maps.Copy(request.Header, signed)
	// This header is not sent. It allows the transport to repeat a request on another
	// connection if the receiver has just closed the idle one.
	request.Header["Idempotency-Key"] = nil
	return request, nil
}

// isInvalidURL reports whether the URL, valid when it was stored, is invalid now.
func isInvalidURL(err error) bool { return db.Is(err, db.Invalid) }

// failureText describes in one line why there was no response.
func failureText(ctx context.Context, err error) string {
	var network *net.OpError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "no answer within " + AttemptTimeout.String()
	case errors.Is(ctx.Err(), context.Canceled):
		return "interrupted: the service was stopped"
	case errors.As(err, &network) && network.Op == "dial":
		return "no connection: " + network.Err.Error()
	}
	text := err.Error()
	return text[:min(len(text), 500)]
}

// retryAfter parses the header Retry-After; 0 if it is absent or invalid.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second //nolint:gosec // 31 bits
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
