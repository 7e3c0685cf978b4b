package web_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/internal/testkit"
	"govsvc/server/webhook"
)

// newReceiver starts a receiver with a configured answer.
func newReceiver(t testing.TB, status int, text string) *testkit.Receiver {
	t.Helper()
	return testkit.NewReceiver(t, answer(status, text))
}

// answer returns a handler that answers all requests alike.
func answer(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

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
	return h.send(h.server.Client(), request)
}
