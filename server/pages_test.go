package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"govsvc/server"
)

// onePage serves the path /page, with every method.
type onePage struct{}

func (onePage) Knows(r *http.Request) bool { return r.URL.Path == "/page" || r.URL.Path == "/api/page" }

func (onePage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(w, "the page for %s %s", r.Method, r.URL.Path)
}

// TestPages_ServeOtherPaths checks that the pages get every request outside the path of
// the API. For an unknown path, the pages answer browsers and the server answers
// programs.
func TestPages_ServeOtherPaths(t *testing.T) {
	t.Parallel()
	s := serve(t, func(c *server.Config) { c.Pages = onePage{} })
	for _, test := range []struct {
		method, path, accept string
		page                 bool
	}{
		{"GET", "/page", "", true},
		{"GET", "/page", "application/json", true},
		{"POST", "/page", "", true},
		{"GET", "/nothing", "", false},
		{"GET", "/nothing", "*/*", false},
		{"GET", "/nothing", "text/html,application/xhtml+xml,*/*;q=0.8", true},
		{"GET", "/", "text/html", true},
		{"GET", "/api", "text/html", false},
		{"GET", "/api/page", "text/html", false},
		{"GET", "/api/v1/nothing", "text/html", false},
		{"GET", "/.well-known/page", "text/html", false},
		{"GET", "/apiary", "text/html", true},
	} {
		request, err := http.NewRequestWithContext(t.Context(), test.method, strings.TrimSuffix(s.url, server.Base)+test.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if test.accept != "" {
			request.Header.Set("Accept", test.accept)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		got := response.Header.Get("Content-Type")
		if page := got == "text/html"; page != test.page || !page && got != "application/json" {
			t.Errorf("%s %s, accepting %q: %d %s", test.method, test.path, test.accept, response.StatusCode, got)
		}
	}
}
