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

// receiver is an https endpoint on loopback. It answers as it is told, and
// keeps what it acknowledged.
type receiver struct {
	*httptest.Server
	mutex    sync.Mutex
	status   int
	answer   string
	arrivals []arrival
}

// arrival is a request that a receiver got.
type arrival struct {
	header http.Header
	body   string
}

func newReceiver(t testing.TB, status int, answer string) *receiver {
	t.Helper()
	r := &receiver{status: status, answer: answer}
	r.Server = httptest.NewUnstartedServer(r)
	r.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	r.StartTLS()
	t.Cleanup(func() { r.CloseClientConnections(); r.Close() })
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.arrivals = append(r.arrivals, arrival{request.Header.Clone(), string(body)})
	w.WriteHeader(r.status)
	_, _ = io.WriteString(w, r.answer)
}

// say has it answer otherwise from now on.
func (r *receiver) say(status int, answer string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.status, r.answer = status, answer
}

func (r *receiver) got() []arrival {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return append([]arrival(nil), r.arrivals...)
}

// receiverRoot is the certificate of every httptest server, in PEM.
var receiverRoot = sync.OnceValue(func() []byte {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
})

// deliver does the deliveries that are due, and what falls due meanwhile: three
// attempts at once each, as the scene's clock stands still.
func (s *scene) deliver() webhook.Totals {
	s.t.Helper()
	loop := webhook.NewDeliverer(webhook.Config{Store: s.store, Sender: s.sender, Schedule: []time.Duration{0, 0}})
	total, err := loop.DeliverDue(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return total
}

// org is the default organisation.
func (s *scene) org() db.Organisation {
	s.t.Helper()
	org, err := s.store.Orgs.ByName(s.t.Context(), db.DefaultOrganisation)
	if err != nil {
		s.t.Fatal(err)
	}
	return org
}

// by is who changes it beside the dashboard.
func (s *scene) by() db.Actor {
	s.t.Helper()
	return db.Actor{Org: s.org().Org, ID: "system"}
}

// raise raises n events of a type in the default organisation.
func (s *scene) raise(kind string, n int) {
	s.t.Helper()
	err := s.store.Write(s.t.Context(), s.by(), func(tx *db.Tx) error {
		for i := range n {
			if err := tx.Enqueue(kind, map[string]any{"number": i, "text": hostile}); err != nil {
				return err
			}
		}
		return tx.Audit(audit.Event{Action: "test.raised", Category: audit.System, Severity: audit.SeverityWrite})
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// call asks the API with a key.
func (s *scene) call(method, path, key, body string) reply {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.url+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", db.NewID())
	}
	response, err := s.server.Client().Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return reply{response.StatusCode, response.Header, string(text)}
}
