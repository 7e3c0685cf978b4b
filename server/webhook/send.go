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
)

// Bounds of an attempt (contract, "Events").
const (
	AttemptTimeout = 15 * time.Second // the whole of it
	answerKept     = 1 << 10
	answerRead     = 64 << 10 // so that the connection can serve again
	answerTimeout  = 2 * time.Second
)

// Sender brings messages to receivers. It may be used by many goroutines.
type Sender struct {
	agent     string
	now       func() time.Time
	guard     guard
	rates     *hostRates // nil is no limit
	transport *http.Transport
}

// Close drops the connections that are kept for the next delivery.
func (s *Sender) Close() { s.transport.CloseIdleConnections() }

// Send makes one attempt to deliver a message: the address is checked again,
// the body is signed anew, and the receiver's answer is told. Any 2xx is an
// acknowledgement. It does not wait for the rate of the receiving host: the test
// operation is limited by the requests that a key may make.
func (s *Sender) Send(ctx context.Context, to db.Receiver, delivery string, m db.Message) db.Attempt {
	a, _ := s.attempt(ctx, to, delivery, m)
	return a
}

// attempt is Send. It reports limited, and has sent nothing, if the connection
// would lead to a host whose rate is used up; see paidHosts.
func (s *Sender) attempt(ctx context.Context, to db.Receiver, delivery string, m db.Message) (a db.Attempt, limited bool) {
	began := time.Now()
	a = db.Attempt{At: s.now()}
	ctx, cancel := context.WithTimeout(ctx, AttemptTimeout)
	defer cancel()
	if err := s.send(ctx, cancel, to, delivery, m, &a); err != nil {
		a.Error = reason(ctx, err)
		a.Blocked = errors.Is(err, errBlocked) || refusedURL(err)
		limited = errors.Is(err, errLimited)
	}
	a.Duration = time.Since(began)
	return a, limited
}

func (s *Sender) send(ctx context.Context, cancel func(), to db.Receiver, delivery string, m db.Message, a *db.Attempt) error {
	request, err := s.request(ctx, to, delivery, m, a.At)
	if err != nil {
		return err
	}
	// Not a Client, which would follow redirects.
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
	// The status is the answer. A body that trickles must not hold the place.
	slow := time.AfterFunc(answerTimeout, cancel)
	defer slow.Stop()
	body := io.LimitReader(response.Body, answerRead)
	a.Answer, _ = io.ReadAll(io.LimitReader(body, answerKept))
	_, _ = io.Copy(io.Discard, body)
	return nil
}

// errNoStatus: net/http takes any three digits.
var errNoStatus = errors.New("the answer's status is none of HTTP's")

func (s *Sender) request(ctx context.Context, to db.Receiver, delivery string, m db.Message, at time.Time) (*http.Request, error) {
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
	request.Header = Headers(s.agent, delivery, m, at)
	maps.Copy(request.Header, signed)
	// Not sent: it allows the transport to repeat a request whose kept
	// connection the receiver had just closed.
	request.Header["Idempotency-Key"] = nil
	return request, nil
}

// refusedURL tells a URL that was good when it was stored and is not any more.
func refusedURL(err error) bool { return db.Is(err, db.Invalid) }

// reason says in one line why there was no answer.
func reason(ctx context.Context, err error) string {
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

// retryAfter reads how long a receiver asks to be left alone, 0 if it does not.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second //nolint:gosec // 31 bits
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
