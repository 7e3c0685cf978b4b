package page

import (
	"crypto/rand"
	"net/http"
	"runtime/debug"
	"strings"

	"govsvc/server/limit"
)

// answer returns the HTTP handler of a route.
func (s *Server) answer(route *Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r := &Request{
			HTTP: request, Writer: w, ID: "req_" + strings.ToLower(rand.Text()),
			Store: s.Store, Auth: s.Auth, Document: s.Document, Service: &s.Service, server: s, route: route,
		}
		w.Header().Set("X-Request-Id", r.ID)
		defer s.release(r)
		defer s.recover(r)                  //nolint:contextcheck // r.Context is that of the HTTP request
		if err := s.handle(r); err != nil { //nolint:contextcheck // as above
			s.fail(r, err) //nolint:contextcheck // as above
		}
	})
}

// handle runs the checks that all pages have in common, in this order, and then
// the handler of the page.
func (s *Server) handle(r *Request) error {
	if err := s.checkRate(r); err != nil {
		return err
	}
	if err := s.authenticate(r); err != nil {
		return err
	}
	if r.HTTP.ContentLength != 0 && !r.SignedIn() {
		limit.Yield(r.Context(), true) // a client without a sign-in can send a form slowly
	}
	authorized, err := s.authorize(r)
	if err != nil || !authorized {
		return err
	}
	if err := s.countRequest(r); err != nil {
		return err
	}
	if r.route.Upload {
		if !s.uploads.Begin(r.counted) {
			return &tooManyUploads
		}
		defer s.uploads.End(r.counted)
	}
	if r.route.Download {
		if !s.downloads.Begin(r.counted) {
			return &tooManyDownloads
		}
		defer s.downloads.End(r.counted)
	}
	if err := readForm(r); err != nil {
		return err
	}
	if confirmed, err := requireConfirmation(r); err != nil || !confirmed {
		return err
	}
	if err := s.reserveMemory(r); err != nil {
		return err
	}
	return r.route.Handle(r)
}

// recover answers a request whose handler panicked, and logs the stack.
func (s *Server) recover(r *Request) {
	found := recover()
	if found == nil {
		return
	}
	if found == http.ErrAbortHandler { //nolint:errorlint // a sentinel of net/http, compared as it documents
		panic(found)
	}
	s.Logger.Error("panic", "panic", found, "request_id", r.ID, "page", r.route.Pattern, "stack", string(debug.Stack()))
	s.renderProblem(r, &internalError)
}
