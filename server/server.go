// Package server is the service over HTTP: routes mounted from the document,
// credential, limits, headers and errors. What the operations do is in package
// api; this package brings requests to them and their answers back.
package server

import (
	"cmp"
	"context"
	"errors"
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

// Config is what a Server is made of.
type Config struct {
	Store    *db.DB
	Document *openapi.Document
	// Sandbox opens the data set of test keys; it is called by the first of
	// them, and again only if it failed.
	Sandbox func() (*db.DB, error)
	Logger  *slog.Logger
	// Receivers are those that webhooks are sent to, and SandboxReceivers what
	// stands in for them in the sandbox; nil is the public Internet, and a
	// stand-in for it.
	Receivers, SandboxReceivers api.Receivers
	// BaseURL is the service's address as shown to users, without a path.
	BaseURL string
	// Contact is an e-mail address or an URL that the document names; "" is none.
	Contact string
	// AllowOrigins are the origins of browser pages, beside the service's own,
	// that may call MCP.
	AllowOrigins []string
	// Version is that of this build, which MCP clients are told.
	Version string
	// TrustedProxies are the addresses whose X-Forwarded-For counts.
	TrustedProxies []netip.Prefix
	// CacheBytes is how many bytes of answers are held in memory; 0 is none.
	CacheBytes int64
	// Metrics are counted, unless they are nil; with AccessLog each request is
	// logged.
	Metrics   *metrics.Metrics
	AccessLog bool
	// Deadline bounds the work for a read that is not answered from memory; 0 is
	// 30 seconds.
	Deadline time.Duration
	// AnonymousPerMinute bounds the requests that an address may make without a
	// valid key; 0 is no limit.
	AnonymousPerMinute int
	// Sessions are those of the dashboard. The server removes the ones that have
	// ended; nil where nobody signs in.
	Sessions *auth.Sessions
	// Pages stand beside the API: the dashboard. nil is none.
	Pages Pages
	// Responses bounds the bytes that responses hold until they are sent; nil is a
	// budget of the usual size.
	Responses *limit.Budget
	// Decoding bounds the bytes that large bodies of requests take while they are
	// decoded; nil is a budget of the usual size.
	Decoding *limit.Budget
}

// Pages answer what is not below the API's path.
type Pages interface {
	http.Handler
	// Knows tells whether there is a page at the request's path.
	Knows(*http.Request) bool
}

// Server answers the service's requests.
type Server struct {
	Config
	handler         http.Handler
	keys, addresses *limit.Limiter // apart, so that a flood of addresses can't crowd keys out
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

// keysInMemory bounds the keys, and the addresses, whose state is held.
const keysInMemory = 100_000

// New mounts the operations of the document. It fails if the document and the
// operations do not fit each other.
func New(ctx context.Context, config Config) (*Server, error) {
	if err := config.setReceivers(); err != nil {
		return nil, err
	}
	functions, err := api.Bind(config.Document)
	if err != nil {
		return nil, err
	}
	if config.Document.Version != db.APIVersion {
		return nil, errors.New("the document's version is not that of the answers")
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

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if safeMethod(r.Method) != r.Method { // the router would answer it in its own words
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

// lazyStore opens a store when it is first asked for.
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

// route is an operation of the document with what it does.
type route struct {
	*openapi.Operation
	run api.Operation
	// fixed is the answer of a read that never has another; nil if it may.
	fixed *cachedResponse
	// custom answers a request of an operation that has an order of checks of its
	// own; nil where the usual one holds.
	custom func(*request, *route) (api.Answer, error)
}

// routes mounts each path of the document, and the pages beside the API.
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

// path answers the requests of one path, whatever their method.
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

// refuseMethod answers a method that a path does not take with those it does.
func (s *Server) refuseMethod(w http.ResponseWriter, r *http.Request, allow []string) {
	takes := strings.Join(allow, ", ")
	w.Header().Set("Allow", takes)
	s.refuse(w, r, &api.Error{Code: api.MethodNotAllowed, Message: "this path does not take " + safeMethod(r.Method) + "; it takes " + takes})
}

// safeMethod names a method in a message only if it is a usual one.
func safeMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "this method"
}

// serveOther answers what is no operation: a page, where there is one; where there
// is nothing, browsers get a page that says so and programs the envelope.
func (s *Server) serveOther(w http.ResponseWriter, r *http.Request) {
	if s.Pages != nil && !isReserved(r.URL.Path) && (s.Pages.Knows(r) || strings.Contains(r.Header.Get("Accept"), "text/html")) {
		s.Pages.ServeHTTP(w, r)
		return
	}
	s.notFound(w, r)
}

// isReserved tells the paths where no page is, whatever the request accepts. The
// targets of CONNECT and of OPTIONS * are no paths.
func isReserved(path string) bool {
	if !strings.HasPrefix(path, "/") {
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
	s.refuse(w, r, &api.Error{Code: api.NotFound, Message: "there is nothing at this path; GET " + Base + "/ lists what there is"})
}

// refuse answers a request that reached no operation. It counts like any other:
// for its key, if that is valid, or else for its address.
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

// setReceivers fills in who receives webhooks where the configuration leaves it open.
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
