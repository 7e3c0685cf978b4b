package auth_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
	"govsvc/db/auth"
)

// twoOrganisations has an admin of each of two organisations, ada and bob, and a
// member of both, eve.
func twoOrganisations(t *testing.T) (h *house, acme db.Organisation, ada, bob, eve auth.User) {
	t.Helper()
	h = newHouse(t)
	acme, err := h.auth.Memberships.CreateOrganisation(t.Context(), h.by(), "acme", db.Business)
	if err != nil {
		t.Fatal(err)
	}
	ada = h.user("ada", auth.Admin)
	if bob, err = h.auth.Users.Create(t.Context(), db.Actor{Org: acme.Org, ID: "system"}, "bob", auth.Admin, rightPassword); err != nil {
		t.Fatal(err)
	}
	eve = h.user("eve", auth.Viewer)
	h.member("acme", "eve", auth.Editor)
	return h, acme, ada, bob, eve
}

// TestMemberships_SharedAccount checks that an admin of one organisation changes
// the membership of a user of two, and nothing of its account. An admin of both
// and the operator change the account.
func TestMemberships_SharedAccount(t *testing.T) {
	t.Parallel()
	h, acme, ada, bob, eve := twoOrganisations(t)
	ctx := t.Context()
	eves, _ := h.signIn("eve")
	actions := map[string]func(by db.Actor) error{
		"password":      func(by db.Actor) error { return h.auth.Users.SetPassword(ctx, by, eve.ID, rightPassword) },
		"second factor": func(by db.Actor) error { return h.auth.Users.RemoveSecondFactor(ctx, by, eve.ID) },
		"sessions":      func(by db.Actor) error { return h.auth.Sessions.SignOutEverywhere(ctx, by, eve.ID) },
	}
	for name, change := range actions {
		for _, by := range []db.Actor{{Org: h.org.Org, ID: ada.ID}, {Org: acme.Org, ID: bob.ID}} {
			want(t, name, change(by), db.Conflict, "", "also belongs to another organisation")
		}
	}
	want(t, "of no member", h.auth.Users.SetPassword(ctx, db.Actor{Org: h.org.Org, ID: ada.ID}, bob.ID, rightPassword), db.NotFound, "", "no such user")
	_, err := h.auth.Memberships.SetRole(ctx, db.Actor{Org: h.org.Org, ID: ada.ID}, bob.ID, auth.Viewer)
	want(t, "the role of no member", err, db.NotFound, "", "no such user")
	want(t, "removing no member", h.auth.Memberships.Remove(ctx, db.Actor{Org: h.org.Org, ID: ada.ID}, bob.ID), db.NotFound, "", "no such user")
	if h.ended(eves) {
		t.Fatal("a refused change ended a session")
	}
	h.member("acme", "ada", auth.Admin)
	for name, change := range actions {
		if err := change(db.Actor{Org: h.org.Org, ID: ada.ID}); err != nil {
			t.Errorf("%s, by an admin of both: %v", name, err)
		}
		if err := change(h.by()); err != nil {
			t.Errorf("%s, by the operator: %v", name, err)
		}
	}
}

// TestMemberships_Roles checks that a role counts in one organisation, and that
// the account goes with the last membership.
func TestMemberships_Roles(t *testing.T) {
	t.Parallel()
	h, acme, ada, bob, eve := twoOrganisations(t)
	ctx := t.Context()
	token, s := h.signIn("eve")
	role := func() auth.Role {
		t.Helper()
		s, err := h.auth.Sessions.ByToken(ctx, token)
		if err != nil {
			t.Fatal(err)
		}
		return s.User.Role
	}
	if got := role(); got != auth.Viewer || s.Organisation.Name != "default" {
		t.Errorf("the session begins as %s in %s", got, s.Organisation.Name)
	}
	if err := h.auth.Sessions.SwitchOrganisation(ctx, s, "acme"); err != nil || role() != auth.Editor {
		t.Errorf("in acme: %s, %v", role(), err)
	}
	want(t, "bob in default", h.auth.Sessions.SwitchOrganisation(ctx, func() auth.Session { _, s := h.signIn("bob"); return s }(), "default"), db.NotFound, "", `no organisation is named "default"`)
	if _, err := h.auth.Memberships.SetRole(ctx, db.Actor{Org: h.org.Org, ID: ada.ID}, eve.ID, auth.Auditor); err != nil || role() != auth.Editor {
		t.Errorf("a role elsewhere changed that in acme to %s, %v", role(), err)
	}
	if err := h.auth.Memberships.Remove(ctx, db.Actor{Org: acme.Org, ID: bob.ID}, eve.ID); err != nil || role() != "" {
		t.Errorf("the role after the end of the membership: %q, %v", role(), err)
	}
	s, _ = h.auth.Sessions.ByToken(ctx, token)
	want(t, "back to acme", h.auth.Sessions.SwitchOrganisation(ctx, s, "acme"), db.NotFound, "", `no organisation is named "acme"`)
	if err := h.auth.Sessions.SwitchOrganisation(ctx, s, "default"); err != nil || role() != auth.Auditor {
		t.Errorf("in default: %s, %v", role(), err)
	}
	members, err := h.auth.Users.WithMemberships(ctx, eve)
	if diff := cmp.Diff([]auth.Membership{{Organisation: "default", Role: auth.Auditor}}, members[0].Organisations); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if err := h.auth.Memberships.Remove(ctx, db.Actor{Org: h.org.Org, ID: ada.ID}, eve.ID); err != nil || !h.ended(token) {
		t.Errorf("after the last membership: %v, ended %v", err, h.ended(token))
	}
	_, err = h.auth.Memberships.Add(ctx, h.by(), "eve", auth.Viewer)
	want(t, "adding a removed account", err, db.NotFound, "", "no user is named")
	log := strings.Join(h.log(), "\n")
	for _, line := range []string{
		`user.role_changed authorization 6: ada on user eve {"changes":{"role":{"from":"viewer","to":"auditor"}}}`,
		`user.removed authorization 6: ada on user eve {"account_removed":true,"changes":{"role":{"from":"auditor","to":null}},"name":"eve"}`,
	} {
		if !strings.Contains(log, line) {
			t.Errorf("want %s in the log of default:\n%s", line, log)
		}
	}
	h.org = acme
	log = strings.Join(h.log(), "\n")
	for _, text := range []string{
		`user.added authorization 6: system on user  {"changes":{"role":{"from":null,"to":"editor"}},"name":"eve"}`,
		`{"account_removed":false,"changes":{"role":{"from":"editor","to":null}},"name":"eve"}`, "user.signed_in", // of eve, in both logs
	} {
		if !strings.Contains(log, text) {
			t.Errorf("want %s in the log of acme:\n%s", text, log)
		}
	}
	if strings.Contains(log, "role_changed") {
		t.Errorf("the log of acme tells of a role in default:\n%s", log)
	}
}

