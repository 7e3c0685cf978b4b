// Package server serves the API over HTTP. It has the routes of the OpenAPI document,
// and checks credentials and limits. It runs the operations of package api.
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/server/api"
	"govsvc/server/limit"
	"govsvc/server/mcp"
	"govsvc/server/metrics"
	"govsvc/server/openapi"
	"govsvc/server/webhook"
)

// Base is the path of the API below the service's address.
const Base = openapi.BasePath

// SandboxMarker starts every human-readable value that a test key sees
// (specification, Sandbox data).
const SandboxMarker = "[SANDBOX] "

// Config configures a Server.
type Config struct {
	Store    *db.DB
	Document *openapi.Document
	// Sandbox opens the data set of test keys. The first request with a test key
	// calls it; after an error the next one calls it again.
	Sandbox func() (*db.DB, error)
	Logger  *slog.Logger
	// Receivers sends webhooks, and SandboxReceivers simulates that in the sandbox;
	// nil is a sender to public addresses alone, and the standard simulator.
	Receivers, SandboxReceivers api.Receivers
	// BaseURL is the public address of the service, without a path.
	BaseURL string
	// Contact is an e-mail address or a URL for the document; "" is none.
	Contact string
	// AllowOrigins are the origins of browser pages that may call MCP, in addition
	// to the service's own.
	AllowOrigins []string
	// Version is the version of this build, which MCP sends to clients.
	Version string
	// TrustedProxies are the addresses whose X-Forwarded-For counts.
	TrustedProxies []netip.Prefix
	// CacheBytes is the capacity of the response cache; 0 is no cache.
	CacheBytes int64
	// Metrics counts the requests; nil counts none. AccessLog logs each request.
	Metrics   *metrics.Metrics
	AccessLog bool
	// Deadline is the time limit of a read that is not in the cache; 0 is 30
	// seconds.
	Deadline time.Duration
	// AnonymousPerMinute is the limit of requests from an address without a valid
	// key; 0 is no limit.
	AnonymousPerMinute int
	// Sessions are the sessions of the dashboard, of which the server removes the
	// expired ones; nil without a dashboard.
	Sessions *auth.Sessions
	// Pages is the dashboard; nil is none.
	Pages Pages
	// Responses bounds the bytes of responses that are not sent yet; nil is a budget
	// of the default size.
	Responses *limit.Budget
	// Decoding bounds the bytes that large request bodies take while they are
	// decoded; nil is a budget of the default size.
	Decoding *limit.Budget
}

// Pages serves paths outside the API.
type Pages interface {
	http.Handler
	// Knows reports whether there is a page at the request's path.
	Knows(*http.Request) bool
}

// Server is the HTTP handler of the service.
type Server struct {
	Config
	handler         http.Handler
	keys, addresses *limit.Limiter // two, so that many addresses can't displace keys
	inFlight        inFlightKeys
	verifier        *verifier
	mcp             *mcp.Server
	mcpOrigins      mcp.Origins
	sandbox         lazyStore
	ready           readiness
	cache           *responseCache
	inProgress      *limit.InProgress // requests, by key
}

// requestsAtOnce is how many requests of one key may be in progress (contract,
// section 2).
const requestsAtOnce = 256

// keysInMemory bounds the number of keys, and of addresses, with state in memory.
const keysInMemory = 100_000

// New mounts the operations of the document. It fails if the document and package
// api do not have the same operations.
func New(ctx context.Context, config Config) (*Server, error) {
	if err := config.setReceivers(); err != nil {
		return nil, err
	}
	functions, err := api.Bind(config.Document)
	if err != nil {
		return nil, err
	}
	if config.Document.Version != db.APIVersion {
		return nil, errors.New("the document's version is not that of the responses")
	}
	if err := checkEventTypes(config.Document); err != nil {
		return nil, err
	}
	config.Deadline = cmp.Or(config.Deadline, 30*time.Second)
	s := &Server{
		Config:    config,
		keys:      limit.New(config.Store.Now, keysInMemory),
		addresses: limit.New(config.Store.Now, keysInMemory),
		verifier:  newVerifier(config.Store),
		sandbox:   lazyStore{open: config.Sandbox},
		cache:     newResponseCache(config.CacheBytes),

		inProgress: limit.NewInProgress(requestsAtOnce),
	}
	if s.Responses == nil {
		s.Responses = limit.NewBudget(0, 0)
	}
	if s.Decoding == nil {
		s.Decoding = limit.NewBudget(decodingBytes, 0)
	}
	if s.mcpOrigins, err = mcp.NewOrigins(config.BaseURL, config.AllowOrigins); err != nil {
		return nil, err
	}
	if s.mcp, err = mcp.New(config.Document, functions, config.Version); err != nil {
		return nil, err
	}
	if err := s.loadCounts(ctx); err != nil {
		return nil, err
	}
	index, err := s.index()
	if err != nil {
		return nil, err
	}
	s.handler = s.routes(functions, map[string]*cachedResponse{
		"getIndex":    newCachedResponse(index),
		"getDocument": newCachedResponse(jsonAnswer(http.StatusOK, s.Document.Published(openapi.Service{BaseURL: s.BaseURL, Contact: s.Contact}))),
	})
	return s, nil
}

