package web_test

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/internal/testkit"
	"govsvc/sandbox"
	"govsvc/server"
	"govsvc/server/limit"
	"govsvc/server/openapi"
	"govsvc/server/transfer"
	"govsvc/server/webhook"
	"govsvc/web"
	"govsvc/web/account"
)

// scene is the whole service on loopback, dashboard and API, over a data file
// of its own with a user of each role. Its clock stands still.
type scene struct {
	t      testing.TB
	path   string // of the data file
	store  *db.DB
	auth   *auth.Service
	clock  *clock
	log    *transcript
	server *httptest.Server
	sender *webhook.Sender // trusts the receivers of newReceiver
	url    string
	tokens map[auth.Role]string // of a session of each role
	link   string               // for making the first admin, in an empty scene
}

// setting is what a scene can differ in.
type setting struct {
	data    func() (prepared, error) // demo, unless it says otherwise
	tls     bool
	trusted string // a network of proxies
	// searchTime bounds searches; 0 is the default.
	searchTime time.Duration
	// perMinute is how many requests an address may make; 0 is 6000.
	perMinute int
	// responses bounds the memory of responses; nil is the default.
	responses *limit.Budget
	// wrap stands something else before the site.
	wrap func(*web.Site) server.Pages
}

// password is that of all users of a scene; their names are their roles.
const password = "correct horse battery"

var start = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

// clock is a scene's time; it stands still until a test moves it.
type clock struct {
	mutex sync.Mutex
	now   time.Time
}

func (c *clock) Now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.now = c.now.Add(d)
}

// transcript keeps what the service logs.
type transcript struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (l *transcript) Write(p []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(p)
}

func (l *transcript) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}

// openSandbox is the data set of test keys, opened by the first of them.
func openSandbox(t testing.TB) func() (*db.DB, error) {
	return func() (*db.DB, error) {
		compiled, err := document()
		if err != nil {
			return nil, err
		}
		set, err := sandbox.Open(context.WithoutCancel(t.Context()), compiled)
		if err != nil {
			return nil, err
		}
		testkit.CloseAfter(t, set.Close)
		return set.DB, nil
	}
}

// document is compiled once for all tests.
var document = sync.OnceValues(openapi.Load)

// routes lists all pages and actions.
func routes() []web.PageRoute {
	doc, err := document()
	if err != nil {
		panic(err)
	}
	return web.Routes(doc)
}

// prepared is a data file to copy: to migrate and fill one, and to hash its
// users' passwords, takes longer than most tests.
type prepared struct {
	data   []byte
	tokens map[auth.Role]string
}

var (
	// nobodyYet has no user and no record.
	nobodyYet = sync.OnceValues(func() (prepared, error) { return prepare(false, false) })
	// noRecords has the users and a second organisation.
	noRecords = sync.OnceValues(func() (prepared, error) { return prepare(true, false) })
	// demo has the demonstration organisation, too.
	demo = sync.OnceValues(func() (prepared, error) { return prepare(true, true) })
)

func prepare(users, records bool) (made prepared, err error) {
	folder, err := os.MkdirTemp("", "govsvc-web-")
	if err != nil {
		return made, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path, ctx := filepath.Join(folder, "govsvc.db"), context.Background()
	store, err := db.Open(ctx, db.Options{Path: path, Now: (&clock{now: start}).Now})
	if err != nil {
		return made, err
	}
	if users {
		if made.tokens, err = addUsers(ctx, store); err != nil {
			return made, err
		}
	}
	if records {
		if err := addRecords(ctx, store); err != nil {
			return made, err
		}
	}
	if err := errors.Join(checkpoint(ctx, path), store.Close()); err != nil {
		return made, err
	}
	made.data, err = os.ReadFile(path)
	return made, err
}

func addUsers(ctx context.Context, store *db.DB) (map[auth.Role]string, error) {
	tokens := map[auth.Role]string{}
	by, people := db.Actor{ID: "system"}, auth.New(store)
	subsidiary, err := store.Orgs.Create(ctx, by, "subsidiary", db.Business)
	if err != nil {
		return nil, err
	}
	for _, role := range auth.Roles() {
		if _, err := people.Users.Create(ctx, by, string(role), role, password); err != nil {
			return nil, err
		}
		token, _, err := people.Sessions.SignIn(ctx, auth.SignInAttempt{Name: string(role), Password: password, Address: "127.0.0.1"})
		if err != nil {
			return nil, err
		}
		tokens[role] = token
		if _, err := people.Memberships.Add(ctx, db.Actor{Org: subsidiary.Org, ID: "system"}, string(role), role); err != nil {
			return nil, err
		}
	}
	return tokens, nil
}

func addRecords(ctx context.Context, store *db.DB) error {
	org, err := store.Orgs.ByName(ctx, db.DefaultOrganisation)
	if err != nil {
		return err
	}
	doc, err := document()
	if err != nil {
		return err
	}
	_, err = transfer.Import(ctx, store, doc, db.Actor{Org: org.Org, ID: "system"}, []transfer.Source{sandbox.Demo()}, transfer.Options{})
	return err
}

// checkpoint brings all of a data file into the one file that is copied.
func checkpoint(ctx context.Context, path string) error {
	file, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return err
	}
	_, err = file.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return errors.Join(err, file.Close())
}

