package auth_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/internal/testkit"
)

// twoOrganisations makes two organisations with the admins ada and bob, and a member of
// both, eve.
func twoOrganisations(t *testing.T) (f *fixture, acme db.Organisation, ada, bob, eve auth.User) {
	t.Helper()
	f = newFixture(t)
	acme, err := f.Memberships.CreateOrganisation(t.Context(), operator, "acme", db.Business)
	if err != nil {
		t.Fatal(err)
	}
	ada = f.addUser("ada", auth.Admin)
	if bob, err = f.Users.Create(t.Context(), db.Actor{Org: acme.Org, ID: "system"}, "bob", auth.Admin, rightPassword); err != nil {
		t.Fatal(err)
	}
	eve = f.addUser("eve", auth.Viewer)
	f.addMember("acme", "eve", auth.Editor)
	return f, acme, ada, bob, eve
}

// TestMemberships_SharedAccount checks that an admin of one organisation can't change the
// account of a user who belongs to two. An admin of both and the operator can.
func TestMemberships_SharedAccount(t *testing.T) {
	t.Parallel()
	f, acme, ada, bob, eve := twoOrganisations(t)
	ctx := t.Context()
	eves, _ := f.signIn("eve")
	actions := map[string]func(by db.Actor) error{
		"password":      func(by db.Actor) error { return f.Users.SetPassword(ctx, by, eve.ID, rightPassword) },
		"second factor": func(by db.Actor) error { return f.Users.RemoveSecondFactor(ctx, by, eve.ID) },
		"sessions":      func(by db.Actor) error { return f.Sessions.SignOutEverywhere(ctx, by, eve.ID) },
	}
	for name, change := range actions {
		for _, by := range []db.Actor{{Org: f.org.Org, ID: ada.ID}, {Org: acme.Org, ID: bob.ID}} {
			wantError(t, name, change(by), db.Conflict, "", "also belongs to another organisation")
		}
	}
	wantError(t, "of no member", f.Users.SetPassword(ctx, db.Actor{Org: f.org.Org, ID: ada.ID}, bob.ID, rightPassword), db.NotFound, "", "no such user")
	_, err := f.Memberships.SetRole(ctx, db.Actor{Org: f.org.Org, ID: ada.ID}, bob.ID, auth.Viewer)
	wantError(t, "the role of no member", err, db.NotFound, "", "no such user")
	wantError(t, "removing no member", f.Memberships.Remove(ctx, db.Actor{Org: f.org.Org, ID: ada.ID}, bob.ID), db.NotFound, "", "no such user")
	if f.ended(eves) {
		t.Fatal("a refused change ended a session")
	}
	f.addMember("acme", "ada", auth.Admin)
	for name, change := range actions {
		if err := change(db.Actor{Org: f.org.Org, ID: ada.ID}); err != nil {
			t.Errorf("%s, by an admin of both: %v", name, err)
		}
		if err := change(operator); err != nil {
			t.Errorf("%s, by the operator: %v", name, err)
		}
	}
}

// TestMemberships_Roles checks that a role is valid in one organisation, and that the
// account is removed with the last membership.
func TestMemberships_Roles(t *testing.T) {
	t.Parallel()
	f, acme, ada, bob, eve := twoOrganisations(t)
	ctx := t.Context()
	token, s := f.signIn("eve")
	role := func() auth.Role {
		t.Helper()
		s, err := f.Sessions.ByToken(ctx, token)
		if err != nil {
			t.Fatal(err)
		}
		return s.User.Role
	}
	if got := role(); got != auth.Viewer || s.Organisation.Name != "default" {
		t.Errorf("got role %s in %s at the start, want viewer in default", got, s.Organisation.Name)
	}
	if err := f.Sessions.SwitchOrganisation(ctx, s, "acme"); err != nil || role() != auth.Editor {
		t.Errorf("in acme: %s, %v", role(), err)
	}
	wantError(t, "bob in default", f.Sessions.SwitchOrganisation(ctx, func() auth.Session { _, s := f.signIn("bob"); return s }(), "default"), db.NotFound, "", `no organisation is named "default"`)
	if _, err := f.Memberships.SetRole(ctx, db.Actor{Org: f.org.Org, ID: ada.ID}, eve.ID, auth.Auditor); err != nil || role() != auth.Editor {
		t.Errorf("got role %s in acme after a change in default, %v", role(), err)
	}
	if err := f.Memberships.Remove(ctx, db.Actor{Org: acme.Org, ID: bob.ID}, eve.ID); err != nil || role() != "" {
		t.Errorf("the role after the end of the membership: %q, %v", role(), err)
	}
	s, _ = f.Sessions.ByToken(ctx, token)
	wantError(t, "back to acme", f.Sessions.SwitchOrganisation(ctx, s, "acme"), db.NotFound, "", `no organisation is named "acme"`)
	if err := f.Sessions.SwitchOrganisation(ctx, s, "default"); err != nil || role() != auth.Auditor {
		t.Errorf("in default: %s, %v", role(), err)
	}
	members, err := f.Users.WithMemberships(ctx, eve)
	if diff := cmp.Diff([]auth.Membership{{Organisation: "default", Role: auth.Auditor}}, members[0].Organisations); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if err := f.Memberships.Remove(ctx, db.Actor{Org: f.org.Org, ID: ada.ID}, eve.ID); err != nil || !f.ended(token) {
		t.Errorf("after the last membership: %v, ended %v", err, f.ended(token))
	}
	_, err = f.Memberships.Add(ctx, operator, "eve", auth.Viewer)
	wantError(t, "adding a removed account", err, db.NotFound, "", "no user is named")
	log := strings.Join(f.events(), "\n")
	for _, line := range []string{
		`user.role_changed authorization 6: ada on user eve {"changes":{"role":{"from":"viewer","to":"auditor"}}}`,
		`user.removed authorization 6: ada on user eve {"account_removed":true,"changes":{"role":{"from":"auditor","to":null}},"name":"eve"}`,
	} {
		if !strings.Contains(log, line) {
			t.Errorf("want %s in the log of default:\n%s", line, log)
		}
	}
	f.org = acme
	log = strings.Join(f.events(), "\n")
	for _, text := range []string{
		`user.added authorization 6: system on user  {"changes":{"role":{"from":null,"to":"editor"}},"name":"eve"}`,
		`{"account_removed":false,"changes":{"role":{"from":"editor","to":null}},"name":"eve"}`, "user.signed_in", // of eve, in both logs
	} {
		if !strings.Contains(log, text) {
			t.Errorf("want %s in the log of acme:\n%s", text, log)
		}
	}
	if strings.Contains(log, "role_changed") {
		t.Errorf("the log of acme has a change of a role in default:\n%s", log)
	}
}

