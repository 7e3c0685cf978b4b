package cmd_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"govsvc/cmd"
)

// TestFirstAdmin opens the link that serve prints where there is no user yet,
// and makes the first with it.
func TestFirstAdmin(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	link, end := c.firstLink()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	at, err := url.Parse(link)
	if err != nil || at.Path != "/setup" {
		t.Fatalf("%q, %v", link, err)
	}
	form := url.Values{"token": at.Query()["token"], "name": {"ada"}, "password": {"correct horse battery"}, "password-again": {"correct horse battery"}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+at.Host+at.Path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(page), "<h1>Overview</h1>") {
		t.Errorf("%s, %v:\n%s", response.Status, err, page)
	}
	end()
	again, end := c.firstLink()
	if again != "" {
		t.Errorf("a link although there is a user: %q", again)
	}
	end()
}

// firstLink starts a server and returns the link of its second line, "" if
// there is none, and what ends the server.
func (c *cli) firstLink() (link string, end func()) {
	c.t.Helper()
	ctx, stop := context.WithCancel(c.t.Context())
	stdout, w := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		status := cmd.Run(ctx, []string{"serve", "--addr", "127.0.0.1:0"}, nil, w, io.Discard, c.lookup)
		_ = w.Close()
		ended <- status
	}()
	lines := bufio.NewReader(stdout)
	if first, err := lines.ReadString('\n'); err != nil || !strings.HasPrefix(first, "listening on http://") {
		c.t.Fatalf("first line %q, %v", first, err)
	}
	if lines.Buffered() > 0 { // both lines are one write
		second, err := lines.ReadString('\n')
		found, ok := strings.CutPrefix(strings.TrimSuffix(second, "\n"), "first admin: ")
		if err != nil || !ok {
			c.t.Fatalf("second line %q, %v", second, err)
		}
		link = found
	}
	return link, func() {
		stop()
		if status := <-ended; status != 0 {
			c.t.Errorf("status %d", status)
		}
	}
}
