package web_test

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
	"govsvc/sandbox"
	"govsvc/server"
	"govsvc/server/limit"
	"govsvc/server/webhook"
	"govsvc/web"
	"govsvc/web/account"
	"govsvc/web/page"
)

// harness runs the dashboard and the API on loopback. It has a separate data file with
// a user of each role. Its clock moves only when a test advances it.
type harness struct {
	t         testing.TB
	path      string // path of the data file
	store     *db.DB
	auth      *auth.Service
	clock     *testkit.Clock
	log       *testkit.LogBuffer
	site      *web.Site
	server    *httptest.Server
	sender    *webhook.Sender // trusts the certificates of newReceiver
	url       string
	tokens    map[auth.Role]string // session tokens
	setupLink string               // path of the link for the first administrator, without users
}

// options configure a harness.
type options struct {
	data    *testdb.Template[tokens] // demoData by default
	tls     bool
	trusted string // network of the trusted proxies
	// searchTime is the maximum duration of a search. 0 means the default.
	searchTime time.Duration
	// perMinute is the number of requests that an address can make in a minute. 0 means
	// 6000.
	perMinute int
	// liveReference allows live keys in the API reference.
	liveReference bool
	// responses limits the memory of responses. nil means the default.
	responses *limit.Budget
}

// password is the password of all users of a harness. Each user's name is the role.
const password = "correct horse battery"

// tokens maps each role to the session token of its user.
type tokens map[auth.Role]string

var (
	// noData has no users and no records.
	noData = testdb.NewTemplate(testdb.Options(""), func(context.Context, *db.DB) (tokens, error) { return nil, nil }) //nolint:nilnil // no users
	// usersOnly has the users and a second organisation.
	usersOnly = testdb.NewTemplate(testdb.Options(""), addUsers)
	// demoData has the data of usersOnly and the demonstration records.
	demoData = testdb.NewTemplate(testdb.Options(""), func(ctx context.Context, store *db.DB) (tokens, error) {
		users, err := addUsers(ctx, store)
		if err != nil {
			return nil, err
		}
		return users, testdb.AddDemo(ctx, store)
	})
)

// addUsers adds a user of each role to two organisations and signs each user in.
func addUsers(ctx context.Context, store *db.DB) (tokens, error) {
	users := tokens{}
	by, service := db.Actor{ID: "system"}, auth.New(store)
	defer service.Close()
	subsidiary, err := store.Orgs.Create(ctx, by, "subsidiary", db.Business)
	if err != nil {
		return nil, err
	}
	for _, role := range auth.Roles() {
		if _, err := service.Users.Create(ctx, by, string(role), role, password); err != nil {
			return nil, err
		}
		token, _, err := service.Sessions.SignIn(ctx, auth.SignInAttempt{Name: string(role), Password: password, Address: "127.0.0.1"})
		if err != nil {
			return nil, err
		}
		users[role] = token
		if _, err := service.Memberships.Add(ctx, db.Actor{Org: subsidiary.Org, ID: "system"}, string(role), role); err != nil {
			return nil, err
		}
	}
	return users, nil
}

// routes returns the routes of all pages and actions.
func routes() []web.PageRoute {
	document, err := testkit.LoadDocument()
	if err != nil {
		panic(err)
	}
	return web.Routes(document)
}

// newHarness starts the service, with the demonstration organisation by default.
func newHarness(t testing.TB, settings ...options) *harness {
	t.Helper()
	set := options{}
	for _, one := range settings {
		set = one
	}
	if set.data == nil {
		set.data = demoData
	}
	path, users := set.data.Copy(t)
	h := &harness{t: t, path: path, clock: testkit.NewClock(testkit.Start), log: &testkit.LogBuffer{}, tokens: users}
	var err error
	if h.store, err = db.Open(t.Context(), db.Options{Path: path, Now: h.clock.Now, SearchTime: set.searchTime}); err != nil {
		t.Fatal(err)
	}
	h.auth = auth.New(h.store)
	t.Cleanup(func() {
		h.auth.Close()
		_ = h.store.Close()
	})
	h.serve(set)
	return h
}

// serve starts the server with the same setup as `govsvc serve`.
func (h *harness) serve(set options) {
	h.t.Helper()
	document := testkit.Document(h.t)
	h.server = httptest.NewUnstartedServer(nil)
	h.url = "http://" + h.server.Listener.Addr().String()
	if set.tls {
		h.url = "https" + strings.TrimPrefix(h.url, "http")
	}
	proxies := server.Proxies{}
	if set.trusted != "" {
		proxies = append(proxies, netip.MustParsePrefix(set.trusted))
	}
	logger := slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	sender, err := webhook.NewSender(webhook.SenderConfig{Version: "test", Now: h.clock.Now, Allow: webhook.Loopback, Roots: testkit.ReceiverRoot()})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(sender.Close)
	h.sender = sender
	config := web.Config{Config: page.Config{
		Store: h.store, Auth: h.auth, Document: document, Logger: logger, Receivers: sender, Responses: set.responses,
		Service: page.Service{
			BaseURL: h.url, Version: "test", Commit: "0123abc", AnonymousPerMinute: cmp.Or(set.perMinute, 6000), KeepAnswers: 16 << 20,
			LiveReference: set.liveReference,
		},
		ClientAddress: proxies.ClientAddress, ClientGroup: proxies.ClientGroup, Secure: proxies.Secure,
	}}
	if len(h.tokens) == 0 {
		link, token := account.NewFirstLink(h.clock.Now)
		config.FirstLink, h.setupLink = link, account.FirstLinkPath(token)
	}
	if h.site, err = web.New(config); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(h.site.Close)
	handler, err := server.New(h.t.Context(), server.Config{
		Store: h.store, Document: document, Logger: logger, Receivers: sender, BaseURL: h.url, Version: "test", Pages: h.site,
		TrustedProxies: proxies, Sessions: h.auth.Sessions, Sandbox: openSandbox(h.t),
	})
	if err != nil {
		h.t.Fatal(err)
	}
	h.server.Config.Handler = handler
	if set.tls {
		h.server.StartTLS()
	} else {
		h.server.Start()
	}
	h.t.Cleanup(h.server.Close)
}

