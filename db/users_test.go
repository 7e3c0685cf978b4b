package db_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
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
		if err := h.Close(); err != nil {
			h.t.Fatal(err)
		}
	}
	store, err := db.Open(h.t.Context(), db.Options{Path: h.path, Wait: time.Minute, Now: h.now})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = store.Close() })
	h.DB = store
}

// by is the operator at the command line.
func (h *house) by() db.Actor { return db.Actor{ID: "system"} }

func (h *house) user(name string, role db.Role) db.User {
	h.t.Helper()
	u, err := h.CreateUser(h.t.Context(), h.by(), name, role, rightPassword)
	if err != nil {
		h.t.Fatal(err)
	}
	return u
}

// member makes a user that exists a member of another organisation.
func (h *house) member(org, name string, role db.Role) {
	h.t.Helper()
	o, err := h.Organisation(h.t.Context(), org)
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := h.AddMember(h.t.Context(), db.Actor{Org: o.Org, ID: "system"}, name, role); err != nil {
		h.t.Fatal(err)
	}
}

// signIn signs in with a right password.
func (h *house) signIn(name string) (token string, s db.Session) {
	h.t.Helper()
	token, s, err := h.SignIn(h.t.Context(), db.SignInAttempt{Name: name, Password: rightPassword})
	if err != nil {
		h.t.Fatal(err)
	}
	return token, s
}

