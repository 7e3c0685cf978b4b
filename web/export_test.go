package web

import (
	"embed"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"govsvc/db/auth"
)

// Route is a line of the table of pages.
type Route struct {
	Method, Path string
	Needs        auth.Permission
	Fresh, Own   bool // the proof that it takes
}

// SignedIn is the permission of pages for every user.
const SignedIn = signedIn

// Routes lists all pages and actions.
func Routes() []Route {
	var list []Route
	for _, p := range pages() {
		method, path, _ := strings.Cut(p.pattern, " ")
		list = append(list, Route{method, path, p.needs, p.proof == freshProof, p.proof == ownProof})
	}
	return list
}

// Panicking is a page that panics with a text.
func (s *Site) Panicking(text string) http.Handler {
	panics := s.answer(&page{pattern: "GET /panic", needs: nobody, do: func(*visit) error { panic(text) }})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protect(w)
		panics.ServeHTTP(w, r)
	})
}

// SetLongestImport bounds how long an import may take.
func (s *Site) SetLongestImport(longest time.Duration) {
	s.imports.longest = longest
}

// Navigation lists the paths that the navigation may lead to.
func Navigation() (paths []string) {
	for _, group := range navigation {
		for _, link := range group.Links {
			paths = append(paths, link.Path)
		}
	}
	return paths
}

// NewHeld keeps texts in memory, at most so many.
func NewHeld(now func() time.Time, life time.Duration, most int) (put func(string) string, look, take func(string) (string, bool)) {
	h := newHeld[string](now, life, most)
	return h.put, h.look, h.take
}

// Holding makes one that keeps texts for so long, and tells how many it has in
// memory.
func Holding(now func() time.Time, life time.Duration) (put func(string) string, count func() int) {
	h := newHeld[string](now, life, heldAtMost)
	return h.put, func() int {
		h.mutex.Lock()
		defer h.mutex.Unlock()
		return len(h.kept)
	}
}

// LocalPath is where a sign-in leads for a next of that value.
func LocalPath(next string) string { return localPath(next) }

// Files are the stylesheet, the scripts and the templates, by their paths.
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
