package auth_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/internal/testkit"
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
		for _, p := range []auth.Permission{auth.OwnAccount, auth.ReadRecords, auth.WriteRecords, auth.ReadOversight, auth.Administer, "", "own"} {
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
	f := newFixture(t)
	ctx := t.Context()
	if found, err := f.Users.Any(ctx); err != nil || found {
		t.Errorf("got a user in a new file: %v, %v", found, err)
	}
	ada := f.addUser("  Ada   Lovelace ", auth.Admin)
	stamp := db.Timestamp(testkit.Start)
	if diff := cmp.Diff(auth.User{ID: ada.ID, Name: "Ada Lovelace", Role: auth.Admin, CreatedAt: stamp, UpdatedAt: stamp}, ada); diff != "" {
		t.Errorf("the new user (-want +got):\n%s", diff)
	}
	f.addUser("bob", auth.Viewer)
	if found, err := f.Users.Any(ctx); err != nil || !found {
		t.Errorf("got no user: %v, %v", found, err)
	}
	bob, err := f.Users.ByName(ctx, f.org.Org, "BOB")
	if err != nil || bob.Name != "bob" {
		t.Errorf("got user %+v for BOB, %v", bob, err)
	}
	if bob, err = f.Memberships.SetRole(ctx, operator, bob.ID, auth.Editor); err != nil || bob.Role != auth.Editor {
		t.Errorf("after the change: %+v, %v", bob, err)
	}
	if _, err = f.Memberships.SetRole(ctx, operator, bob.ID, auth.Editor); err != nil { // changes nothing
		t.Error(err)
	}
	if err := f.Memberships.Remove(ctx, operator, bob.ID); err != nil {
		t.Error(err)
	}
	all, err := f.Users.List(ctx, f.org.Org)
	if diff := cmp.Diff([]auth.User{ada}, all); diff != "" || err != nil {
		t.Errorf("all users: %v (-want +got):\n%s", err, diff)
	}
	f.wantEvents(
		0,
		`user.created authorization 6: system on user Ada Lovelace {"name":"Ada Lovelace","role":"admin"}`,
		`user.created authorization 6: system on user bob {"name":"bob","role":"viewer"}`,
		`user.role_changed authorization 6: system on user bob {"changes":{"role":{"from":"viewer","to":"editor"}}}`,
		`user.removed authorization 6: system on user bob {"account_removed":true,"changes":{"role":{"from":"editor","to":null}},"name":"bob"}`,
	)
}

func TestUsers_Refused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	ada := f.addUser("Ada", auth.Admin)
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
		{"ada", auth.Viewer, db.Conflict, "name", `a user named "ada" already exists`},
		{" ＡＤＡ ", auth.Viewer, db.Conflict, "name", `a user named "ADA" already exists`},
	} {
		_, err := f.Users.Create(ctx, operator, row.name, row.role, rightPassword)
		wantError(t, fmt.Sprintf("%.20q as %s", row.name, row.role), err, row.code, row.param, row.message)
	}
	f.addUser(strings.Repeat("名", 200), auth.Viewer)

	_, err := f.Memberships.SetRole(ctx, operator, ada.ID, "owner")
	wantError(t, "an unknown role", err, db.Invalid, "role", "admin, editor, auditor, viewer")
	_, err = f.Memberships.SetRole(ctx, operator, "x", auth.Admin)
	wantError(t, "the role of an unknown user", err, db.NotFound, "", "no such user")
	wantError(t, "removing an unknown user", f.Memberships.Remove(ctx, operator, "x"), db.NotFound, "", "no such user")
	wantError(t, "the password of an unknown user", f.Users.SetPassword(ctx, operator, "x", rightPassword), db.NotFound, "", "no such user")
	wantError(t, "signing out an unknown user", f.Sessions.SignOutEverywhere(ctx, operator, "x"), db.NotFound, "", "no such user")
	wantError(t, "the second factor of an unknown user", f.Users.RemoveSecondFactor(ctx, operator, "x"), db.NotFound, "", "no such user")
	for _, name := range []string{"unknown", "", "\x00", strings.Repeat("x", 5000)} {
		_, err = f.Users.ByName(ctx, f.org.Org, name)
		wantError(t, fmt.Sprintf("finding %.10q", name), err, db.NotFound, "", "no user is named")
	}
}

// TestMemberships_LastAdmin checks that an organisation keeps an admin, even if two of them
// are changed at the same time.
func TestMemberships_LastAdmin(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	ada, bob := f.addUser("ada", auth.Admin), f.addUser("bob", auth.Admin)
	errs := make([]error, 2)
	var both sync.WaitGroup
	by := db.Actor{Org: f.org.Org, ID: ada.ID}
	both.Go(func() { _, errs[0] = f.Memberships.SetRole(ctx, by, ada.ID, auth.Viewer) })
	both.Go(func() { errs[1] = f.Memberships.Remove(ctx, by, bob.ID) })
	both.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Fatalf("got errors %v and %v, want exactly one", errs[0], errs[1])
	}
	wantError(t, "the second change", errors.Join(errs...), db.Conflict, "role", "is the last admin; make another user an admin first")
	last := ada
	if errs[0] == nil {
		last = bob
	}
	by.ID = last.ID
	_, err := f.Memberships.SetRole(ctx, by, last.ID, auth.Editor)
	wantError(t, "the role of the last admin", err, db.Conflict, "role", "is the last admin")
	wantError(t, "removing the last admin", f.Memberships.Remove(ctx, by, last.ID), db.Conflict, "role", "is the last admin")
	if _, err := f.Memberships.SetRole(ctx, by, last.ID, auth.Admin); err != nil {
		t.Errorf("the same role: %v", err)
	}
	if _, err := f.Memberships.SetRole(ctx, operator, last.ID, auth.Editor); err != nil {
		t.Errorf("the operator: %v", err)
	}
}

// TestUsers_CreateFirst checks that one of several parallel calls, through two processes,
// creates the first user.
func TestUsers_CreateFirst(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, other := f.open()
	services := []*auth.Service{f.Service, other}
	errs := make([]error, 8)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			_, errs[i] = services[i%2].Users.CreateFirst(context.Background(), db.Actor{}, fmt.Sprintf("user %d", i), rightPassword)
		})
	}
	all.Wait()
	winner := ""
	for i, err := range errs {
		if err == nil {
			winner += fmt.Sprintf("user %d", i)
			continue
		}
		wantError(t, "another call", err, db.Conflict, "", "a user already exists")
	}
	users, err := f.Users.List(t.Context(), f.org.Org)
	if err != nil || len(users) != 1 || users[0].Name != winner || users[0].Role != auth.Admin {
		t.Errorf("got users %+v, winner %q, %v", users, winner, err)
	}
	f.wantEvents(0, fmt.Sprintf(`user.created authorization 6: %s on user %s {"name":"%s","role":"admin"}`, winner, winner, winner))
}

// TestFile_HasNoSecrets checks that neither the file nor its log contains a password, a
// token or a recovery code.
func TestFile_HasNoSecrets(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addUser("ada", auth.Admin)
	token, s := f.signIn("ada")
	_, codes := f.enableSecondFactor(&s)
	files, err := filepath.Glob(f.path + "*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range append([]string{rightPassword, token}, codes...) {
			if bytes.Contains(content, []byte(secret)) || bytes.Contains(content, []byte(strings.ReplaceAll(secret, "-", ""))) {
				t.Errorf("%s contains %q", file, secret)
			}
		}
	}
}
