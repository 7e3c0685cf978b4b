package auth_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/auth"
)

const (
	rightPassword = "plain tulips at noon"
	otherPassword = "seven quiet harbours"
)

// clock stands still until it is moved.
type clock struct {
	mutex sync.Mutex
	at    time.Time
}

func (c *clock) now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.at = c.at.Add(d)
}

// house is a data file with people in it.
type house struct {
	*db.DB
	*clock
	auth *auth.Service
	t    *testing.T
	path string
	org  db.Organisation
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, clock: &clock{at: at}, path: newPath(t)}
	h.reopen()
	h.org = defaultOrg(t, h.DB)
	return h
}

// reopen ends the process, so to say, and starts another.
func (h *house) reopen() {
	h.t.Helper()
	if h.DB != nil {
		h.auth.Close()
		if err := h.Close(); err != nil {
			h.t.Fatal(err)
		}
	}
	store, err := db.Open(h.t.Context(), db.Options{Path: h.path, Wait: time.Minute, Now: h.now})
	if err != nil {
		h.t.Fatal(err)
	}
	people := auth.New(store)
	h.t.Cleanup(func() {
		people.Close()
		_ = store.Close()
	})
	h.DB, h.auth = store, people
}

// by is the operator at the command line.
func (h *house) by() db.Actor { return db.Actor{ID: "system"} }

func (h *house) user(name string, role auth.Role) auth.User {
	h.t.Helper()
	u, err := h.auth.Users.Create(h.t.Context(), h.by(), name, role, rightPassword)
	if err != nil {
		h.t.Fatal(err)
	}
	return u
}

// member makes a user that exists a member of another organisation.
func (h *house) member(org, name string, role auth.Role) {
	h.t.Helper()
	o, err := h.Organisation(h.t.Context(), org)
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := h.auth.Memberships.Add(h.t.Context(), db.Actor{Org: o.Org, ID: "system"}, name, role); err != nil {
		h.t.Fatal(err)
	}
}

// signIn signs in with a right password.
func (h *house) signIn(name string) (token string, s auth.Session) {
	h.t.Helper()
	token, s, err := h.auth.Sessions.SignIn(h.t.Context(), auth.SignInAttempt{Name: name, Password: rightPassword})
	if err != nil {
		h.t.Fatal(err)
	}
	return token, s
}

// ended tells whether the token's session is over.
func (h *house) ended(token string) bool {
	h.t.Helper()
	s, err := h.auth.Sessions.ByToken(h.t.Context(), token)
	if err != nil && (!db.Is(err, db.Unauthenticated) || s != (auth.Session{})) {
		h.t.Fatal(s, err)
	}
	return err != nil
}

// log is what the audit log tells of users: action, category, severity, who
// did it and to whom, by name, and the metadata.
func (h *house) log() []string {
	h.t.Helper()
	page, err := h.AuditEvents(h.t.Context(), h.org, db.AuditQuery{Limit: 1000})
	if err != nil {
		h.t.Fatal(err)
	}
	named := map[string]string{"system": "system", "": "nobody"}
	lines := []string{}
	for _, text := range page.Events {
		var e struct {
			Actor, Action, Category string
			ResourceType            string `json:"resource_type"`
			ResourceID              string `json:"resource_id"`
			Severity                int
			Metadata                map[string]any
		}
		if err := json.Unmarshal(text, &e); err != nil {
			h.t.Fatal(err)
		}
		if name, ok := e.Metadata["name"].(string); ok && e.Action == "user.created" {
			named[e.ResourceID] = name
		}
		detail, err := json.Marshal(e.Metadata)
		if err != nil {
			h.t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s %s %d: %s on %s %s %s", e.Action, e.Category, e.Severity, named[e.Actor], e.ResourceType, named[e.ResourceID], detail))
	}
	return lines
}

// told compares what the audit log tells after the first events.
func (h *house) told(after int, want ...string) {
	h.t.Helper()
	got := h.log()
	if diff := cmp.Diff(want, got[min(after, len(got)):]); diff != "" {
		h.t.Errorf("the audit log (-want +got):\n%s", diff)
	}
	text := strings.Join(got, "\n")
	for _, secret := range []string{rightPassword, otherPassword} {
		if strings.Contains(text, secret) {
			h.t.Errorf("the audit log holds a password: %s", text)
		}
	}
}

// want compares an error with a code, the member at fault and a piece of the
// message.
func want(t *testing.T, what string, err error, code db.Code, param, message string) {
	t.Helper()
	var known *db.Error
	if !errors.As(err, &known) || known.Code != code || known.Param != param || !strings.Contains(known.Message, message) {
		t.Errorf("%s: got %#v, want code %d, param %q, %q", what, err, code, param, message)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// at is where the clocks of these tests stand.
var at = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

// handle opens the file at path; several of them are several processes.
func handle(t testing.TB, path string, wait time.Duration) *db.DB {
	t.Helper()
	store, err := db.Open(t.Context(), db.Options{Path: path, Wait: wait, Now: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// newPath is where a test's file is to be.
func newPath(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "govsvc.db")
}

func defaultOrg(t testing.TB, store *db.DB) db.Organisation {
	t.Helper()
	org, err := store.Organisation(t.Context(), db.DefaultOrganisation)
	if err != nil {
		t.Fatal(err)
	}
	return org
}

// names are what the query gives, by name.
func names(t testing.TB, path, query string) map[string]int {
	t.Helper()
	found := map[string]int{}
	rows, err := behind(t, path).QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		found[name]++
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

// behind is the data file behind the store's back.
func behind(t testing.TB, path string) *sql.DB {
	t.Helper()
	file, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}

// tamper runs statements behind the store's back.
func tamper(t testing.TB, path string, statements ...string) {
	t.Helper()
	file := behind(t, path)
	defer file.Close() //nolint:errcheck // each statement was checked
	for _, statement := range statements {
		if _, err := file.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(fmt.Errorf("%s: %w", statement, err))
		}
	}
}
