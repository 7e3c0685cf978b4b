package cmd_test

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"govsvc/internal/testkit"
)

// TestServe_PrintsLinkForFirstAdmin opens the link that serve prints while no user exists,
// and creates the first user with it.
func TestServe_PrintsLinkForFirstAdmin(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	link, s := serveFirstLink(c)
	jar, err := cookiejar.New(nil)
	must(t, err)
	client := &http.Client{Jar: jar}
	at, err := url.Parse(link)
	if err != nil || at.Path != "/setup" {
		t.Fatalf("%q, %v", link, err)
	}
	form := url.Values{"token": at.Query()["token"], "name": {"ada"}, "password": {"correct horse battery"}, "password-again": {"correct horse battery"}}
	if r := c.submit(client, "http://"+at.Host+at.Path, form); r.status != http.StatusOK || !strings.Contains(r.body, "<h1>Overview</h1>") {
		t.Errorf("status %d:\n%s", r.status, r.body)
	}
	s.end()
	again, s := serveFirstLink(c)
	if again != "" {
		t.Errorf("a link although there is a user: %q", again)
	}
	s.end()
}

// TestServe_PrintsFirstLinkWithDomain checks that the link has the domain and no port.
func TestServe_PrintsFirstLinkWithDomain(t *testing.T) {
	t.Parallel()
	link, s := serveFirstLink(newCLI(t), "--domain", "gov.example.com", "--acme-directory", "https://127.0.0.1:1/dir")
	if !strings.HasPrefix(link, "https://gov.example.com/setup?token=") {
		t.Error(link)
	}
	// The request to the authority can't be stopped, and writes to the test's
	// folder.
	testkit.Eventually(t, func() bool { return strings.Contains(s.stderr.String(), "no certificate yet") }, "the authority to be asked; log: %s", s.stderr)
	s.end()
}

// serveFirstLink starts a server and returns the link in its second line, or ""
// if there is none.
func serveFirstLink(c *cli, flags ...string) (link string, s *background) {
	c.t.Helper()
	s = c.begin(append([]string{"serve", "--addr", "127.0.0.1:0"}, flags...)...)
	s.line("listening on ")
	_, second, _ := strings.Cut(s.stdout.String(), "\n") // both lines are written together
	link, ok := strings.CutPrefix(strings.TrimSuffix(second, "\n"), "first admin: ")
	if second != "" && !ok {
		c.t.Fatalf("second line %q", second)
	}
	return link, s
}
