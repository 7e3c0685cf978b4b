package auth_test

import (
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/auth"
)

// sessions counts those that are stored.
func (h *house) sessions() int {
	h.t.Helper()
	return len(names(h.t, h.path, "SELECT hex(token_hash) FROM sessions"))
}

// TestSessionEnds: a session ends when it was not used for two hours, and
// after twelve however busy it is.
func TestSessionEnds(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.user("ada", auth.Admin)
	busy, _ := h.signIn("ada")
	idle, _ := h.signIn("ada")
	h.pass(auth.SessionIdle - time.Millisecond)
	if h.ended(busy) {
		t.Error("it ended before two hours were over")
	}
	h.reopen() // by then it is stored that it was used
	h.pass(time.Millisecond)
	if !h.ended(idle) || h.ended(busy) {
		t.Errorf("after two hours: idle ended %v, busy ended %v", h.ended(idle), h.ended(busy))
	}
	for range 6 {
		if h.ended(busy) {
			t.Fatal("the busy session ended")
		}
		h.reopen()
		h.pass(90 * time.Minute)
	}
	if h.ended(busy) {
		t.Fatal("the busy session ended")
	}
	h.reopen()
	h.pass(time.Hour - time.Millisecond)
	if h.ended(busy) {
		t.Error("it ended before twelve hours were over")
	}
	h.pass(time.Millisecond)
	if !h.ended(busy) {
		t.Error("it goes on after twelve hours")
	}
	h.told(1, `user.signed_in authentication 3: ada on user ada null`, `user.signed_in authentication 3: ada on user ada null`)
}

// TestSessionSeen: that a session was used is stored to the minute.
func TestSessionSeen(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.user("ada", auth.Admin)
	token, s := h.signIn("ada")
	for _, row := range []struct {
		after time.Duration
		seen  time.Duration
	}{{0, 0}, {59 * time.Second, 0}, {time.Second, time.Minute}, {30 * time.Second, time.Minute}, {time.Hour, 90*time.Second + time.Hour}} {
		h.pass(row.after)
		if h.ended(token) {
			t.Fatal("it ended")
		}
		h.reopen()
		got, err := h.auth.Sessions.ByToken(t.Context(), token)
		if want := db.Timestamp(at.Add(row.seen)); err != nil || got.SeenAt != want {
			t.Errorf("seen at %s, %v, want %s", got.SeenAt, err, want)
		}
		if got.CreatedAt != s.CreatedAt || got.ExpiresAt != s.ExpiresAt {
			t.Errorf("the session is %+v, was %+v", got, s)
		}
	}
}

func TestSweepSessions(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.user("ada", auth.Admin)
	h.signIn("ada")
	h.pass(time.Hour)
	used, _ := h.signIn("ada")
	for _, row := range []struct {
		pass time.Duration
		want int
	}{{0, 2}, {time.Hour - time.Millisecond, 2}, {time.Millisecond, 1}, {time.Hour, 0}} {
		h.pass(row.pass)
		if err := h.auth.Sessions.Sweep(t.Context()); err != nil || h.sessions() != row.want {
			t.Errorf("%d sessions are left, %v, want %d", h.sessions(), err, row.want)
		}
	}
	if !h.ended(used) {
		t.Error("a session without a row")
	}
}

// TestFalseTokens: nothing but a whole token opens a session.
func TestFalseTokens(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.user("ada", auth.Admin)
	token, s := h.signIn("ada")
	flipped := []byte(token)
	flipped[0] ^= 1
	for _, false := range []string{"", token[:42], token + "=", token + "A", string(flipped), strings.ToLower(token), strings.Repeat("A", 43), strings.Repeat("A", 1<<20), "\x00"} {
		if !h.ended(false) {
			t.Errorf("%.50q opens a session", false)
		}
	}
	hash := "x"
	for stored := range names(t, h.path, "SELECT CAST(token_hash AS TEXT) FROM sessions") {
		hash = stored
	}
	if !h.ended(hash) {
		t.Error("what is stored opens a session")
	}
	if h.ended(token) || s.Actor().ID != s.User.ID || s.Actor().Org != h.org.Org {
		t.Errorf("the session is %+v", s)
	}
	// a session that nobody has signed in to
	if err := h.auth.Sessions.SignOut(t.Context(), auth.Session{}); err != nil || h.ended(token) {
		t.Errorf("signing out of no session: %v", err)
	}
	_, err := h.auth.Account.BeginSecondFactor(t.Context(), auth.Session{})
	want(t, "a second factor of nobody", err, db.Unauthenticated, "", "sign in again")
}

