package page

import (
	"bytes"
	"html/template"
	"net/http"
	"strconv"
	"strings"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/web/ui"
)

// layoutData is the argument of the layout, which surrounds the content of a page.
type layoutData struct {
	Title         string
	Theme         string // "" is the browser's preference
	Path          string // of this page, to come back to it
	Content       template.HTML
	Flash         string
	Version       string
	User          auth.User
	Organisation  db.Organisation
	Organisations []db.Organisation // to switch to; nil for a member of one
	Nav           []NavGroup
}

// NavGroup is a part of the navigation. The heading can be empty.
type NavGroup struct {
	Heading string
	Links   []ui.Link
}

// Render answers with a page: the output of a template inside the layout.
func (r *Request) Render(name, title string, data any) error {
	return r.RenderStatus(http.StatusOK, name, title, data)
}

// RenderStatus renders a page like Render, with another status than 200. It sends
// nothing if a template fails.
func (r *Request) RenderStatus(status int, name, title string, data any) error {
	var content, document bytes.Buffer
	if err := r.server.templates.ExecuteTemplate(&content, name, data); err != nil {
		return err
	}
	layout := layoutData{
		Title: title, Version: r.Service.Version, Theme: r.theme(), Path: "/",
		Content: template.HTML(content.String()), //nolint:gosec // escaped by the template
	}
	if r.HTTP.Method != http.MethodPost {
		layout.Path = r.HTTP.URL.RequestURI()
	}
	layoutName := "public-layout"
	if r.SignedIn() {
		layoutName = "app-layout"
		layout.User, layout.Organisation = r.Session.User, r.Session.Organisation
		layout.Nav = r.Navigation()
		all, err := r.Auth.Memberships.Organisations(r.Context(), r.Session.User.ID)
		if err != nil && status < http.StatusInternalServerError {
			return err
		}
		if len(all) > 1 || layout.User.Role == "" {
			layout.Organisations = all
		}
	}
	layout.Flash = takeFlash(r)
	if err := r.server.templates.ExecuteTemplate(&document, layoutName, layout); err != nil {
		return err
	}
	r.Writer.Header().Set("Content-Type", "text/html; charset=utf-8")
	sent := compressPage(r.HTTP, r.Writer.Header(), document.Bytes())
	r.Writer.Header().Set("Content-Length", strconv.Itoa(len(sent)))
	r.memory.Settle(int64(document.Cap() + cap(sent)))
	r.Writer.WriteHeader(status)
	_, _ = r.Writer.Write(sent) // fails if the client has gone
	return nil
}

// Navigation returns the links that the user has the permission for. It marks the
// current page.
func (r *Request) Navigation() []NavGroup {
	var groups []NavGroup
	for _, all := range r.server.Navigation {
		group := NavGroup{Heading: all.Heading}
		for _, link := range all.Links {
			if !r.MayOpen(link.Path) {
				continue
			}
			path := r.HTTP.URL.Path
			link.Here = path == link.Path || link.Path != "/" && strings.HasPrefix(path, link.Path+"/")
			group.Links = append(group.Links, link)
		}
		if len(group.Links) > 0 {
			groups = append(groups, group)
		}
	}
	return groups
}
