package web

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/web/ui"
)

//go:embed templates/*.html
var templateFiles embed.FS

// loadTemplates parses all templates, once.
func (s *Site) loadTemplates() error {
	parsed, err := template.New("").Funcs(ui.Functions()).Funcs(template.FuncMap{"asset": s.asset}).Option("missingkey=error").ParseFS(templateFiles, "templates/*.html")
	if err != nil {
		return fmt.Errorf("the dashboard's templates: %w", err)
	}
	s.templates = parsed
	return nil
}

// frame is what stands around a page's content.
type frame struct {
	Title         string
	Content       template.HTML
	Flash         string
	Version       string
	User          auth.User
	Organisation  db.Organisation
	Organisations []db.Organisation // to switch to; none where there is but one
	Nav           []navGroup
}

// render answers with a page: the template's output, as the content of the
// layout. The template gets data as its dot.
func (v *visit) render(name, title string, data any) error {
	return v.renderStatus(http.StatusOK, name, title, data)
}

// renderStatus is render with another status than 200. Nothing is sent where a
// template fails.
func (v *visit) renderStatus(status int, name, title string, data any) error {
	var content, whole bytes.Buffer
	if err := v.templates.ExecuteTemplate(&content, name, data); err != nil {
		return err
	}
	f := frame{
		Title: title, Version: v.Version,
		Content: template.HTML(content.String()), //nolint:gosec // the output of a template, escaped there
	}
	layout := "gate"
	if v.signedIn() {
		layout = "frame"
		f.User, f.Organisation = v.session.User, v.session.Organisation
		f.Nav = v.nav()
		all, err := v.Auth.Memberships.Organisations(v.r.Context(), v.session.User.ID)
		if err != nil && status < http.StatusInternalServerError {
			return err
		}
		if len(all) > 1 || f.User.Role == "" {
			f.Organisations = all
		}
	}
	f.Flash = v.takeFlash()
	if err := v.templates.ExecuteTemplate(&whole, layout, f); err != nil {
		return err
	}
	v.send(status, &whole)
	return nil
}