// TestSessionsOfUsers: a session knows its user as it is now.
func TestSessionsOfUsers(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	h.user("ada", auth.Admin)
	bob := h.user("bob", auth.Editor)
	adas, s := h.signIn("ada")
	bobs, _ := h.signIn("bob")
	second, _ := h.signIn("bob")
	if _, err := h.auth.Memberships.SetRole(ctx, s.Actor(), bob.ID, auth.Viewer); err != nil {
		t.Fatal(err)
	}
	if got, err := h.auth.Sessions.ByToken(ctx, bobs); err != nil || got.User.Role != auth.Viewer {
		t.Errorf("bob's session is %+v, %v", got, err)
	}
	before := len(h.log())
	if err := h.auth.Sessions.SignOutEverywhere(ctx, s.Actor(), bob.ID); err != nil || !h.ended(bobs) || !h.ended(second) || h.ended(adas) {
		t.Errorf("%v; ended: bob's %v and %v, ada's %v", err, h.ended(bobs), h.ended(second), h.ended(adas))
	}
	if err := h.auth.Sessions.SignOutEverywhere(ctx, s.Actor(), bob.ID); err != nil { // again, which changes nothing
		t.Error(err)
	}
	bobs, _ = h.signIn("bob")
	if err := h.auth.Memberships.Remove(ctx, s.Actor(), bob.ID); err != nil || !h.ended(bobs) || h.sessions() != 1 {
		t.Errorf("bob is removed: %v, ended %v, %d sessions", err, h.ended(bobs), h.sessions())
	}
	h.told(
		before,
		`user.signed_out authentication 3: ada on user bob {"sessions_ended":2}`,
		`user.signed_in authentication 3: bob on user bob null`,
		`user.removed authorization 6: ada on user bob {"account_removed":true,"changes":{"role":{"from":"viewer","to":null}},"name":"bob"}`,
	)
}

func TestSwitchOrganisation(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	if _, err := h.auth.Memberships.CreateOrganisation(ctx, db.Actor{ID: "system"}, "acme", db.Business); err != nil {
		t.Fatal(err)
	}
	h.user("ada", auth.Admin)
	h.member("acme", "ada", auth.Viewer)
	token, s := h.signIn("ada")
	want(t, "nobody's", h.auth.Sessions.SwitchOrganisation(ctx, s, "nobody"), db.NotFound, "", `no organisation is named "nobody"`)
	for range 2 { // again changes nothing
		if err := h.auth.Sessions.SwitchOrganisation(ctx, s, "acme"); err != nil {
			t.Fatal(err)
		}
		s, _ = h.auth.Sessions.ByToken(ctx, token)
		if s.Organisation.Name != "acme" || s.Organisation.Plan != db.Business {
			t.Errorf("the session works on %+v", s.Organisation)
		}
	}
	if _, other := h.signIn("ada"); other.Organisation.Name != db.DefaultOrganisation {
		t.Errorf("another session works on %+v", other.Organisation)
	}
	h.org = s.Organisation
	h.told(
		3, // organisation.created, user.added, user.signed_in
		`user.organisation_entered data_access 1:  on user  {"from":"`+defaultOrg(t, h.DB).ID+`"}`,
		`user.signed_in authentication 3:  on user  null`,
	)
	if err := h.auth.Sessions.SignOut(ctx, s); err != nil {
		t.Fatal(err)
	}
	want(t, "after the end", h.auth.Sessions.SwitchOrganisation(ctx, s, db.DefaultOrganisation), db.Unauthenticated, "", "sign in again")
}

// TestManySessions: the oldest give way to what a user begins.
func TestManySessions(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.user("ada", auth.Admin)
	h.user("bob", auth.Admin)
	bobs, _ := h.signIn("bob")
	var tokens []string
	for range 22 {
		token, _ := h.signIn("ada")
		tokens = append(tokens, token)
		h.pass(time.Second)
	}
	for i, token := range tokens {
		if h.ended(token) != (i < 2) {
			t.Errorf("session %d of 22: ended %v", i, h.ended(token))
		}
	}
	if h.ended(bobs) {
		t.Error("another user's session gave way")
	}
}
