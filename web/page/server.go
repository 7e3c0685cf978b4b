// Package page serves the pages of the dashboard: it finds the session of a
// request, checks permissions and limits, reads forms, calls the handler of the
// page, and renders its result or an error. It does not depend on any single page.
package page

import (
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/server/api"
	"govsvc/server/limit"
	"govsvc/server/openapi"
	"govsvc/web/ui"
)

// Config connects a Server with the service.
type Config struct {
	Store     *db.DB
	Auth      *auth.Service // of Store
	Document  *openapi.Document
	Logger    *slog.Logger
	Receivers api.Receivers
	Service   Service
	// ClientAddress returns the address of the client behind trusted proxies,
	// and ClientGroup the key that limits count it by.
	ClientAddress, ClientGroup func(*http.Request) string
	// Secure reports whether the client uses TLS.
	Secure func(*http.Request) bool
	// Responses limits the bytes that responses hold until they are sent. Nil means
	// a budget of the default size.
	Responses *limit.Budget
}

// Content is what all pages are made with.
type Content struct {
	// Templates holds the files templates/*.html.
	Templates fs.FS
	Assets    *Assets
	// Navigation lists the pages that the navigation can contain.
	Navigation []NavGroup
}

// Service describes the running service.
type Service struct {
	// BaseURL is the address of the service for users, without a path.
	BaseURL         string
	Version, Commit string
	// AnonymousPerMinute is the number of requests that an address can make
	// without a valid key, 0 for no limit. It also applies to pages, assets and
	// downloads, with a separate count for each.
	AnonymousPerMinute int
	// KeepAnswers is the size of the API's response cache in bytes.
	KeepAnswers int64
	// LiveReference lets people try operations on live data in the API reference, with a
	// key that they paste.
	LiveReference bool
}

// Server answers the requests of the dashboard.
type Server struct {
	Config
	Content
	routes    *http.ServeMux
	needs     map[string]auth.Permission // path of each page → its permission
	templates *template.Template
	origin    *http.CrossOriginProtection
	shown     *Tickets[oneTimeValue]
	rates     rateLimits
	// What each user has in progress.
	requests, uploads, downloads *limit.InProgress
}

// One-time values stay in memory for shownFor. Tickets keep at most MaxTickets
// values.
const (
	shownFor   = 10 * time.Minute
	MaxTickets = 10_000
)

// New returns a server without pages; Handle adds them. It fails if a template is
// invalid.
func New(config Config, content Content) (*Server, error) {
	s := &Server{
		Config: config, Content: content, routes: http.NewServeMux(), needs: map[string]auth.Permission{},
		origin:   http.NewCrossOriginProtection(),
		shown:    NewTickets[oneTimeValue](config.Store.Now, shownFor, MaxTickets),
		requests: limit.NewInProgress(requestsAtOnce), uploads: limit.NewInProgress(uploadsAtOnce), downloads: limit.NewInProgress(downloadsAtOnce),
		rates: newRateLimits(config.Store.Now),
	}
	if s.Responses == nil {
		s.Responses = limit.NewBudget(0, 0)
	}
	functions := template.FuncMap{"asset": content.Assets.Path}
	parsed, err := template.New("").Funcs(ui.Functions()).Funcs(functions).Option("missingkey=error").ParseFS(content.Templates, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("parse the dashboard's templates: %w", err)
	}
	s.templates = parsed
	s.routes.Handle("GET "+StaticPath, http.HandlerFunc(s.serveAsset))
	s.routes.Handle("/", s.answer(&Route{Needs: Public, Handle: s.noPage}))
	return s, nil
}

// Handle adds routes.
func (s *Server) Handle(routes ...Route) {
	for _, route := range routes {
		s.routes.Handle(route.Pattern, s.answer(&route))
		if path, ok := strings.CutPrefix(route.Pattern, "GET "); ok {
			s.needs[strings.TrimSuffix(path, "{$}")] = route.Needs
		}
	}
}

// ServeHTTP sets the security headers on every answer, including the redirects of
// the router itself, such as that from //risks to /risks.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range securityHeaders {
		w.Header().Set(name, value)
	}
	s.routes.ServeHTTP(w, r)
}

// securityHeaders forbid content of other origins, inline scripts, framing and
// caching.
var securityHeaders = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
		"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "same-origin",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=()",
	"Cache-Control":                "no-store",
}

// Knows reports whether the path of a request has a page, for any method.
func (s *Server) Knows(r *http.Request) bool { return len(s.methods(r)) > 0 }

// methods lists the methods that the path of a request accepts.
func (s *Server) methods(r *http.Request) []string {
	var accepted []string
	probe := *r
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		probe.Method = method
		if _, pattern := s.routes.Handler(&probe); strings.Contains(pattern, " ") {
			accepted = append(accepted, method)
		}
	}
	if slices.Contains(accepted, http.MethodGet) {
		accepted = append(accepted, http.MethodHead)
	}
	return accepted
}

// noPage answers requests without a page, or with a method that the page does not
// accept.
func (s *Server) noPage(r *Request) error {
	if allow := s.methods(r.HTTP); len(allow) > 0 && !slices.Contains(allow, r.HTTP.Method) {
		r.Writer.Header().Set("Allow", strings.Join(allow, ", "))
		return &Problem{http.StatusMethodNotAllowed, "This action is not possible here", "This address does not accept such a request. Go back and use the buttons of the page."}
	}
	return &NotFound
}
