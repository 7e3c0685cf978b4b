// Package web serves the dashboard that operators open in a browser. Pages are
// rendered on the server from embedded templates and work without JavaScript. They
// read and write through the functions of server/api and db.
//
// routes.go lists every page. Package page handles the request of a page. Package ui has
// forms, tables and charts.
package web

import (
	"embed"

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

// stylesheets lists the parts of the stylesheet of all pages, in the order in which
// browsers apply them. A file has at most 500 lines, as all files.
var stylesheets = []string{"tokens.css", "style.css", "search.css", "print.css"}

// Config configures a Site.
type Config struct {
	page.Config
	// FirstLink creates the first admin; nil if users exist.
	FirstLink *account.FirstLink
}

// Site answers the requests of the dashboard.
type Site struct {
	*page.Server
	imports      *data.Imports
	verification *admin.Verification
	checks       *admin.Checks
}

// Close ends the work that pages started in the background. The store can be closed
// afterwards.
func (s *Site) Close() { s.checks.Close() }

// New makes the site. It fails if a template is invalid.
func New(config Config) (*Site, error) {
	assets, err := page.NewAssets(staticFiles, "static")
	if err != nil {
		return nil, err
	}
	if err := assets.Join("dashboard.css", stylesheets...); err != nil {
		return nil, err
	}
	if err := integrations.AddReferenceAssets(assets); err != nil {
		return nil, err
	}
	server, err := page.New(config.Config, page.Content{Templates: templateFiles, Assets: assets, Navigation: navigation})
	if err != nil {
		return nil, err
	}
	site := &Site{Server: server, imports: data.NewImports(config.Store.Now), verification: &admin.Verification{}, checks: &admin.Checks{}}
	server.Handle(site.routes(config)...)
	return site, nil
}