// TestMemberships_NoneLeft checks that a user without a membership is refused.
func TestMemberships_NoneLeft(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addUser("ada", auth.Admin)
	token, _ := f.signIn("ada")
	testkit.CountSQL(t, f.path, "DELETE FROM memberships RETURNING role")
	if s, err := f.Sessions.ByToken(t.Context(), token); err != nil || s.User.Role != "" {
		t.Errorf("the session has the role %q, %v", s.User.Role, err)
	}
	_, _, err := f.Sessions.SignIn(t.Context(), auth.SignInAttempt{Name: "ada", Password: rightPassword})
	wantError(t, "signing in", err, db.Unauthenticated, "", "not a member of an organisation")
	if _, _, err = f.Sessions.SignIn(t.Context(), auth.SignInAttempt{Name: "ada", Password: otherPassword}); err == nil || strings.Contains(err.Error(), "member") {
		t.Errorf("a wrong password: %v", err)
	}
}

// TestMemberships_RemovedOrganisation checks that an organisation is not removed while
// a user belongs to it alone. Sessions of its members continue in another organisation.
func TestMemberships_RemovedOrganisation(t *testing.T) {
	t.Parallel()
	f, _, _, bob, _ := twoOrganisations(t)
	ctx := t.Context()
	token, s := f.signIn("eve")
	if err := f.Sessions.SwitchOrganisation(ctx, s, "acme"); err != nil {
		t.Fatal(err)
	}
	_, err := f.Memberships.RemoveOrganisation(ctx, operator, "acme")
	wantError(t, "with bob", err, db.Conflict, "", "1 users of no other organisation")
	if err := f.Users.Remove(ctx, operator, bob.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Memberships.RemoveOrganisation(ctx, operator, "acme"); err != nil {
		t.Fatal(err)
	}
	if s, err = f.Sessions.ByToken(ctx, token); err != nil || s.Organisation.Name != "default" || s.User.Role != auth.Viewer {
		t.Errorf("got organisation %s and role %q, %v", s.Organisation.Name, s.User.Role, err)
	}
}

// TestMemberships_NewOrganisation checks that the user who adds an organisation
// becomes its admin, and that the operator does not.
func TestMemberships_NewOrganisation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.addUser("ada", auth.Admin)
	for name, by := range map[string]db.Actor{"hers": {Org: f.org.Org, ID: ada.ID}, "bare": operator} {
		if _, err := f.Memberships.CreateOrganisation(t.Context(), by, name, db.Business); err != nil {
			t.Fatal(err)
		}
	}
	members, err := f.Users.WithMemberships(t.Context(), ada)
	if diff := cmp.Diff([]auth.Membership{{Organisation: "default", Role: auth.Admin}, {Organisation: "hers", Role: auth.Admin}}, members[0].Organisations); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestMemberships_FirstUser checks that the first user is an admin of every organisation.
func TestMemberships_FirstUser(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if _, err := f.Memberships.CreateOrganisation(t.Context(), operator, "acme", db.Business); err != nil {
		t.Fatal(err)
	}
	ada, err := f.Users.CreateFirst(t.Context(), db.Actor{}, "ada", rightPassword)
	if err != nil {
		t.Fatal(err)
	}
	members, err := f.Users.WithMemberships(t.Context(), ada)
	if diff := cmp.Diff([]auth.Membership{{Organisation: "acme", Role: auth.Admin}, {Organisation: "default", Role: auth.Admin}}, members[0].Organisations); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
