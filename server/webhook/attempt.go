package webhook

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"govsvc/db"
	"govsvc/db/delivery"
)

// start starts the attempts that the queue allows.
func (d *Deliverer) start(ctx context.Context) {
	b := d.queue.start(d.Store.Now())
	for _, s := range b.deliveries {
		d.attempts.Go(func() { d.deliver(ctx, s) })
	}
	d.wakeFor(b)
}

// wakeFor wakes the loop, now or in time, for what start could not do.
func (d *Deliverer) wakeFor(b startResult) {
	if b.released {
		d.wakeUp()
	}
	if b.retryIn > 0 && d.timerSet.CompareAndSwap(false, true) {
		time.AfterFunc(b.retryIn, func() {
			d.timerSet.Store(false)
			d.wakeUp()
		})
	}
}

// deliver makes an attempt and continues with the next one. It reuses its
// goroutine, because a new one would have to grow its stack first.
func (d *Deliverer) deliver(ctx context.Context, s startedDelivery) {
	for {
		var wake bool
		if settled, hosts, limited := d.attempt(ctx, s); limited {
			wake = d.queue.requeue(s, hosts, d.Store.Now())
		} else {
			wake = d.queue.finish(s, settled, hosts)
		}
		b := d.queue.start(d.Store.Now())
		if wake {
			d.wakeUp()
		}
		d.wakeFor(b)
		if len(b.deliveries) == 0 {
			return
		}
		s = b.deliveries[0]
		for _, other := range b.deliveries[1:] {
			d.attempts.Go(func() { d.deliver(ctx, other) })
		}
	}
}

// wakeUp wakes the loop.
func (d *Deliverer) wakeUp() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// attempt sends one delivery to the present URL of its subscription. It returns
// nil if the delivery is gone or belongs to another process. For a paused receiver
// it sends nothing and releases the delivery. It also returns the hosts that the
// delivery counts for. limited is true, and nothing is sent, if the rate of one of
// them is used up.
func (d *Deliverer) attempt(ctx context.Context, s startedDelivery) (settled *delivery.Settlement, hosts []string, limited bool) {
	claimed := s.delivery
	to, err := s.to.held.OfClaim(ctx, d.Store, claimed)
	switch {
	case err == nil && to.Active:
	case db.Is(err, db.NotFound):
		return nil, s.charged, false
	case err != nil:
		d.Logger.Warn("webhooks: reading the receiver failed; it is tried again", "delivery_id", claimed.ID, "error", err)
		return &delivery.Settlement{ClaimKey: claimed.ClaimKey, State: delivery.Pending, DueAt: d.Store.Now().Add(retryDelay)}, s.charged, false
	default: // paused
		return &delivery.Settlement{ClaimKey: claimed.ClaimKey, State: delivery.Pending, DueAt: d.Store.Now()}, s.charged, false
	}
	hosts = d.Sender.hostsOf(ctx, to.URL)
	unpaid := slices.DeleteFunc(slices.Clone(hosts), func(host string) bool { return slices.Contains(s.charged, host) })
	if !d.Sender.rates.take(unpaid) {
		return nil, hosts, true
	}
	a, limited := d.Sender.attempt(context.WithValue(ctx, chargedHosts{}, hosts), to, claimed.ID, claimed.Message)
	if limited {
		return nil, d.Sender.hostsOf(ctx, to.URL), true
	}
	outcome := settlementOf(d.Schedule, claimed.Attempts, &a, d.Chance(), d.Store.Now())
	if ctx.Err() != nil && a.Status == 0 { // cancelled by this process: not a failure of the receiver
		outcome = delivery.Settlement{Attempt: &a, State: delivery.Pending, DueAt: d.Store.Now()}
	}
	outcome.ClaimKey = claimed.ClaimKey
	d.logAttempt(ctx, to, claimed, outcome)
	return &outcome, hosts, false
}

// logAttempt logs an attempt, without body, secret and URL.
func (d *Deliverer) logAttempt(ctx context.Context, to delivery.Receiver, claimed delivery.Delivery, s delivery.Settlement) {
	level, message := slog.LevelDebug, "webhook delivered"
	switch s.State {
	case delivery.Pending:
		level, message = slog.LevelInfo, "webhook not delivered; it is sent again later"
	case delivery.Dead:
		level, message = slog.LevelWarn, "webhook is a dead letter"
	case delivery.Delivered:
	}
	if !d.Logger.Enabled(ctx, level) { // saves the allocations of the arguments
		return
	}
	d.Logger.Log(ctx, level, message, "subscription_id", to.Subscription, "delivery_id", claimed.ID,
		"event_id", claimed.Message.ID, "type", claimed.Message.Type, "attempt", claimed.Attempts+1,
		"status", s.Attempt.Status, "error", s.Attempt.Error, "duration", s.Attempt.Duration)
}

// DefaultSchedule are the waits between the ten attempts (contract, "Events").
var DefaultSchedule = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// jitter is the maximum part by which a wait is lengthened, so that deliveries
// that fail together are not repeated together.
const jitter = 0.2

// settlementOf returns the outcome of an attempt. failed is the number of attempts
// before it; chance, in [0, 1), gives the jitter.
func settlementOf(schedule []time.Duration, failed int, a *delivery.Attempt, chance float64, now time.Time) delivery.Settlement {
	s := delivery.Settlement{Attempt: a, Counts: true}
	switch {
	case a.Delivered():
		s.State = delivery.Delivered
	case a.Blocked || failed >= len(schedule):
		s.State = delivery.Dead
	default:
		step := schedule[failed]
		wait := step + time.Duration(chance*jitter*float64(step))
		s.State, s.DueAt = delivery.Pending, now.Add(max(wait, min(a.RetryAfter, 2*step)))
	}
	return s
}

// Limits of an attempt (contract, "Events").
const (
	AttemptTimeout      = 15 * time.Second // for the whole attempt
	keptResponseBytes   = 1 << 10
	readResponseBytes   = 64 << 10 // of a longer response the connection is closed
	responseBodyTimeout = 2 * time.Second
)

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
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
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
	if response.Body == http.NoBody {
		return nil
	}
	// The status decides. A slow body must not occupy the worker.
	slow := time.AfterFunc(responseBodyTimeout, cancel)
	defer slow.Stop()
	body := io.LimitReader(response.Body, readResponseBytes)
	a.Answer, _ = io.ReadAll(io.LimitReader(body, keptResponseBytes))
	_, _ = io.Copy(io.Discard, body)
	return nil
}

// errNoStatus is the error of a status below 100, which net/http accepts.
var errNoStatus = errors.New("the status of the response is not an HTTP status")

func (s *Sender) request(ctx context.Context, to delivery.Receiver, deliveryID string, m db.Message, at time.Time) (*http.Request, error) {
	t, err := parseURL(to.URL)
	if err != nil {
		return nil, err
	}
	// With the parsed URL, because NewRequest would parse it again.
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "", bytes.NewReader(m.Body))
	if err != nil {
		return nil, err
	}
	request.URL, request.Host = t.url, t.url.Host
	request.Header = Headers(s.agent, deliveryID, m, at)
	if err := sign(request.Header, to.Secrets, m); err != nil {
		return nil, err
	}
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
	if header == "" {
		return 0
	}
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second //nolint:gosec // 31 bits
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
