package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"govsvc/db/auth"
	"govsvc/web"
)

// fuzzedRoutes returns the pages and actions that FuzzPages requests. They exclude
// actions that end the session or that would resolve a fuzzed host name. FuzzURL checks
// those addresses.
func fuzzedRoutes() []web.PageRoute {
	return slices.DeleteFunc(routes(), func(r web.PageRoute) bool {
		apart := slices.ContainsFunc([]string{"/webhooks", "/account", "/signout", "/setup"}, func(path string) bool { return strings.HasPrefix(r.Path, path) })
		return r.Method == http.MethodPost && apart
	})
}

// FuzzPages sends any record, query, form, upload and further cookies to any page as
// an admin. The answer is a page of the site, and redirects stay on the site. No part
// of the input becomes markup.
func FuzzPages(f *testing.F) {
	routes := fuzzedRoutes()
	h := newHarness(f)
	add := func(method, path, id, query, form string) {
		at := slices.IndexFunc(routes, func(r web.PageRoute) bool { return r.Method == method && r.Path == path })
		if at < 0 {
			f.Fatalf("no %s %s", method, path)
		}
		f.Add(uint8(at), id, query, form, false, "govsvc_flash=PHhzcz4")
	}
	risk, _ := h.find("risk", "")["id"].(string)
	kpi, _ := h.find("kpi", "")["id"].(string)
	add("GET", "/risks", "", "q=%3Cxss%3E&severity=HIGH&sort=title&page=2", "")
	add("GET", "/risks", "", "after=x&before=%ff&cursor=AAAA&page=-1&sort=%00", "")
	add("GET", "/risks/{id}", risk, "", "")
	f.Add(uint8(0), "", "", "", false, "govsvc_flash=00") // invalid UTF-8
	add("GET", "/audit", "", "from=2026-10-01&until=x&actor=%3Cxss%3E&before=9223372036854775808", "")
	add("POST", "/risks", "", "", "title=%3Cxss%3E&description=What+may+happen%2C+and+why.&severity=HIGH&likelihood=RARE&target_date=2027-01-31")
	add("POST", "/risks/{id}", risk, "", "was-title=&title=%3Cxss%3E&target_date=31.1.2027")
	add("POST", "/incidents", "", "", "title=T&notification_required=true&notification_deadline=2026-12-31T23%3A59")
	add("POST", "/kpis/{id}/checkins", kpi, "", "value=1e999&period_start=2026-02-30&note=%3Cxss%3E")
	add("POST", "/keys/new", "", "", "name=%3Cxss%3E&scope=read%3Aall&expires=2026-02-30&rpm=99999999999")
	add("POST", "/signin", "", "next=%2F%2Fevil.example", "name=%3Cxss%3E&password=x&next=%2F%5Cevil.example")
	add("POST", "/organisation", "", "", "name=%ff")
	for _, path := range []string{"/import", "/evidence"} {
		at := slices.IndexFunc(routes, func(r web.PageRoute) bool { return r.Method == "POST" && r.Path == path })
		for _, form := range []string{
			part(`name="title"`, "<xss>") + part(`name="file"; filename="<xss>.ndjson"`, goodRisks) + "--x--\r\n",
			part(`name="type"`, "risk") + part(`name="file"; filename="a.csv"`, "risk_id,description\nR,<xss>\n") + "--x--\r\n",
			part(`name="file"; filename="../\x00\u2028"`, "") + "--x", "--x\r\n\r\n", "",
		} {
			f.Add(uint8(at), "", "", form, true, "")
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, id, query, form string, upload bool, cookies string) {
		route := routes[int(which)%len(routes)]
		r := httptest.NewRequestWithContext(t.Context(), route.Method, "/", strings.NewReader(form))
		r.URL = &url.URL{Path: strings.ReplaceAll(pathWithID(route), unknownID, id), RawQuery: query}
		r.RequestURI = r.URL.RequestURI()
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Cookie", "govsvc_session="+h.tokens[auth.Admin]+"; "+cookies)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if upload {
			r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		}
		w := httptest.NewRecorder()
		h.server.Config.Handler.ServeHTTP(w, r)
		about := []any{route.Method, r.RequestURI, form, w.Code}
		if w.Code >= 500 {
			t.Errorf("%q: %.2000s", about, h.log)
		}
		if to := w.Header().Get("Location"); to != "" && (!strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.HasPrefix(to, "/\\")) {
			t.Errorf("%q leads to %q", about, to)
		}
		if html := strings.HasPrefix(w.Header().Get("Content-Type"), "text/html"); html && (!utf8.Valid(w.Body.Bytes()) || strings.Contains(w.Body.String(), "<xss")) {
			t.Errorf("%q: %.3000s", about, w.Body)
		}
		if strings.HasPrefix(w.Header().Get("Location"), "/signin") && !strings.HasPrefix(route.Path, "/signin") {
			t.Errorf("%q ended the session", about)
		}
	})
}

// part returns a part of an upload.
func part(disposition, content string) string {
	return "--x\r\nContent-Disposition: form-data; " + disposition + "\r\n\r\n" + content + "\r\n"
}
