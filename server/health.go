package server

import (
	"context"
	"net/http"
	"sync"
	"time"

	"govsvc/db"
)

// probe makes the handler of a health check, outside the API.
func (s *Server) probe(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			s.refuseMethod(w, r, []string{http.MethodGet, http.MethodHead}) //nolint:contextcheck // the context is that of the request
			return
		}
		answer(w, r)
	}
}

// healthz answers 200 while the process runs.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) { plainText(w, http.StatusOK, "ok") }

// readyz answers 200 while the data file can be read and written.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if err := s.ready.check(context.WithoutCancel(r.Context()), s.Store); err != nil {
		s.Logger.Error("not ready", "error", err)
		plainText(w, http.StatusServiceUnavailable, "the data file can't be read and written right now")
		return
	}
	plainText(w, http.StatusOK, "ready")
}

// readiness caches whether the data file can be used. The check writes to the
// file, and /readyz needs no credential.
type readiness struct {
	mutex   sync.Mutex
	checked time.Time
	err     error
}

// readinessTTL is how long the result of a check is reused.
const readinessTTL = time.Second

func (c *readiness) check(ctx context.Context, store *db.DB) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if age := store.Now().Sub(c.checked); age < 0 || age >= readinessTTL {
		c.err = store.File.Ready(ctx)
		c.checked = store.Now()
	}
	return c.err
}

func plainText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n")) // it fails only if the client has left
}