// ended tells whether the token's session is over.
func (h *house) ended(token string) bool {
	h.t.Helper()
	s, err := h.Session(h.t.Context(), token)
	if err != nil && (!db.Is(err, db.Unauthenticated) || s != (db.Session{})) {
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

// TestRoles_Permissions checks what each role may do (contract, section 1).
func TestRoles_Permissions(t *testing.T) {
	t.Parallel()
	for role, want := range map[db.Role][]db.Permission{
		db.Admin:   {db.OwnAccount, db.ReadRecords, db.WriteRecords, db.ReadOversight, db.Administer},
		db.Editor:  {db.OwnAccount, db.ReadRecords, db.WriteRecords},
		db.Auditor: {db.OwnAccount, db.ReadRecords, db.ReadOversight},
		db.Viewer:  {db.OwnAccount, db.ReadRecords},
		"":         nil,
		"owner":    nil,
	} {
		var got []db.Permission
		for _, p := range append(db.Permissions(), "", "own") {
			if role.May(p) {
				got = append(got, p)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q may (-want +got):\n%s", role, diff)
		}
	}
}

func TestUsers(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	if found, err := h.AnyUser(ctx); err != nil || found {
		t.Errorf("a user in a new file: %v, %v", found, err)
	}
	ada := h.user("  Ada   Lovelace ", db.Admin)
	stamp := db.Timestamp(at)
	if diff := cmp.Diff(db.User{ID: ada.ID, Name: "Ada Lovelace", Role: db.Admin, CreatedAt: stamp, UpdatedAt: stamp}, ada); diff != "" {
		t.Errorf("the new user (-want +got):\n%s", diff)
	}
	h.user("bob", db.Viewer)
	if found, err := h.AnyUser(ctx); err != nil || !found {
		t.Errorf("no user: %v, %v", found, err)
	}
	bob, err := h.UserByName(ctx, h.org.Org, "BOB")
	if err != nil || bob.Name != "bob" {
		t.Errorf("BOB is %+v, %v", bob, err)
	}
	if bob, err = h.SetUserRole(ctx, h.by(), bob.ID, db.Editor); err != nil || bob.Role != db.Editor {
		t.Errorf("after the change: %+v, %v", bob, err)
	}
	if _, err = h.SetUserRole(ctx, h.by(), bob.ID, db.Editor); err != nil { // again, which changes nothing
		t.Error(err)
	}
	if err := h.RemoveUser(ctx, h.by(), bob.ID); err != nil {
		t.Error(err)
	}
	all, err := h.Users(ctx, h.org.Org)
	if diff := cmp.Diff([]db.User{ada}, all); diff != "" || err != nil {
		t.Errorf("all users: %v (-want +got):\n%s", err, diff)
	}
	h.told(
		0,
		`user.created authorization 6: system on user Ada Lovelace {"name":"Ada Lovelace","role":"admin"}`,
		`user.created authorization 6: system on user bob {"name":"bob","role":"viewer"}`,
		`user.role_changed authorization 6: system on user bob {"changes":{"role":{"from":"viewer","to":"editor"}}}`,
		`user.removed authorization 6: system on user bob {"account_removed":true,"changes":{"role":{"from":"editor","to":null}},"name":"bob"}`,
	)
}

func TestRefusedUsers(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	ada := h.user("Ada", db.Admin)
	for _, row := range []struct {
		name    string
		role    db.Role
		code    db.Code
		param   string
		message string
	}{
		{"", db.Viewer, db.Invalid, "name", "1 to 200 characters"},
		{" \u00a0 ", db.Viewer, db.Invalid, "name", "1 to 200"},
		{strings.Repeat("x", 201), db.Viewer, db.Invalid, "name", "1 to 200 characters"},
		{strings.Repeat("x", 1<<20), db.Viewer, db.Invalid, "name", "1 to 200 characters"},
		{"a\x00b", db.Viewer, db.Invalid, "name", "no control characters"},
		{"a\nb", db.Viewer, db.Invalid, "name", "no control characters"},
		{"a\u202eb", db.Viewer, db.Invalid, "name", "no control characters"},
		{"a\xffb", db.Viewer, db.Invalid, "name", "no control characters"},
		{"b", "", db.Invalid, "role", "admin, editor, auditor, viewer"},
		{"b", "owner", db.Invalid, "role", "admin, editor, auditor, viewer"},
		{"ada", db.Viewer, db.Conflict, "name", `a user named "ada" exists already`},
		{" ＡＤＡ ", db.Viewer, db.Conflict, "name", `a user named "ADA" exists already`},
	} {
		_, err := h.CreateUser(ctx, h.by(), row.name, row.role, rightPassword)
		want(t, fmt.Sprintf("%.20q as %s", row.name, row.role), err, row.code, row.param, row.message)
	}
	h.user(strings.Repeat("名", 200), db.Viewer)

	_, err := h.SetUserRole(ctx, h.by(), ada.ID, "owner")
	want(t, "an unknown role", err, db.Invalid, "role", "admin, editor, auditor, viewer")
	_, err = h.SetUserRole(ctx, h.by(), "x", db.Admin)
	want(t, "the role of nobody", err, db.NotFound, "", "no such user")
	want(t, "removing nobody", h.RemoveUser(ctx, h.by(), "x"), db.NotFound, "", "no such user")
	want(t, "the password of nobody", h.SetPassword(ctx, h.by(), "x", rightPassword), db.NotFound, "", "no such user")
	want(t, "signing nobody out", h.SignOutEverywhere(ctx, h.by(), "x"), db.NotFound, "", "no such user")
	want(t, "nobody's second factor", h.RemoveSecondFactor(ctx, h.by(), "x"), db.NotFound, "", "no such user")
	for _, name := range []string{"nobody", "", "\x00", strings.Repeat("x", 5000)} {
		_, err = h.UserByName(ctx, h.org.Org, name)
		want(t, fmt.Sprintf("finding %.10q", name), err, db.NotFound, "", "no user is named")
	}
}

// TestLastAdmin: somebody can always let others in.
func TestLastAdmin(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	ada, bob := h.user("ada", db.Admin), h.user("bob", db.Admin)
	errs := make([]error, 2)
	var both sync.WaitGroup
	by := db.Actor{Org: h.org.Org, ID: ada.ID}
	both.Go(func() { _, errs[0] = h.SetUserRole(ctx, by, ada.ID, db.Viewer) })
	both.Go(func() { errs[1] = h.RemoveUser(ctx, by, bob.ID) })
	both.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Fatalf("outcomes %v and %v, want one refusal", errs[0], errs[1])
	}
	want(t, "the second", errors.Join(errs...), db.Conflict, "role", "is the last admin; make another user an admin first")
	last := ada
	if errs[0] == nil {
		last = bob
	}
	by.ID = last.ID
	_, err := h.SetUserRole(ctx, by, last.ID, db.Editor)
	want(t, "the last one's role", err, db.Conflict, "role", "is the last admin")
	want(t, "removing the last", h.RemoveUser(ctx, by, last.ID), db.Conflict, "role", "is the last admin")
	if _, err := h.SetUserRole(ctx, by, last.ID, db.Admin); err != nil {
		t.Errorf("leaving it an admin: %v", err)
	}
	if _, err := h.SetUserRole(ctx, h.by(), last.ID, db.Editor); err != nil {
		t.Errorf("the operator: %v", err)
	}
}

// TestFirstUser: of all who try at once, through two processes, one wins.
func TestFirstUser(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	stores := []*db.DB{h.DB, handle(t, h.path, time.Minute)}
	errs := make([]error, 8)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			_, errs[i] = stores[i%2].CreateFirstUser(context.Background(), db.Actor{}, fmt.Sprintf("user %d", i), rightPassword)
		})
	}
	all.Wait()
	won := ""
	for i, err := range errs {
		if err == nil {
			won += fmt.Sprintf("user %d", i)
			continue
		}
		want(t, "one who lost", err, db.Conflict, "", "there is a user already")
	}
	users, err := h.Users(t.Context(), h.org.Org)
	if err != nil || len(users) != 1 || users[0].Name != won || users[0].Role != db.Admin {
		t.Errorf("users %+v, won %q, %v", users, won, err)
	}
	h.told(0, fmt.Sprintf(`user.created authorization 6: %s on user %s {"name":"%s","role":"admin"}`, won, won, won))
}

// TestStoredSecrets: nothing in the file or beside it tells a password, a
// token or a recovery code.
func TestStoredSecrets(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.user("ada", db.Admin)
	token, s := h.signIn("ada")
	_, codes := h.enrol(&s)
	files, err := filepath.Glob(h.path + "*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		content := readFile(t, file)
		for _, secret := range append([]string{rightPassword, token}, codes...) {
			if strings.Contains(content, secret) || strings.Contains(content, strings.ReplaceAll(secret, "-", "")) {
				t.Errorf("%s holds %q", file, secret)
			}
		}
	}
}
