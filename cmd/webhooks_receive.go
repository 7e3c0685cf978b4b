package cmd

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
	"govsvc/server/api"
	"govsvc/server/webhook"
)

// Bounds of what `webhooks listen` takes in and passes back.
const (
	maxWebhook     = 4 << 20
	maxAnswer      = 1 << 20
	forwardTimeout = 30 * time.Second
	maxRemembered  = 10_000 // events
)

// How the signature of a webhook turned out.
const (
	verified     = "verified"
	unverified   = "unverified"
	badSignature = "bad"
)

// arrival is a webhook that came.
type arrival struct {
	ReceivedAt  string          `json:"received_at"`
	Type        string          `json:"type"`
	EventID     string          `json:"event_id"`
	DeliveryID  string          `json:"delivery_id"`
	Seen        int             `json:"seen"` // how often the event came so far
	Signature   string          `json:"signature"`
	Problem     *string         `json:"problem"`
	ForwardedTo *string         `json:"forwarded_to"`
	Status      int             `json:"status"` // what was answered
	Body        json.RawMessage `json:"body"`   // a string where it is not JSON
	took        time.Duration   // to send it on
}

// receiver takes in webhooks and shows them.
type receiver struct {
	secret  string     // "" verifies nothing
	forward *forwarder // nil shows them only
	show    func(arrival)

	mutex sync.Mutex // of what is seen and shown
	seen  map[string]int
}

// Run has nothing to do between webhooks.
func (r *receiver) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// ServeHTTP takes in a webhook.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "this is `govsvc webhooks listen`: it takes webhooks, by POST", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxWebhook))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		http.Error(w, fmt.Sprintf("a webhook has at most %d bytes", maxWebhook), http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		return // the sender is gone
	}
	one := r.arrived(request, body)
	reply := r.answer(request, body, &one)
	one.Status = reply.status
	r.tell(one)
	maps.Copy(w.Header(), reply.header)
	w.WriteHeader(reply.status)
	_, _ = w.Write(reply.body)
}

// arrived is what is known of a webhook before it is answered.
func (r *receiver) arrived(request *http.Request, body []byte) arrival {
	one := arrival{
		ReceivedAt: db.Timestamp(time.Now()), Type: request.Header.Get(webhook.HeaderEvent),
		EventID: request.Header.Get(webhook.HeaderID), DeliveryID: request.Header.Get(webhook.HeaderDelivery),
		Signature: unverified, Body: body,
	}
	var event struct{ ID, Type string }
	if json.Unmarshal(body, &event) == nil { // of what was sent by hand, without headers
		one.Type, one.EventID = cmp.Or(one.Type, event.Type), cmp.Or(one.EventID, event.ID)
	}
	if !json.Valid(body) {
		one.Body, _ = api.EncodeJSON(string(body)) // a string can always be encoded
	}
	return one
}

// reply is what a sender is answered.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func plainReply(status int, text string) reply {
	return reply{status, http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, []byte(text + "\n")}
}

// answer verifies a webhook, sends it on if it is to be, and notes in one what
// came of it.
func (r *receiver) answer(request *http.Request, body []byte, one *arrival) reply {
	if r.secret != "" {
		if err := webhook.Verify(r.secret, request.Header, body, time.Now()); err != nil {
			problem := err.Error()
			one.Signature, one.Problem = badSignature, &problem
			return plainReply(http.StatusUnauthorized, "bad signature: "+problem)
		}
		one.Signature = verified
	}
	if r.forward == nil {
		return plainReply(http.StatusOK, "received, "+one.Signature)
	}
	one.ForwardedTo = &r.forward.url
	began := time.Now()
	answer, err := r.forward.send(request, body)
	one.took = time.Since(began)
	if err != nil {
		problem := "can't be reached: " + err.Error()
		one.Problem = &problem
		return plainReply(http.StatusBadGateway, "the target of --forward-to "+problem)
	}
	return answer
}

// tell shows a webhook, one at a time.
func (r *receiver) tell(one arrival) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(r.seen) >= maxRemembered || r.seen == nil {
		r.seen = map[string]int{} // some repetitions will look new
	}
	one.Seen = 1
	if one.EventID != "" && one.Signature != badSignature {
		r.seen[one.EventID]++
		one.Seen = r.seen[one.EventID]
	}
	r.show(one)
}

// forwarder sends webhooks on.
type forwarder struct {
	url       string
	transport *http.Transport
}

func newForwarder(url string) *forwarder {
	return &forwarder{url, &http.Transport{
		DisableCompression: true, // what is asked for and answered stays as it is
		DisableKeepAlives:  true, // a target under development is often started anew
	}}
}

// send makes the same request to the target. Redirects are answers like others.
func (f *forwarder) send(of *http.Request, body []byte) (reply, error) {
	ctx, cancel := context.WithTimeout(of.Context(), forwardTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url, bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	request.Header = endToEnd(of.Header)
	if request.UserAgent() == "" {
		request.Header["User-Agent"] = nil // not Go's own
	}
	response, err := f.transport.RoundTrip(request)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	if response.StatusCode < http.StatusOK {
		return reply{}, fmt.Errorf("its status %d is no answer", response.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return reply{}, err
	}
	return reply{response.StatusCode, endToEnd(response.Header), text}, nil
}

// hopByHop are the headers of one connection, and the length, which is counted
// anew.
var hopByHop = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length",
}

// endToEnd are the headers that are passed on.
func endToEnd(h http.Header) http.Header {
	kept := h.Clone()
	for _, name := range hopByHop {
		kept.Del(name)
	}
	return kept
}
