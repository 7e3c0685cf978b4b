package server_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/audit"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
	"govsvc/server"
	"govsvc/server/openapi"
)

// start is when the clocks of tests start.
var start = testkit.Start

// service is a server on loopback over a separate data file.
type service struct {
	store  *db.DB
	clock  *testkit.Clock
	log    *testkit.LogBuffer
	config server.Config
	server *server.Server
	url    string              // of the API
	spare  map[string][]string // spare keys of the copied file, by kind
}

// setting changes the configuration before the server is made.
type setting func(*server.Config)

// serve starts a service over a file without data.
func serve(t testing.TB, settings ...setting) *service {
	t.Helper()
	return serveCopy(t, emptyFile, settings)
}

// serveFixtures starts a service whose default organisation has the fixtures.
func serveFixtures(t testing.TB, settings ...setting) *service {
	t.Helper()
	return serveCopy(t, filledFile, settings)
}

func serveCopy(t testing.TB, of *testdb.Template[keysByKind], settings []setting) *service {
	t.Helper()
	path, keys := of.Copy(t)
	s := serveFile(t, path, testkit.NewClock(start), settings...)
	s.spare = maps.Clone(keys)
	return s
}

// serveFile starts a service over the file at path.
func serveFile(t testing.TB, path string, c *testkit.Clock, settings ...setting) *service {
	t.Helper()
	s := &service{store: openStore(t, path, c), clock: c, log: &testkit.LogBuffer{}}
	s.config = server.Config{
		Store: s.store, Document: testkit.Document(t), BaseURL: "https://gov.example", CacheBytes: 1 << 20,
		Sandbox: func() (*db.DB, error) { return nil, errors.New("this test has no sandbox") },
		Logger:  slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, set := range settings {
		set(&s.config)
	}
	s.restart(t)
	return s
}

// serveWaiting starts a service over a file without data. Its writes wait only briefly
// if the file is locked.
func serveWaiting(t testing.TB) *service {
	t.Helper()
	path, keys := emptyFile.Copy(t)
	c := testkit.NewClock(start)
	s := serveFile(t, path, c, withStore(openWaiting(t, path, c, 50*time.Millisecond)))
	s.spare = maps.Clone(keys)
	return s
}

// restart creates another server over the same file, like a new process.
func (s *service) restart(t testing.TB) {
	t.Helper()
	made, err := server.New(t.Context(), s.config)
	if err != nil {
		t.Fatal(err)
	}
	listening := httptest.NewServer(made)
	t.Cleanup(listening.Close)
	s.server, s.url = made, listening.URL+server.Base
}

func openStore(t testing.TB, path string, c *testkit.Clock) *db.DB {
	t.Helper()
	return openWaiting(t, path, c, 0)
}

// openWaiting opens a store whose writes wait for a locked file for at most the given
// time; 0 means the usual time.
func openWaiting(t testing.TB, path string, c *testkit.Clock, wait time.Duration) *db.DB {
	t.Helper()
	store, err := db.Open(t.Context(), db.Options{Path: path, Now: c.Now, Wait: wait})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	testdb.Verify(t, store)
	return store
}

// planTerms are those of an organisation that calls.
type planTerms struct {
	plan         db.Plan
	subscription db.Subscription
}

func withSandbox(open func() (*db.DB, error)) setting {
	return func(c *server.Config) { c.Sandbox = open }
}

func withAnonymous(perMinute int) setting {
	return func(c *server.Config) { c.AnonymousPerMinute = perMinute }
}

// organisation returns the organisation of a name. It creates the organisation if
// needed.
func organisation(t testing.TB, store *db.DB, name string) db.Organisation {
	t.Helper()
	org, err := store.Orgs.ByName(t.Context(), name)
	if db.Is(err, db.NotFound) {
		org, err = store.Orgs.Create(t.Context(), db.Actor{ID: "system"}, name, db.Enterprise)
	}
	if err != nil {
		t.Fatal(err)
	}
	return org
}

// by returns the operator as the actor of changes in an organisation.
func by(t testing.TB, store *db.DB, name string) db.Actor {
	t.Helper()
	return db.Actor{Org: organisation(t, store, name).Org, ID: "system"}
}

// setPlan sets the plan and the subscription of the default organisation.
func (s *service) setPlan(t testing.TB, plan db.Plan, subscription db.Subscription) {
	t.Helper()
	setPlanOf(t, s.store, plan, subscription)
}

func setPlanOf(t testing.TB, store *db.DB, plan db.Plan, subscription db.Subscription) {
	t.Helper()
	if _, err := store.Orgs.SetPlan(t.Context(), by(t, store, db.DefaultOrganisation), db.DefaultOrganisation, plan, subscription); err != nil {
		t.Fatal(err)
	}
}

// key mints a live key of the default organisation that no limit stops.
func (s *service) key(t testing.TB, scopes ...string) string {
	t.Helper()
	_, plain := s.mint(t, db.DefaultOrganisation, db.KeyDraft{Scopes: scopes, PerMinute: new(100_000)})
	return plain
}

// mint returns a key. If the file still has a spare key, mint uses it. The server has
// spare keys in its cache, so that the test computes no hash. After restart such a key
// is verified like any other.
func (s *service) mint(t testing.TB, org string, draft db.KeyDraft) (db.Key, string) {
	t.Helper()
	if draft.Name == "" {
		draft.Name = "a test's key"
	}
	if draft.Kind == "" {
		draft.Kind = db.LiveKey
	}
	if len(s.spare[draft.Kind]) > 0 {
		plain := s.spare[draft.Kind][0]
		s.spare[draft.Kind] = s.spare[draft.Kind][1:]
		made := s.redraft(t, plain, organisation(t, s.store, org), draft)
		s.server.Verified(plain, made.ID)
		return made, plain
	}
	made, plain, err := s.store.Keys.Mint(t.Context(), by(t, s.store, org), draft)
	if err != nil {
		t.Fatal(err)
	}
	return made, plain
}

// redraft replaces all settings of a key except the secret. Users can't do this. It
// takes less time than to create a key, which computes a hash.
func (s *service) redraft(t testing.TB, plain string, org db.Organisation, draft db.KeyDraft) db.Key {
	t.Helper()
	var expires *string
	if draft.ExpiresAt != nil {
		expires = new(stored(*draft.ExpiresAt))
	}
	prefix := prefixOf(plain)
	_, err := testkit.OpenSQL(t, s.store.File.Path()).ExecContext(t.Context(),
		"UPDATE api_keys SET org_id = ?, name = ?, scopes = ?, per_minute = ?, per_day = ?, expires_at = ? WHERE prefix = ?",
		org.Org, draft.Name, `["`+strings.Join(draft.Scopes, `", "`)+`"]`, draft.PerMinute, draft.PerDay, expires, prefix)
	if err != nil {
		t.Fatal(err)
	}
	return findKey(t, s.store, plain)
}

// prefixOf returns the part of a key that identifies its row.
func prefixOf(plain string) string { return plain[:len("gds_live_")+12] }

func findKey(t testing.TB, store *db.DB, plain string) db.Key {
	t.Helper()
	found, err := store.Keys.ByPrefix(t.Context(), prefixOf(plain))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	return found[0].Key
}

// readScopes are all scopes that a read can ask for, otherScopes the remaining ones.
var (
	readScopes  = slices.Clip(slices.DeleteFunc(openapi.Scopes(), isOtherScope))
	otherScopes = slices.Clip(slices.DeleteFunc(openapi.Scopes(), func(scope string) bool { return !isOtherScope(scope) }))
)

func isOtherScope(scope string) bool {
	return scope == "read:all" || !strings.HasPrefix(scope, "read:")
}

// reads returns the operations under test: those that read an organisation's data.
func reads(t testing.TB) []*openapi.Operation {
	t.Helper()
	var list []*openapi.Operation
	for _, op := range testkit.Document(t).Operations {
		if op.Method == "GET" && !op.Public && op.Scope != "manage:webhooks" {
			list = append(list, op)
		}
	}
	return list
}

// audited runs a change whose audit event has no details.
func audited(ctx context.Context, store *db.DB, by db.Actor, run func(*db.Tx) error) error {
	return store.Write(ctx, by, func(tx *db.Tx) error {
		if err := run(tx); err != nil {
			return err
		}
		return tx.Audit(audit.Event{Action: "test.changed", Category: audit.DataChange, Severity: audit.SeverityWrite})
	})
}

func withStore(store *db.DB) setting {
	return func(c *server.Config) { c.Store = store }
}

// lock holds the write lock of the file, like another process, until release is called.
func lock(t testing.TB, path string) (release func()) {
	t.Helper()
	tx, err := testkit.OpenSQL(t, path).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return func() { _ = tx.Rollback() }
}
