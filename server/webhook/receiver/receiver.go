// Package receiver implements a webhook receiver for development. It verifies events,
// prints or forwards them, and has its own certificate authority.
package receiver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"
	"time"

	"govsvc/db"
	"govsvc/server/webhook"
)

// Bounds on what is received and returned.
const (
	maxWebhook     = 4 << 20 // bytes of a body
	maxResponse    = 1 << 20 // bytes of the target's response
	forwardTimeout = 30 * time.Second
	maxRemembered  = 10_000 // events
)

// Results of the verification of a signature.
const (
	Verified     = "verified"
	Unverified   = "unverified"
	BadSignature = "bad"
)

// Webhook is a webhook that was received.
type Webhook struct {
	ReceivedAt  string          `json:"received_at"`
	Type        string          `json:"type"`
	EventID     string          `json:"event_id"`
	DeliveryID  string          `json:"delivery_id"`
	Seen        int             `json:"seen"` // how often the event was received so far
	Signature   string          `json:"signature"`
	Problem     *string         `json:"problem"`
	ForwardedTo *string         `json:"forwarded_to"`
	Status      int             `json:"status"` // of the response to the sender
	Body        json.RawMessage `json:"body"`   // a string if it is not JSON
	// Duration is how long the target of a forwarded webhook took.
	Duration time.Duration `json:"-"`
}

// Receiver receives webhooks and shows them.
type Receiver struct {
	secret  string     // "" verifies nothing
	forward *forwarder // nil shows them only
	show    func(Webhook)

	mutex sync.Mutex // of seen and show
	seen  map[string]int
}

// New returns a receiver that calls show for each webhook, one at a time. With a
// secret it verifies signatures. With a URL it forwards webhooks to that.
func New(secret, forwardTo string, show func(Webhook)) *Receiver {
	r := &Receiver{secret: secret, show: show}
	if forwardTo != "" {
		r.forward = newForwarder(forwardTo)
	}
	return r
}

// Run waits until ctx ends: there is no work between webhooks.
func (r *Receiver) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// ServeHTTP receives a webhook.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "this is `govsvc webhooks listen`: it receives webhooks, by POST", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxWebhook))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		http.Error(w, fmt.Sprintf("a webhook has at most %d bytes", maxWebhook), http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		return // the sender is gone
	}
	received := parse(request, body)
	response := r.respond(request, body, &received)
	received.Status = response.status
	r.report(received)
	maps.Copy(w.Header(), response.header)
	w.WriteHeader(response.status)
	_, _ = w.Write(response.body)
}

// parse reads what a webhook says about itself.
func parse(request *http.Request, body []byte) Webhook {
	received := Webhook{
		ReceivedAt: db.Timestamp(time.Now()), Type: request.Header.Get(webhook.HeaderEvent),
		EventID: request.Header.Get(webhook.HeaderID), DeliveryID: request.Header.Get(webhook.HeaderDelivery),
		Signature: Unverified, Body: body,
	}
	var event struct{ ID, Type string }
	if json.Unmarshal(body, &event) == nil { // a webhook sent by hand may have no headers
		received.Type, received.EventID = cmp.Or(received.Type, event.Type), cmp.Or(received.EventID, event.ID)
	}
	if !json.Valid(body) {
		received.Body = jsonString(body)
	}
	return received
}

// jsonString encodes a text without escapes for HTML.
func jsonString(text []byte) json.RawMessage {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(string(text)) // a string can always be encoded
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// response is what the sender of a webhook gets.
type response struct {
	status int
	header http.Header
	body   []byte
}

func textResponse(status int, text string) response {
	return response{status, http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, []byte(text + "\n")}
}

// respond verifies a webhook and forwards it if there is a target. It notes the
// results in received.
func (r *Receiver) respond(request *http.Request, body []byte, received *Webhook) response {
	if r.secret != "" {
		if err := webhook.Verify(r.secret, request.Header, body, time.Now()); err != nil {
			problem := err.Error()
			received.Signature, received.Problem = BadSignature, &problem
			return textResponse(http.StatusUnauthorized, "bad signature: "+problem)
		}
		received.Signature = Verified
	}
	if r.forward == nil {
		return textResponse(http.StatusOK, "received, "+received.Signature)
	}
	received.ForwardedTo = &r.forward.url
	began := time.Now()
	answer, err := r.forward.send(request, body)
	received.Duration = time.Since(began)
	if err != nil {
		problem := "can't be reached: " + err.Error()
		received.Problem = &problem
		return textResponse(http.StatusBadGateway, "the target of --forward-to "+problem)
	}
	return answer
}

// report counts a webhook and shows it.
func (r *Receiver) report(received Webhook) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(r.seen) >= maxRemembered || r.seen == nil {
		r.seen = map[string]int{} // some repetitions will then look new
	}
	received.Seen = 1
	if received.EventID != "" && received.Signature != BadSignature {
		r.seen[received.EventID]++
		received.Seen = r.seen[received.EventID]
	}
	r.show(received)
}