// TestMemberships_NoneLeft checks that a user without a membership is refused.
func TestMemberships_NoneLeft(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.user("ada", auth.Admin)
	token, _ := h.signIn("ada")
	names(t, h.path, "DELETE FROM memberships RETURNING role")
	if s, err := h.auth.Sessions.ByToken(t.Context(), token); err != nil || s.User.Role != "" {
		t.Errorf("the session has the role %q, %v", s.User.Role, err)
	}
	_, _, err := h.auth.Sessions.SignIn(t.Context(), auth.SignInAttempt{Name: "ada", Password: rightPassword})
	want(t, "signing in", err, db.Unauthenticated, "", "not a member of an organisation")
	if _, _, err = h.auth.Sessions.SignIn(t.Context(), auth.SignInAttempt{Name: "ada", Password: otherPassword}); err == nil || strings.Contains(err.Error(), "member") {
		t.Errorf("a wrong password: %v", err)
	}
}

// TestMemberships_RemovedOrganisation checks that an organisation with a user of
// no other one stays, and that the sessions of others go on elsewhere.
func TestMemberships_RemovedOrganisation(t *testing.T) {
	t.Parallel()
	h, _, _, bob, _ := twoOrganisations(t)
	ctx := t.Context()
	token, s := h.signIn("eve")
	if err := h.auth.Sessions.SwitchOrganisation(ctx, s, "acme"); err != nil {
		t.Fatal(err)
	}
	_, err := h.auth.Memberships.RemoveOrganisation(ctx, h.by(), "acme")
	want(t, "with bob", err, db.Conflict, "", "1 users of no other organisation")
	if err := h.auth.Users.Remove(ctx, h.by(), bob.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := h.auth.Memberships.RemoveOrganisation(ctx, h.by(), "acme"); err != nil {
		t.Fatal(err)
	}
	if s, err = h.auth.Sessions.ByToken(ctx, token); err != nil || s.Organisation.Name != "default" || s.User.Role != auth.Viewer {
		t.Errorf("eve works on %s as %q, %v", s.Organisation.Name, s.User.Role, err)
	}
}

// TestMemberships_NewOrganisation checks that the user who adds an organisation
// becomes its admin, and that the operator does not.
func TestMemberships_NewOrganisation(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ada := h.user("ada", auth.Admin)
	for name, by := range map[string]db.Actor{"hers": {Org: h.org.Org, ID: ada.ID}, "bare": h.by()} {
		if _, err := h.auth.Memberships.CreateOrganisation(t.Context(), by, name, db.Business); err != nil {
			t.Fatal(err)
		}
	}
	members, err := h.auth.Users.WithMemberships(t.Context(), ada)
	if diff := cmp.Diff([]auth.Membership{{Organisation: "default", Role: auth.Admin}, {Organisation: "hers", Role: auth.Admin}}, members[0].Organisations); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestMemberships_FirstUser checks that the first admin is one everywhere.
func TestMemberships_FirstUser(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	if _, err := h.auth.Memberships.CreateOrganisation(t.Context(), h.by(), "acme", db.Business); err != nil {
		t.Fatal(err)
	}
	ada, err := h.auth.Users.CreateFirst(t.Context(), db.Actor{}, "ada", rightPassword)
	if err != nil {
		t.Fatal(err)
	}
	members, err := h.auth.Users.WithMemberships(t.Context(), ada)
	if diff := cmp.Diff([]auth.Membership{{Organisation: "acme", Role: auth.Admin}, {Organisation: "default", Role: auth.Admin}}, members[0].Organisations); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