// checkEventTypes checks that the document describes the events of the store and no
// others.
func checkEventTypes(document *openapi.Document) error {
	var described []string
	for _, event := range document.EventTypes() {
		described = append(described, event.Name)
	}
	slices.Sort(described)
	if declared := db.EventTypes(); !slices.Equal(described, declared) {
		return fmt.Errorf("the document has the events %v, the store %v", described, declared)
	}
	return nil
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if safeMethod(r.Method) != r.Method { // the router would refuse it without the error envelope
		other := *r
		other.Method = http.MethodTrace
		r = &other
	}
	if r.ContentLength != 0 && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		ignoreBody(w)
	}
	if s.Metrics == nil && !s.AccessLog {
		s.handler.ServeHTTP(w, r)
		return
	}
	s.observe(w, r)
}

// lazyStore opens a store on first use.
type lazyStore struct {
	open  func() (*db.DB, error)
	mutex sync.Mutex
	store *db.DB
}

func (l *lazyStore) get() (*db.DB, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.store != nil {
		return l.store, nil
	}
	var err error
	l.store, err = l.open()
	return l.store, err
}

// route is an operation of the document with its function.
type route struct {
	*openapi.Operation
	run api.Operation
	// fixed is the response of a read whose response never changes; nil for others.
	fixed *cachedResponse
	// custom handles an operation whose checks have another order; nil is the usual
	// order.
	custom func(*request, *route) (api.Response, error)
}

// routes mounts the paths of the document, the health checks and the pages.
func (s *Server) routes(functions map[string]api.Operation, fixed map[string]*cachedResponse) http.Handler {
	router := chi.NewRouter()
	router.Use(s.recoverPanics)
	paths := map[string][]route{}
	for _, op := range s.Document.Operations {
		r := route{Operation: op, run: functions[op.ID], fixed: fixed[op.ID]}
		if op.ID == "callMcp" {
			r.custom = (*request).callMcp
		}
		paths[op.Path] = append(paths[op.Path], r)
	}
	for path, routes := range paths {
		router.Handle(Base+path, s.path(routes))
		if path == "/" {
			router.Handle(Base, s.path(routes))
		}
	}
	router.NotFound(s.serveOther)
	router.Handle("/healthz", s.probe(s.healthz))
	router.Handle("/readyz", s.probe(s.readyz))
	return router
}

// path makes the handler of one path, for all methods.
func (s *Server) path(routes []route) http.Handler {
	var allow []string
	for _, r := range routes {
		allow = append(allow, r.Method)
		if r.Method == http.MethodGet {
			allow = append(allow, http.MethodHead)
		}
	}
	slices.Sort(allow)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		for i := range routes {
			if routes[i].Method == method {
				s.serve(w, r, &routes[i])
				return
			}
		}
		s.refuseMethod(w, r, allow)
	})
}

// refuseMethod refuses a method that a path does not support.
func (s *Server) refuseMethod(w http.ResponseWriter, r *http.Request, allow []string) {
	allowed := strings.Join(allow, ", ")
	w.Header().Set("Allow", allowed)
	s.refuse(w, r, &api.Error{Code: api.MethodNotAllowed, Message: "this path does not support " + safeMethod(r.Method) + "; use " + allowed})
}

// safeMethod returns the name of a standard method, and a phrase for any other:
// messages do not repeat the client's own text.
func safeMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "this method"
}

// serveOther serves paths that are not operations: the pages and, for a browser,
// the page for an unknown path. Programs get the error envelope.
func (s *Server) serveOther(w http.ResponseWriter, r *http.Request) {
	if s.Pages != nil && !isReserved(r.URL.Path) && (s.Pages.Knows(r) || strings.Contains(r.Header.Get("Accept"), "text/html")) {
		s.Pages.ServeHTTP(w, r)
		return
	}
	s.notFound(w, r)
}

// isReserved reports whether pages never serve a path, whatever the request
// accepts.
func isReserved(path string) bool {
	if !strings.HasPrefix(path, "/") { // the target of CONNECT or OPTIONS *
		return true
	}
	for _, prefix := range []string{"/api", "/.well-known", "/healthz", "/readyz"} {
		if path == prefix || strings.HasPrefix(path, prefix+"/") {
			return true
		}
	}
	return false
}

func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	s.refuse(w, r, &api.Error{Code: api.NotFound, Message: "no resource has this path; GET " + Base + "/ lists the resources"})
}

// refuse refuses a request that reaches no operation. It counts for its key or,
// without a valid one, for its address, as any other request.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, refusal *api.Error) {
	req := s.begin(w, r)
	defer req.end()
	if err := req.admit(); err != nil {
		if limited := api.Refusal(err); limited.Code == api.RateLimitExceeded {
			refusal = limited
		}
	}
	req.fail(refusal)
}

// setReceivers sets the default receivers.
func (c *Config) setReceivers() error {
	if c.SandboxReceivers == nil {
		c.SandboxReceivers = webhook.Simulator{}
	}
	if c.Receivers != nil {
		return nil
	}
	sender, err := webhook.NewSender(webhook.SenderConfig{Version: c.Version, Now: c.Store.Now})
	c.Receivers = sender
	return err
}
