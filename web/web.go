// Package web serves the dashboard that operators open in a browser. Pages are
// rendered on the server from embedded templates and work without JavaScript. They
// read and write through the functions of server/api and db.
//
// routes.go lists every page. Package page handles the request of a page. Package ui has
// forms, tables and charts.
package web

import (
	"embed"
	"log/slog"
	"net/http"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/server/api"
	"govsvc/server/limit"
	"govsvc/server/openapi"
	"govsvc/web/account"
	"govsvc/web/admin"
	"govsvc/web/data"
	"govsvc/web/integrations"
	"govsvc/web/page"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed static/*
var staticFiles embed.FS

// Config configures a Site.
type Config struct {
	Store     *db.DB
	Auth      *auth.Service // of Store
	Document  *openapi.Document
	Logger    *slog.Logger
	Receivers api.Receivers
	// BaseURL is the address of the service for users, without a path.
	BaseURL         string
	Version, Commit string
	// AnonymousPerMinute is the number of requests that an address can make
	// without a valid key, 0 for no limit. Pages, assets and downloads have the
	// same limit, with a separate count for each.
	AnonymousPerMinute int
	// KeepAnswers is the size of the API's response cache in bytes.
	KeepAnswers int64
	// ClientAddress returns the address of the client behind trusted proxies,
	// and ClientGroup the key that limits count it by.
	ClientAddress, ClientGroup func(*http.Request) string
	// Secure reports whether the client uses TLS.
	Secure func(*http.Request) bool
	// FirstLink creates the first admin; nil if users exist.
	FirstLink *account.FirstLink
	// Responses limits the bytes that responses hold until they are sent. Nil means
	// a budget of the default size.
	Responses *limit.Budget
}

// Site answers the requests of the dashboard.
type Site struct {
	*page.Server
	imports      *data.Imports
	verification *admin.Verification
}

// New makes the site. It fails if a template is invalid.
func New(config Config) (*Site, error) {
	assets, err := page.NewAssets(staticFiles, "static")
	if err != nil {
		return nil, err
	}
	if err := integrations.AddReferenceAssets(assets); err != nil {
		return nil, err
	}
	server, err := page.New(page.Config{
		Store: config.Store, Auth: config.Auth, Document: config.Document, Logger: config.Logger, Receivers: config.Receivers,
		Service: page.Service{
			BaseURL: config.BaseURL, Version: config.Version, Commit: config.Commit,
			AnonymousPerMinute: config.AnonymousPerMinute, KeepAnswers: config.KeepAnswers,
		},
		Templates: templateFiles, Assets: assets, Navigation: navigation,
		ClientAddress: config.ClientAddress, ClientGroup: config.ClientGroup, Secure: config.Secure, Responses: config.Responses,
	})
	if err != nil {
		return nil, err
	}
	site := &Site{Server: server, imports: data.NewImports(config.Store.Now), verification: &admin.Verification{}}
	server.Handle(site.routes(config)...)
	return site, nil
}
