package web

import (
	"embed"
	"io/fs"
	"strings"
	"time"

	"govsvc/db/auth"
	"govsvc/server/openapi"
	"govsvc/web/page"
)

// PageRoute is a line of the list of routes.
type PageRoute struct {
	Method, Path string
	Needs        auth.Permission
	Fresh, Own   bool // proof of identity
}

// Routes lists all pages and actions.
func Routes(document *openapi.Document) []PageRoute {
	var list []PageRoute
	for _, route := range new(Site).routes(Config{Document: document}) {
		method, path, _ := strings.Cut(route.Pattern, " ")
		list = append(list, PageRoute{method, path, route.Needs, route.Proof == page.FreshProof, route.Proof == page.OwnProof})
	}
	return list
}

// SetImportTimeout bounds each import.
func (s *Site) SetImportTimeout(timeout time.Duration) { s.imports.Timeout = timeout }

// HoldVerification keeps the verification of the audit log busy until release is
// called.
func (s *Site) HoldVerification() (release func()) {
	s.verification.Running.Lock()
	return s.verification.Running.Unlock
}

// Navigation lists the paths of the navigation.
func Navigation() (paths []string) {
	for _, group := range navigation {
		for _, link := range group.Links {
			paths = append(paths, link.Path)
		}
	}
	return paths
}

// Files returns the stylesheet, the scripts and the templates by their paths.
func Files() (map[string]string, error) {
	files := map[string]string{}
	for _, from := range []embed.FS{staticFiles, templateFiles} {
		err := fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := from.ReadFile(name)
			files[name] = string(text)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}
