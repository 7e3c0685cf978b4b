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

// PageRoute is one route of the dashboard.
type PageRoute struct {
	Method, Path string
	Needs        auth.Permission
	Fresh, Own   bool // the required proof of identity
}

// Routes returns the routes of all pages and actions.
func Routes(document *openapi.Document) []PageRoute {
	var list []PageRoute
	for _, route := range new(Site).routes(Config{Config: page.Config{Document: document}}) {
		method, path, _ := strings.Cut(route.Pattern, " ")
		list = append(list, PageRoute{method, path, route.Needs, route.Proof == page.FreshProof, route.Proof == page.OwnProof})
	}
	return list
}

// SetImportTimeout sets the maximum duration of each import.
func (s *Site) SetImportTimeout(timeout time.Duration) { s.imports.Timeout = timeout }

// HoldVerification simulates a running verification of the audit log until the caller
// calls release.
func (s *Site) HoldVerification() (release func()) {
	s.verification.Running.Lock()
	return s.verification.Running.Unlock
}

// WaitForCheck waits for the end of a check of the data file.
func (s *Site) WaitForCheck() { s.checks.Wait() }

// HoldCheck simulates a running check of the data file until the caller calls release.
func (s *Site) HoldCheck() (release func()) { return s.checks.Hold() }

// Navigation returns the paths of the links in the navigation.
func Navigation() (paths []string) {
	for _, group := range navigation {
		for _, link := range group.Links {
			paths = append(paths, link.Path)
		}
	}
	return paths
}

// Files returns the texts of all static files and templates by path.
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