// newScene starts a service: with the demonstration organisation, or as the
// setting says.
func newScene(t testing.TB, settings ...setting) *scene {
	t.Helper()
	set := setting{}
	for _, one := range settings {
		set = one
	}
	if set.data == nil {
		set.data = demo
	}
	from, err := set.data()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "govsvc.db")
	if err := os.WriteFile(path, from.data, 0o600); err != nil {
		t.Fatal(err)
	}
	s := &scene{t: t, path: path, clock: &clock{now: start}, log: &transcript{}, tokens: from.tokens}
	if s.store, err = db.Open(t.Context(), db.Options{Path: path, Now: s.clock.Now, SearchTime: set.searchTime}); err != nil {
		t.Fatal(err)
	}
	s.auth = auth.New(s.store)
	t.Cleanup(func() {
		s.auth.Close()
		_ = s.store.Close()
	})
	s.serve(set)
	return s
}

// serve starts the server, as `govsvc serve` puts it together.
func (s *scene) serve(set setting) {
	s.t.Helper()
	doc, err := document()
	if err != nil {
		s.t.Fatal(err)
	}
	s.server = httptest.NewUnstartedServer(nil)
	s.url = "http://" + s.server.Listener.Addr().String()
	if set.tls {
		s.url = "https" + strings.TrimPrefix(s.url, "http")
	}
	proxies := server.Proxies{}
	if set.trusted != "" {
		proxies = append(proxies, netip.MustParsePrefix(set.trusted))
	}
	logger := slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	sender, err := webhook.NewSender(webhook.SenderConfig{Version: "test", Now: s.clock.Now, Allow: webhook.Loopback, Roots: receiverRoot()})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(sender.Close)
	s.sender = sender
	config := web.Config{
		Store: s.store, Auth: s.auth, Document: doc, Logger: logger, Receivers: sender, BaseURL: s.url, Version: "test",
		Commit: "0123abc", AnonymousPerMinute: cmp.Or(set.perMinute, 6000), KeepAnswers: 16 << 20, ClientAddress: proxies.ClientAddress, ClientGroup: proxies.ClientGroup, Secure: proxies.Secure, Responses: set.responses,
	}
	if len(s.tokens) == 0 {
		link, token := account.NewFirstLink(s.clock.Now)
		config.FirstLink, s.link = link, account.FirstLinkPath(token)
	}
	site, err := web.New(config)
	if err != nil {
		s.t.Fatal(err)
	}
	pages := server.Pages(site)
	if set.wrap != nil {
		pages = set.wrap(site)
	}
	handler, err := server.New(s.t.Context(), server.Config{
		Store: s.store, Document: doc, Logger: logger, Receivers: sender, BaseURL: s.url, Version: "test", Pages: pages,
		TrustedProxies: proxies, Sessions: s.auth.Sessions, Sandbox: openSandbox(s.t),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.server.Config.Handler = handler
	if set.tls {
		s.server.StartTLS()
	} else {
		s.server.Start()
	}
	s.t.Cleanup(s.server.Close)
}

// guest is a browser without script: it keeps cookies and follows no redirect.
type guest struct {
	*scene
	client *http.Client
	header http.Header // sent with each request
}

// reply is an answer.
type reply struct {
	status int
	header http.Header
	body   string
}

// guest is somebody who has not signed in.
func (s *scene) guest() *guest {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	client := *s.server.Client()
	client.Jar = jar
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &guest{scene: s, client: &client, header: http.Header{"Accept": {"text/html"}, "Sec-Fetch-Site": {"same-origin"}}}
}

// as is somebody who has signed in with a role; a guest for "".
func (s *scene) as(role auth.Role) *guest {
	s.t.Helper()
	g := s.guest()
	if role != "" {
		g.setCookie("govsvc_session", s.tokens[role])
	}
	return g
}

func (g *guest) setCookie(name, value string) {
	at, _ := url.Parse(g.url)
	g.client.Jar.SetCookies(at, []*http.Cookie{{Name: name, Value: value}})
}

// cookie is a cookie that the browser would send.
func (g *guest) cookie(name string) string {
	at, _ := url.Parse(g.url)
	for _, c := range g.client.Jar.Cookies(at) {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

func (g *guest) get(path string) reply { return g.do(http.MethodGet, path, "", "") }

// post sends a form, given as names and values.
func (g *guest) post(path string, pairs ...string) reply {
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		values.Add(pairs[i], pairs[i+1])
	}
	return g.do(http.MethodPost, path, "application/x-www-form-urlencoded", values.Encode())
}

func (g *guest) do(method, path, contentType, body string) reply {
	g.t.Helper()
	request, err := http.NewRequestWithContext(g.t.Context(), method, g.url+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	for name, values := range g.header {
		request.Header[name] = values
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := g.client.Do(request)
	if err != nil {
		g.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return reply{response.StatusCode, response.Header, string(text)}
}

// leads wants a redirect to a path and returns what is there.
func (g *guest) leads(r reply, to string) reply {
	g.t.Helper()
	at := r.header.Get("Location")
	path, _, _ := strings.Cut(at, "?")
	if r.status != http.StatusSeeOther || path != to && at != to {
		g.t.Fatalf("%d to %q, want 303 to %s:\n%.2000s", r.status, at, to, r.body)
	}
	return g.get(at)
}

// wants checks a status and what the page has and has not ("!…").
func (g *guest) wants(r reply, status int, texts ...string) {
	g.t.Helper()
	if r.status != status {
		g.t.Errorf("status %d, want %d:\n%.3000s", r.status, status, r.body)
	}
	for _, text := range texts {
		if unwanted, not := strings.CutPrefix(text, "!"); not == strings.Contains(r.body, unwanted) {
			g.t.Errorf("want %q in:\n%.3000s", text, r.body)
		}
	}
}
