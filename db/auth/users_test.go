package auth_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/auth"
)

// TestRoles_Permissions checks what each role may do (contract, section 1).
func TestRoles_Permissions(t *testing.T) {
	t.Parallel()
	for role, want := range map[auth.Role][]auth.Permission{
		auth.Admin:   {auth.OwnAccount, auth.ReadRecords, auth.WriteRecords, auth.ReadOversight, auth.Administer},
		auth.Editor:  {auth.OwnAccount, auth.ReadRecords, auth.WriteRecords},
		auth.Auditor: {auth.OwnAccount, auth.ReadRecords, auth.ReadOversight},
		auth.Viewer:  {auth.OwnAccount, auth.ReadRecords},
		"":           nil,
		"owner":      nil,
	} {
		var got []auth.Permission
		for _, p := range append(auth.Permissions(), "", "own") {
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
	if found, err := h.auth.Users.Any(ctx); err != nil || found {
		t.Errorf("a user in a new file: %v, %v", found, err)
	}
	ada := h.user("  Ada   Lovelace ", auth.Admin)
	stamp := db.Timestamp(at)
	if diff := cmp.Diff(auth.User{ID: ada.ID, Name: "Ada Lovelace", Role: auth.Admin, CreatedAt: stamp, UpdatedAt: stamp}, ada); diff != "" {
		t.Errorf("the new user (-want +got):\n%s", diff)
	}
	h.user("bob", auth.Viewer)
	if found, err := h.auth.Users.Any(ctx); err != nil || !found {
		t.Errorf("no user: %v, %v", found, err)
	}
	bob, err := h.auth.Users.ByName(ctx, h.org.Org, "BOB")
	if err != nil || bob.Name != "bob" {
		t.Errorf("BOB is %+v, %v", bob, err)
	}
	if bob, err = h.auth.Memberships.SetRole(ctx, h.by(), bob.ID, auth.Editor); err != nil || bob.Role != auth.Editor {
		t.Errorf("after the change: %+v, %v", bob, err)
	}
	if _, err = h.auth.Memberships.SetRole(ctx, h.by(), bob.ID, auth.Editor); err != nil { // again, which changes nothing
		t.Error(err)
	}
	if err := h.auth.Memberships.Remove(ctx, h.by(), bob.ID); err != nil {
		t.Error(err)
	}
	all, err := h.auth.Users.List(ctx, h.org.Org)
	if diff := cmp.Diff([]auth.User{ada}, all); diff != "" || err != nil {
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
	ada := h.user("Ada", auth.Admin)
	for _, row := range []struct {
		name    string
		role    auth.Role
		code    db.Code
		param   string
		message string
	}{
		{"", auth.Viewer, db.Invalid, "name", "1 to 200 characters"},
		{" \u00a0 ", auth.Viewer, db.Invalid, "name", "1 to 200"},
		{strings.Repeat("x", 201), auth.Viewer, db.Invalid, "name", "1 to 200 characters"},
		{strings.Repeat("x", 1<<20), auth.Viewer, db.Invalid, "name", "1 to 200 characters"},
		{"a\x00b", auth.Viewer, db.Invalid, "name", "no control characters"},
		{"a\nb", auth.Viewer, db.Invalid, "name", "no control characters"},
		{"a\u202eb", auth.Viewer, db.Invalid, "name", "no control characters"},
		{"a\xffb", auth.Viewer, db.Invalid, "name", "no control characters"},
		{"b", "", db.Invalid, "role", "admin, editor, auditor, viewer"},
		{"b", "owner", db.Invalid, "role", "admin, editor, auditor, viewer"},
		{"ada", auth.Viewer, db.Conflict, "name", `a user named "ada" exists already`},
		{" ＡＤＡ ", auth.Viewer, db.Conflict, "name", `a user named "ADA" exists already`},
	} {
		_, err := h.auth.Users.Create(ctx, h.by(), row.name, row.role, rightPassword)
		want(t, fmt.Sprintf("%.20q as %s", row.name, row.role), err, row.code, row.param, row.message)
	}
	h.user(strings.Repeat("名", 200), auth.Viewer)

	_, err := h.auth.Memberships.SetRole(ctx, h.by(), ada.ID, "owner")
	want(t, "an unknown role", err, db.Invalid, "role", "admin, editor, auditor, viewer")
	_, err = h.auth.Memberships.SetRole(ctx, h.by(), "x", auth.Admin)
	want(t, "the role of nobody", err, db.NotFound, "", "no such user")
	want(t, "removing nobody", h.auth.Memberships.Remove(ctx, h.by(), "x"), db.NotFound, "", "no such user")
	want(t, "the password of nobody", h.auth.Users.SetPassword(ctx, h.by(), "x", rightPassword), db.NotFound, "", "no such user")
	want(t, "signing nobody out", h.auth.Sessions.SignOutEverywhere(ctx, h.by(), "x"), db.NotFound, "", "no such user")
	want(t, "nobody's second factor", h.auth.Users.RemoveSecondFactor(ctx, h.by(), "x"), db.NotFound, "", "no such user")
	for _, name := range []string{"nobody", "", "\x00", strings.Repeat("x", 5000)} {
		_, err = h.auth.Users.ByName(ctx, h.org.Org, name)
		want(t, fmt.Sprintf("finding %.10q", name), err, db.NotFound, "", "no user is named")
	}
}

// TestLastAdmin: somebody can always let others in.
func TestLastAdmin(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	ada, bob := h.user("ada", auth.Admin), h.user("bob", auth.Admin)
	errs := make([]error, 2)
	var both sync.WaitGroup
	by := db.Actor{Org: h.org.Org, ID: ada.ID}
	both.Go(func() { _, errs[0] = h.auth.Memberships.SetRole(ctx, by, ada.ID, auth.Viewer) })
	both.Go(func() { errs[1] = h.auth.Memberships.Remove(ctx, by, bob.ID) })
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
	_, err := h.auth.Memberships.SetRole(ctx, by, last.ID, auth.Editor)
	want(t, "the last one's role", err, db.Conflict, "role", "is the last admin")
	want(t, "removing the last", h.auth.Memberships.Remove(ctx, by, last.ID), db.Conflict, "role", "is the last admin")
	if _, err := h.auth.Memberships.SetRole(ctx, by, last.ID, auth.Admin); err != nil {
		t.Errorf("leaving it an admin: %v", err)
	}
	if _, err := h.auth.Memberships.SetRole(ctx, h.by(), last.ID, auth.Editor); err != nil {
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
			_, errs[i] = auth.New(stores[i%2]).Users.CreateFirst(context.Background(), db.Actor{}, fmt.Sprintf("user %d", i), rightPassword)
		})
	}
	all.Wait()
	won := ""
	for i, err := range errs {
		if err == nil {
			won += fmt.Sprintf("user %d", i)
			continue
		}
		want(t, "one who lost", err, db.Conflict, "", "a user already exists")
	}
	users, err := h.auth.Users.List(t.Context(), h.org.Org)
	if err != nil || len(users) != 1 || users[0].Name != won || users[0].Role != auth.Admin {
		t.Errorf("users %+v, won %q, %v", users, won, err)
	}
	h.told(0, fmt.Sprintf(`user.created authorization 6: %s on user %s {"name":"%s","role":"admin"}`, won, won, won))
}

// TestStoredSecrets: nothing in the file or beside it tells a password, a
// token or a recovery code.
func TestStoredSecrets(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.user("ada", auth.Admin)
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
