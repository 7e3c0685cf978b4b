package web_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"govsvc/db/auth"
	"govsvc/server/limit"
)

// TestLists_PagesOfLargeRecords checks that a page of a list has fewer records if they are
// large. Together the pages contain every record once. The link to the previous page
// works, too.
func TestLists_PagesOfLargeRecords(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	var lines []string
	for i := range 60 {
		lines = append(lines, fmt.Sprintf(`{"object":"risk","risk_id":"LARGE-%02d","title":"Large one","description":%q,"severity":"LOW","status":"Open"}`, i, strings.Repeat("€", 19_000)))
	}
	h.importRecords(lines...)
	c := h.as(auth.Viewer)
	name := regexp.MustCompile(`LARGE-[0-9]{2}`)
	link := func(page, label string) string {
		found := regexp.MustCompile(`href="([^"]*cursor=[^"]*)"[^>]*>[^<]*` + label).FindStringSubmatch(page)
		if found == nil {
			return ""
		}
		return strings.ReplaceAll(found[1], "&amp;", "&")
	}
	seen, pages := map[string]bool{}, []string{}
	for path := "/risks?q=large"; path != "" && len(pages) < 20; {
		r := c.get(path)
		if r.status != 200 {
			t.Fatalf("%s: got status %d, want 200", path, r.status)
		}
		here := map[string]bool{}
		for _, id := range name.FindAllString(r.body, -1) {
			here[id] = true
		}
		for id := range here {
			if seen[id] {
				t.Errorf("%s is on two pages", id)
			}
			seen[id] = true
		}
		if len(here) == 0 || len(here) > 20 {
			t.Errorf("a page has %d records of 57 KB, want as many as 1 MB holds", len(here))
		}
		pages = append(pages, path)
		path = link(r.body, "Next")
	}
	if len(seen) != 60 || len(pages) < 3 {
		t.Errorf("got %d records on %d pages, want 60 on at least 3", len(seen), len(pages))
	}
	c.expect(c.get(link(c.get(pages[2]).body, "Previous")), 200, "LARGE-")
}

// TestProblemPages_HoldNoMemory requests many error pages. Each of them must release
// its part of the memory budget.
func TestProblemPages_HoldNoMemory(t *testing.T) {
	t.Parallel()
	h := newHarness(t, options{responses: limit.NewBudget(6<<20, time.Second), perMinute: 100_000})
	c := h.as(auth.Viewer)
	sent := 0
	for range 600 {
		r := c.get("/risks/00000000-0000-7000-8000-00000000dead")
		if r.status != 404 {
			t.Fatalf("got status %d after %d bytes of pages, want 404", r.status, sent)
		}
		sent += len(r.body)
	}
	if sent < 1<<20 {
		t.Errorf("the pages have %d bytes in total, want at least 1 MiB", sent)
	}
	c.expect(c.get("/risks"), 200)
}

// TestRequestsInProgress_Limited checks that a user can have 32 requests in progress. A
// further request is refused until one of them ends. Other users are not affected.
func TestRequestsInProgress_Limited(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	c, other := h.as(auth.Editor), h.as(auth.Viewer)
	var conns []net.Conn
	for range 32 {
		conns = append(conns, c.beginForm("/risks"))
	}
	r := c.get("/account")
	c.expect(r, 429, "Too much at once")
	if r.header.Get("Retry-After") != "1" {
		t.Errorf("got Retry-After %q, want 1", r.header.Get("Retry-After"))
	}
	other.expect(other.get("/account"), 200)
	for _, conn := range conns {
		_ = conn.Close()
	}
	for until := time.Now().Add(time.Minute); r.status != 200 && time.Now().Before(until); {
		r = c.get("/account") // the server notices the end of a connection a little later
	}
	c.expect(r, 200)
}

// beginForm sends the head of a form and returns when the server reads its body.
func (c *client) beginForm(path string) net.Conn {
	c.t.Helper()
	host := strings.TrimPrefix(c.url, "http://")
	conn, err := new(net.Dialer).DialContext(c.t.Context(), "tcp", host)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: "+host+"\r\nCookie: govsvc_session="+c.cookie("govsvc_session")+
		"\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n")
	if err != nil {
		c.t.Fatal(err)
	}
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, " 100 ") {
		c.t.Fatalf("got %q, %v for the head of a form, want status 100", line, err)
	}
	return conn
}