// openSandbox returns the function that opens the data file for test keys.
func openSandbox(t testing.TB) func() (*db.DB, error) {
	return func() (*db.DB, error) {
		document, err := testkit.LoadDocument()
		if err != nil {
			return nil, err
		}
		set, err := sandbox.Open(context.WithoutCancel(t.Context()), document)
		if err != nil {
			return nil, err
		}
		testkit.CloseAfter(t, set.Close)
		return set.DB, nil
	}
}

// client is an HTTP client that runs no scripts. It keeps cookies and does not follow
// redirects.
type client struct {
	*harness
	http   *http.Client
	header http.Header // sent with each request
}

// response is an HTTP response of the service.
type response struct {
	status int
	header http.Header
	body   string
}

// anonymous returns a client without a session.
func (h *harness) anonymous() *client {
	h.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	browser := *h.server.Client()
	browser.Jar = jar
	browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client{harness: h, http: &browser, header: http.Header{"Accept": {"text/html"}, "Sec-Fetch-Site": {"same-origin"}}}
}

// as returns a client with a session of a role, and without a session for "".
func (h *harness) as(role auth.Role) *client {
	h.t.Helper()
	c := h.anonymous()
	if role != "" {
		c.setCookie("govsvc_session", h.tokens[role])
	}
	return c
}

func (c *client) setCookie(name, value string) {
	at, _ := url.Parse(c.url)
	c.http.Jar.SetCookies(at, []*http.Cookie{{Name: name, Value: value}})
}

// cookie returns the value of a cookie of the client, or "".
func (c *client) cookie(name string) string {
	at, _ := url.Parse(c.url)
	for _, cookie := range c.http.Jar.Cookies(at) {
		if cookie.Name == name {
			return cookie.Value
		}
	}
	return ""
}

func (c *client) get(path string) response { return c.do(http.MethodGet, path, "", "") }

// post sends a form, given as names and values.
func (c *client) post(path string, pairs ...string) response {
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		values.Add(pairs[i], pairs[i+1])
	}
	return c.do(http.MethodPost, path, "application/x-www-form-urlencoded", values.Encode())
}

func (c *client) do(method, path, contentType, body string) response {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	for name, values := range c.header {
		request.Header[name] = values
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	return c.send(c.http, request)
}

// send sends a request and reads the response.
func (h *harness) send(client *http.Client, request *http.Request) response {
	h.t.Helper()
	resp, err := client.Do(request)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return response{resp.StatusCode, resp.Header, string(text)}
}

// follow expects a redirect to a path and returns the page there.
func (c *client) follow(r response, to string) response {
	c.t.Helper()
	at := r.header.Get("Location")
	path, _, _ := strings.Cut(at, "?")
	if r.status != http.StatusSeeOther || path != to && at != to {
		c.t.Fatalf("got status %d to %q, want 303 to %s:\n%.2000s", r.status, at, to, r.body)
	}
	return c.get(at)
}

// expect checks the status of a response, what its body contains, and what it does
// not contain ("!…").
func (c *client) expect(r response, status int, texts ...string) {
	c.t.Helper()
	if r.status != status {
		c.t.Errorf("got status %d, want %d:\n%.3000s", r.status, status, r.body)
	}
	for _, text := range texts {
		if unwanted, not := strings.CutPrefix(text, "!"); not == strings.Contains(r.body, unwanted) {
			c.t.Errorf("want %q in:\n%.3000s", text, r.body)
		}
	}
}

// hasAuditEvent reports whether the audit log has an action by the user with a role.
func (h *harness) hasAuditEvent(action string, role auth.Role) bool {
	h.t.Helper()
	user := h.user(string(role))
	for event := range strings.Lines(h.auditLog()) {
		if strings.Contains(event, `"action":"`+action+`"`) && strings.Contains(event, `"actor":"`+user.ID+`"`) {
			return true
		}
	}
	return false
}

// expectAuditEvents checks that the audit log has each action by the admin.
func (h *harness) expectAuditEvents(actions ...string) {
	h.t.Helper()
	for _, action := range actions {
		if !h.hasAuditEvent(action, auth.Admin) {
			h.t.Errorf("the audit log has no %s event by the admin", action)
		}
	}
}
