package db_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"govsvc/db"
)

// twoOrganisations has an admin of each of two organisations, ada and bob, and a
// member of both, eve.
func twoOrganisations(t *testing.T) (h *house, acme db.Organisation, ada, bob, eve db.User) {
	t.Helper()
	h = newHouse(t)
	acme, err := h.CreateOrganisation(t.Context(), h.by(), "acme", db.Business)
	if err != nil {
		t.Fatal(err)
	}
	ada = h.user("ada", db.Admin)
	if bob, err = h.CreateUser(t.Context(), db.Actor{Org: acme.Org, ID: "system"}, "bob", db.Admin, rightPassword); err != nil {
		t.Fatal(err)
	}
	eve = h.user("eve", db.Viewer)
	h.member("acme", "eve", db.Editor)
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
		"password":      func(by db.Actor) error { return h.SetPassword(ctx, by, eve.ID, rightPassword) },
		"second factor": func(by db.Actor) error { return h.RemoveSecondFactor(ctx, by, eve.ID) },
		"sessions":      func(by db.Actor) error { return h.SignOutEverywhere(ctx, by, eve.ID) },
	}
	for name, change := range actions {
		for _, by := range []db.Actor{{Org: h.org.Org, ID: ada.ID}, {Org: acme.Org, ID: bob.ID}} {
			want(t, name, change(by), db.Conflict, "", "also belongs to another organisation")
		}
	}
	want(t, "of no member", h.SetPassword(ctx, db.Actor{Org: h.org.Org, ID: ada.ID}, bob.ID, rightPassword), db.NotFound, "", "no such user")
	_, err := h.SetUserRole(ctx, db.Actor{Org: h.org.Org, ID: ada.ID}, bob.ID, db.Viewer)
	want(t, "the role of no member", err, db.NotFound, "", "no such user")
	want(t, "removing no member", h.RemoveUser(ctx, db.Actor{Org: h.org.Org, ID: ada.ID}, bob.ID), db.NotFound, "", "no such user")
	if h.ended(eves) {
		t.Fatal("a refused change ended a session")
	}
	h.member("acme", "ada", db.Admin)
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
	role := func() db.Role {
		t.Helper()
		s, err := h.Session(ctx, token)
		if err != nil {
			t.Fatal(err)
		}
		return s.User.Role
	}
	if got := role(); got != db.Viewer || s.Organisation.Name != "default" {
		t.Errorf("the session begins as %s in %s", got, s.Organisation.Name)
	}
	if err := h.SwitchOrganisation(ctx, s, "acme"); err != nil || role() != db.Editor {
		t.Errorf("in acme: %s, %v", role(), err)
	}
	want(t, "bob in default", h.SwitchOrganisation(ctx, func() db.Session { _, s := h.signIn("bob"); return s }(), "default"), db.NotFound, "", `no organisation is named "default"`)
	if _, err := h.SetUserRole(ctx, db.Actor{Org: h.org.Org, ID: ada.ID}, eve.ID, db.Auditor); err != nil || role() != db.Editor {
		t.Errorf("a role elsewhere changed that in acme to %s, %v", role(), err)
	}
	if err := h.RemoveUser(ctx, db.Actor{Org: acme.Org, ID: bob.ID}, eve.ID); err != nil || role() != "" {
		t.Errorf("the role after the end of the membership: %q, %v", role(), err)
	}
	s, _ = h.Session(ctx, token)
	want(t, "back to acme", h.SwitchOrganisation(ctx, s, "acme"), db.NotFound, "", `no organisation is named "acme"`)
	if err := h.SwitchOrganisation(ctx, s, "default"); err != nil || role() != db.Auditor {
		t.Errorf("in default: %s, %v", role(), err)
	}
	members, err := h.Members(ctx, eve)
	if diff := cmp.Diff([]db.Membership{{Organisation: "default", Role: db.Auditor}}, members[0].Organisations); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if err := h.RemoveUser(ctx, db.Actor{Org: h.org.Org, ID: ada.ID}, eve.ID); err != nil || !h.ended(token) {
		t.Errorf("after the last membership: %v, ended %v", err, h.ended(token))
	}
	_, err = h.AddMember(ctx, h.by(), "eve", db.Viewer)
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
	h.user("ada", db.Admin)
	token, _ := h.signIn("ada")
	names(t, h.path, "DELETE FROM memberships RETURNING role")
	if s, err := h.Session(t.Context(), token); err != nil || s.User.Role != "" {
		t.Errorf("the session has the role %q, %v", s.User.Role, err)
	}
	_, _, err := h.SignIn(t.Context(), db.SignInAttempt{Name: "ada", Password: rightPassword})
	want(t, "signing in", err, db.Unauthenticated, "", "not a member of an organisation")
	if _, _, err = h.SignIn(t.Context(), db.SignInAttempt{Name: "ada", Password: otherPassword}); err == nil || strings.Contains(err.Error(), "member") {
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
	if err := h.SwitchOrganisation(ctx, s, "acme"); err != nil {
		t.Fatal(err)
	}
	_, err := h.RemoveOrganisation(ctx, h.by(), "acme")
	want(t, "with bob", err, db.Conflict, "", "1 users of no other organisation")
	if err := h.RemoveAccount(ctx, h.by(), bob.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := h.RemoveOrganisation(ctx, h.by(), "acme"); err != nil {
		t.Fatal(err)
	}
	if s, err = h.Session(ctx, token); err != nil || s.Organisation.Name != "default" || s.User.Role != db.Viewer {
		t.Errorf("eve works on %s as %q, %v", s.Organisation.Name, s.User.Role, err)
	}
}

// TestMemberships_NewOrganisation checks that the user who adds an organisation
// becomes its admin, and that the operator does not.
func TestMemberships_NewOrganisation(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ada := h.user("ada", db.Admin)
	for name, by := range map[string]db.Actor{"hers": {Org: h.org.Org, ID: ada.ID}, "bare": h.by()} {
		if _, err := h.CreateOrganisation(t.Context(), by, name, db.Business); err != nil {
			t.Fatal(err)
		}
	}
	members, err := h.Members(t.Context(), ada)
	if diff := cmp.Diff([]db.Membership{{Organisation: "default", Role: db.Admin}, {Organisation: "hers", Role: db.Admin}}, members[0].Organisations); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestMemberships_FirstUser checks that the first admin is one everywhere.
func TestMemberships_FirstUser(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	if _, err := h.CreateOrganisation(t.Context(), h.by(), "acme", db.Business); err != nil {
		t.Fatal(err)
	}
	ada, err := h.CreateFirstUser(t.Context(), db.Actor{}, "ada", rightPassword)
	if err != nil {
		t.Fatal(err)
	}
	members, err := h.Members(t.Context(), ada)
	if diff := cmp.Diff([]db.Membership{{Organisation: "acme", Role: db.Admin}, {Organisation: "default", Role: db.Admin}}, members[0].Organisations); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestUpgrade_Users migrates a file of version 16 with users. They keep their
// roles in every organisation, their sessions, recovery codes and second factor.
func TestUpgrade_Users(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	unpack(t, "testdata/versions/v16.db.gz", path)
	const stamp = "2026-10-01T12:00:00.000Z"
	for _, statement := range []string{
		`INSERT INTO organisations (id, name, plan, subscription, created_at, updated_at) VALUES ('o2', 'acme', 'business', 'active', '` + stamp + `', '` + stamp + `') RETURNING id`,
		`INSERT INTO users (id, name, name_key, role, salt, password_hash, totp_secret, created_at, updated_at)
			SELECT column1, column2, column2, column3, zeroblob(16), zeroblob(32), column4, '` + stamp + `', '` + stamp + `'
			FROM (VALUES ('u1', 'ada', 'admin', zeroblob(20)), ('u2', 'bob', 'viewer', NULL)) RETURNING id`,
		"INSERT INTO recovery_codes (user_seq, hash) SELECT seq, randomblob(32) FROM users, (VALUES (1), (2), (3)) RETURNING user_seq",
		`INSERT INTO sessions (token_hash, user_seq, org_id, created_at, seen_at, expires_at)
			SELECT randomblob(32), u.seq, o.seq, '` + stamp + `', '` + stamp + `', '2099-01-01T00:00:00.000Z' FROM users u JOIN organisations o ON o.name = 'acme' RETURNING user_seq`,
	} {
		if len(names(t, path, statement)) == 0 {
			t.Fatal(statement)
		}
	}
	before := names(t, path, "SELECT hex(hash) FROM recovery_codes")
	sessions := names(t, path, "SELECT hex(token_hash) || org_id FROM sessions")
	store := handle(t, path, time.Minute)
	want := map[string]int{"ada acme admin": 1, "ada default admin": 1, "bob acme viewer": 1, "bob default viewer": 1}
	got := names(t, path, `SELECT u.name || ' ' || o.name || ' ' || m.role FROM memberships m JOIN users u ON u.seq = m.user_seq JOIN organisations o ON o.seq = m.org_id`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("memberships (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, names(t, path, "SELECT hex(hash) FROM recovery_codes")); diff != "" || len(before) != 6 {
		t.Errorf("%d recovery codes (-before +after):\n%s", len(before), diff)
	}
	if diff := cmp.Diff(sessions, names(t, path, "SELECT hex(token_hash) || org_id FROM sessions")); diff != "" || len(sessions) != 2 {
		t.Errorf("%d sessions (-before +after):\n%s", len(sessions), diff)
	}
	ada, err := store.UserByName(t.Context(), 0, "ada")
	if err != nil || !ada.SecondFactor || ada.RecoveryCodes != 3 || ada.Role != db.Admin {
		t.Errorf("ada is %+v, %v", ada, err)
	}
	if faults, err := store.Faults(t.Context(), true); len(faults) > 0 || err != nil {
		t.Error(faults, err)
	}
}
