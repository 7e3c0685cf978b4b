// Package web is the dashboard: what an operator opens in a browser. Pages are
// rendered on the server from embedded templates and work without script.
// They read and write through the functions of server/api and db.
//
// routes.go lists every page; a visit is one request of one.
package web

import (
	"html/template"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/server/api"
	"govsvc/server/limit"
	"govsvc/server/openapi"
)

// Config is what a Site is made of.
type Config struct {
	Store     *db.DB
	Auth      *auth.Service // of Store
	Document  *openapi.Document
	Logger    *slog.Logger
	Receivers api.Receivers
	// BaseURL is the service's address as shown to users, without a path.
	BaseURL string
	Version string
	// Commit is that of this build.
	Commit string
	// AnonymousPerMinute and KeepAnswers are the API's limits, which the page
	// about the status shows: requests without a valid key, 0 for no limit, and
	// bytes of answers held in memory. AnonymousPerMinute bounds pages, files
	// that pages need, and downloads too, each by itself for an address.
	AnonymousPerMinute int
	KeepAnswers        int64
	// ClientAddress is the client's address, seen through trusted proxies, and
	// ClientGroup what limits count as the client.
	ClientAddress, ClientGroup func(*http.Request) string
	// Secure tells whether the client came over TLS.
	Secure func(*http.Request) bool
	// FirstLink makes the first admin; nil where there are users already.
	FirstLink *FirstLink
	// Responses bounds the bytes that responses hold until they are sent; nil is a
	// budget of the usual size.
	Responses *limit.Budget
}

// Site answers the requests of the dashboard.
type Site struct {
	Config
	routes    *http.ServeMux
	reach     map[string]auth.Permission // path of each page → what it needs
	families  map[string]api.Family      // by object
	templates *template.Template
	static    map[string]*asset // by path
	assets    map[string]string // name → path
	guard     *http.CrossOriginProtection
	pending   *held[credentials] // sign-ins that wait for a code
	shown     *held[once]        // what is shown once; see visit.keepOnce
	imports   *importing
	uploads   uploads
	progress  *limit.InProgress // requests, by user
	downloads downloads
	rates     rateLimits
	verifying sync.Mutex // held while the audit log is verified
}

// How long the server remembers what a browser comes back for, and how much of
// it at most.
const (
	pendingFor = 5 * time.Minute
	shownFor   = 10 * time.Minute
	heldAtMost = 10_000
)

// New makes the site. It fails if a template is broken.
func New(config Config) (*Site, error) {
	s := &Site{
		Config:   config,
		guard:    http.NewCrossOriginProtection(),
		pending:  newHeld[credentials](config.Store.Now, pendingFor, heldAtMost),
		shown:    newHeld[once](config.Store.Now, shownFor, heldAtMost),
		imports:  newImporting(config.Store.Now),
		uploads:  uploads{users: map[string]int{}},
		rates:    newRateLimits(config.Store.Now),
		families: map[string]api.Family{},
		progress: limit.NewInProgress(requestsAtOnce),
	}
	if s.Responses == nil {
		s.Responses = limit.NewBudget(0, 0)
	}
	for _, family := range api.Families(config.Document) {
		s.families[family.Object] = family
	}
	if err := s.loadStatic(); err != nil {
		return nil, err
	}
	if err := s.loadReference(); err != nil {
		return nil, err
	}
	if err := s.loadTemplates(); err != nil {
		return nil, err
	}
	s.mount()
	return s, nil
}
