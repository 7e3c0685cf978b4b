package web_test

import (
	"encoding/pem"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/server/webhook"
)

// webhookReceiver is an https endpoint on loopback. It sends a configured answer and
// keeps the requests that it received.
type webhookReceiver struct {
	*httptest.Server
	mutex    sync.Mutex
	status   int
	answer   string
	arrivals []receivedRequest
}

// receivedRequest is a request that a receiver received.
type receivedRequest struct {
	header http.Header
	body   string
}

func newReceiver(t testing.TB, status int, answer string) *webhookReceiver {
	t.Helper()
	r := &webhookReceiver{status: status, answer: answer}
	r.Server = httptest.NewUnstartedServer(r)
	r.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	r.StartTLS()
	t.Cleanup(func() { r.CloseClientConnections(); r.Close() })
	return r
}

func (r *webhookReceiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.arrivals = append(r.arrivals, receivedRequest{request.Header.Clone(), string(body)})
	w.WriteHeader(r.status)
	_, _ = io.WriteString(w, r.answer)
}

// setResponse sets the answer to all further requests.
func (r *webhookReceiver) setResponse(status int, answer string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.status, r.answer = status, answer
}

func (r *webhookReceiver) received() []receivedRequest {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return append([]receivedRequest(nil), r.arrivals...)
}

// receiverRoot returns the certificate of every httptest server, in PEM.
var receiverRoot = sync.OnceValue(func() []byte {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
})

// deliver sends the due deliveries, with up to three attempts each. The retries are
// due immediately, because the schedule has no waits and the clock does not advance.
func (h *harness) deliver() webhook.Totals {
	h.t.Helper()
	loop := webhook.NewDeliverer(webhook.Config{Store: h.store, Sender: h.sender, Schedule: []time.Duration{0, 0}})
	total, err := loop.DeliverDue(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return total
}

// org returns the default organisation.
func (h *harness) org() db.Organisation {
	h.t.Helper()
	org, err := h.store.Orgs.ByName(h.t.Context(), db.DefaultOrganisation)
	if err != nil {
		h.t.Fatal(err)
	}
	return org
}

// by returns the actor of changes that the tests make without the dashboard.
func (h *harness) by() db.Actor {
	h.t.Helper()
	return db.Actor{Org: h.org().Org, ID: "system"}
}

// emit enqueues n events of a type in the default organisation.
func (h *harness) emit(kind string, n int) {
	h.t.Helper()
	err := h.store.Write(h.t.Context(), h.by(), func(tx *db.Tx) error {
		for i := range n {
			if err := tx.Enqueue(kind, map[string]any{"number": i, "text": hostile}); err != nil {
				return err
			}
		}
		return tx.Audit(audit.Event{Action: "test.raised", Category: audit.System, Severity: audit.SeverityWrite})
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// callAPI sends a request to the API with a key.
func (h *harness) callAPI(method, path, key, body string) response {
	h.t.Helper()
	request, err := http.NewRequestWithContext(h.t.Context(), method, h.url+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", db.NewID())
	}
	resp, err := h.server.Client().Do(request)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return response{resp.StatusCode, resp.Header, string(text)}
}
