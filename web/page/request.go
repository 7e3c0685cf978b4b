package page

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/server/api"
	"govsvc/server/limit"
	"govsvc/server/openapi"
)

// Request is one request of a page, with what its handler needs to answer it. It
// is valid until the handler returns.
type Request struct {
	HTTP     *http.Request
	Writer   http.ResponseWriter
	ID       string // sent as X-Request-Id
	Store    *db.DB
	Auth     *auth.Service
	Document *openapi.Document
	Service  *Service
	Session  auth.Session // zero without a sign-in
	Caller   *api.Caller  // nil without a sign-in

	server  *Server
	route   *Route
	memory  limit.Reservation
	counted string // user whose requests in progress include this one
}

// Context returns the context of the request.
func (r *Request) Context() context.Context { return r.HTTP.Context() }

// SignedIn reports whether the request has a session.
func (r *Request) SignedIn() bool { return r.Session.User.ID != "" }

// May reports whether the role of the user in the organisation of the session has
// a permission.
func (r *Request) May(p auth.Permission) bool { return r.SignedIn() && r.Session.User.Role.May(p) }

// MayOpen reports whether the user has the permission for the page at a path. The path
// has no wildcard and no query.
func (r *Request) MayOpen(path string) bool {
	needs, exists := r.server.needs[path]
	return exists && (needs == Public || r.May(needs))
}

// Actor returns the user as the author of changes.
func (r *Request) Actor() db.Actor { return r.Session.Actor() }

// Org returns the organisation of the session.
func (r *Request) Org() db.Org { return r.Session.Organisation.Org }

// Logger returns the log of the service.
func (r *Request) Logger() *slog.Logger { return r.server.Logger }

// ClientAddress returns the address of the client behind trusted proxies.
func (r *Request) ClientAddress() string { return r.server.ClientAddress(r.HTTP) }

// PathValue returns the value of a wildcard of the route's pattern.
func (r *Request) PathValue(name string) string { return r.HTTP.PathValue(name) }

// Query returns a query parameter, without surrounding white space.
func (r *Request) Query(name string) string { return strings.TrimSpace(r.HTTP.URL.Query().Get(name)) }

// Value returns a field of the sent form, without surrounding white space.
func (r *Request) Value(name string) string { return strings.TrimSpace(r.HTTP.PostForm.Get(name)) }

// RawValue returns a field of the sent form exactly as typed.
func (r *Request) RawValue(name string) string { return r.HTTP.PostForm.Get(name) }

// Redirect sends the browser to another page of the dashboard, with GET.
func (r *Request) Redirect(path string) error {
	http.Redirect(r.Writer, r.HTTP, path, http.StatusSeeOther)
	return nil
}

// RedirectWithMessage sends the browser to another page, which shows the message
// once.
func (r *Request) RedirectWithMessage(path, message string) error {
	r.Flash(message)
	return r.Redirect(path)
}
