package auth_test

import (
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/auth"
	"govsvc/internal/testkit"
	"govsvc/internal/testkit/testdb"
)

// countSessions returns how many sessions the file has.
func (f *fixture) countSessions() int {
	f.t.Helper()
	return len(testkit.CountSQL(f.t, f.path, "SELECT hex(token_hash) FROM sessions"))
}

// TestSessions_Expire checks that a session ends after two hours without a request, and
// after twelve hours in any case.
func TestSessions_Expire(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addUser("ada", auth.Admin)
	busy, _ := f.signIn("ada")
	idle, _ := f.signIn("ada")
	f.clock.Advance(auth.SessionIdle - time.Millisecond)
	if f.ended(busy) {
		t.Error("the session ended before two hours were over")
	}
	f.reopen() // waits until the last use of the session is stored
	f.clock.Advance(time.Millisecond)
	if !f.ended(idle) || f.ended(busy) {
		t.Errorf("after two hours: idle ended %v, busy ended %v", f.ended(idle), f.ended(busy))
	}
	for range 6 {
		if f.ended(busy) {
			t.Fatal("the busy session ended")
		}
		f.reopen()
		f.clock.Advance(90 * time.Minute)
	}
	if f.ended(busy) {
		t.Fatal("the busy session ended")
	}
	f.reopen()
	f.clock.Advance(time.Hour - time.Millisecond)
	if f.ended(busy) {
		t.Error("the session ended before twelve hours were over")
	}
	f.clock.Advance(time.Millisecond)
	if !f.ended(busy) {
		t.Error("the session continues after twelve hours")
	}
	f.wantEvents(1, signedIn("ada", "null"), signedIn("ada", "null"))
}

// TestSessions_LastSeen checks that the last use of a session is stored to the minute.
func TestSessions_LastSeen(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addUser("ada", auth.Admin)
	token, s := f.signIn("ada")
	for _, row := range []struct {
		after time.Duration
		seen  time.Duration
	}{{0, 0}, {59 * time.Second, 0}, {time.Second, time.Minute}, {30 * time.Second, time.Minute}, {time.Hour, 90*time.Second + time.Hour}} {
		f.clock.Advance(row.after)
		if f.ended(token) {
			t.Fatal("the session ended")
		}
		f.reopen()
		got, err := f.Sessions.ByToken(t.Context(), token)
		if want := db.Timestamp(testkit.Start.Add(row.seen)); err != nil || got.SeenAt != want {
			t.Errorf("got last use %s, %v, want %s", got.SeenAt, err, want)
		}
		if got.CreatedAt != s.CreatedAt || got.ExpiresAt != s.ExpiresAt {
			t.Errorf("got session %+v, want the times of %+v", got, s)
		}
	}
}

func TestSessions_Sweep(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addUser("ada", auth.Admin)
	f.signIn("ada")
	f.clock.Advance(time.Hour)
	used, _ := f.signIn("ada")
	for _, row := range []struct {
		pass time.Duration
		want int
	}{{0, 2}, {time.Hour - time.Millisecond, 2}, {time.Millisecond, 1}, {time.Hour, 0}} {
		f.clock.Advance(row.pass)
		if err := f.Sessions.Sweep(t.Context()); err != nil || f.countSessions() != row.want {
			t.Errorf("got %d sessions, %v, want %d", f.countSessions(), err, row.want)
		}
	}
	if !f.ended(used) {
		t.Error("a session continues after it was removed")
	}
}

// TestSessions_WrongToken checks that only the complete token opens a session.
func TestSessions_WrongToken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addUser("ada", auth.Admin)
	token, s := f.signIn("ada")
	flipped := []byte(token)
	flipped[0] ^= 1
	for _, wrong := range []string{"", token[:42], token + "=", token + "A", string(flipped), strings.ToLower(token), strings.Repeat("A", 43), strings.Repeat("A", 1<<20), "\x00"} {
		if !f.ended(wrong) {
			t.Errorf("%.50q opens a session", wrong)
		}
	}
	hash := "x"
	for stored := range testkit.CountSQL(t, f.path, "SELECT CAST(token_hash AS TEXT) FROM sessions") {
		hash = stored
	}
	if !f.ended(hash) {
		t.Error("the stored hash opens a session")
	}
	if f.ended(token) || s.Actor().ID != s.User.ID || s.Actor().Org != f.org.Org {
		t.Errorf("the session is %+v", s)
	}
	// the zero session, of a client that has not signed in
	if err := f.Sessions.SignOut(t.Context(), auth.Session{}); err != nil || f.ended(token) {
		t.Errorf("signing out without a session: %v", err)
	}
	_, err := f.Account.BeginSecondFactor(t.Context(), auth.Session{})
	wantError(t, "a second factor without a session", err, db.Unauthenticated, "", "sign in again")
}

// TestSessions_PresentUser checks that a session has the present role of its user, and
// ends when the user is signed out or removed.
func TestSessions_PresentUser(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	f.addUser("ada", auth.Admin)
	bob := f.addUser("bob", auth.Editor)
	adas, s := f.signIn("ada")
	bobs, _ := f.signIn("bob")
	second, _ := f.signIn("bob")
	if _, err := f.Memberships.SetRole(ctx, s.Actor(), bob.ID, auth.Viewer); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Sessions.ByToken(ctx, bobs); err != nil || got.User.Role != auth.Viewer {
		t.Errorf("got session %+v, %v, want the role viewer", got, err)
	}
	before := len(f.events())
	if err := f.Sessions.SignOutEverywhere(ctx, s.Actor(), bob.ID); err != nil || !f.ended(bobs) || !f.ended(second) || f.ended(adas) {
		t.Errorf("%v; ended: bob's %v and %v, ada's %v", err, f.ended(bobs), f.ended(second), f.ended(adas))
	}
	if err := f.Sessions.SignOutEverywhere(ctx, s.Actor(), bob.ID); err != nil { // changes nothing
		t.Error(err)
	}
	bobs, _ = f.signIn("bob")
	if err := f.Memberships.Remove(ctx, s.Actor(), bob.ID); err != nil || !f.ended(bobs) || f.countSessions() != 1 {
		t.Errorf("after the removal: %v, ended %v, %d sessions", err, f.ended(bobs), f.countSessions())
	}
	f.wantEvents(
		before,
		`user.signed_out authentication 3: ada on user bob {"sessions_ended":2}`,
		signedIn("bob", "null"),
		`user.removed authorization 6: ada on user bob {"account_removed":true,"changes":{"role":{"from":"viewer","to":null}},"name":"bob"}`,
	)
}

func TestSessions_SwitchOrganisation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	if _, err := f.Memberships.CreateOrganisation(ctx, operator, "acme", db.Business); err != nil {
		t.Fatal(err)
	}
	f.addUser("ada", auth.Admin)
	f.addMember("acme", "ada", auth.Viewer)
	token, s := f.signIn("ada")
	wantError(t, "an unknown organisation", f.Sessions.SwitchOrganisation(ctx, s, "unknown"), db.NotFound, "", `no organisation is named "unknown"`)
	for range 2 { // the second time changes nothing
		if err := f.Sessions.SwitchOrganisation(ctx, s, "acme"); err != nil {
			t.Fatal(err)
		}
		s, _ = f.Sessions.ByToken(ctx, token)
		if s.Organisation.Name != "acme" || s.Organisation.Plan != db.Business {
			t.Errorf("got organisation %+v, want acme", s.Organisation)
		}
	}
	if _, other := f.signIn("ada"); other.Organisation.Name != db.DefaultOrganisation {
		t.Errorf("got organisation %+v for another session, want the default one", other.Organisation)
	}
	f.org = s.Organisation
	f.wantEvents(
		3, // organisation.created, user.added, user.signed_in
		`user.organisation_entered data_access 1:  on user  {"from":"`+testdb.DefaultOrg(t, f.store).ID+`"}`,
		`user.signed_in authentication 3:  on user  null`,
	)
	if err := f.Sessions.SignOut(ctx, s); err != nil {
		t.Fatal(err)
	}
	wantError(t, "after the end", f.Sessions.SwitchOrganisation(ctx, s, db.DefaultOrganisation), db.Unauthenticated, "", "sign in again")
}

// TestSessions_Limit checks that a new session ends the oldest ones of the same user only.
func TestSessions_Limit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addUser("ada", auth.Admin)
	f.addUser("bob", auth.Admin)
	bobs, _ := f.signIn("bob")
	var tokens []string
	for range 22 {
		token, _ := f.signIn("ada")
		tokens = append(tokens, token)
		f.clock.Advance(time.Second)
	}
	for i, token := range tokens {
		if f.ended(token) != (i < 2) {
			t.Errorf("session %d of 22: ended %v", i, f.ended(token))
		}
	}
	if f.ended(bobs) {
		t.Error("the session of another user ended")
	}
}

// TestSessions_ClockChanges checks sessions while the clock changes. A session continues
// when the clock is set back and ends when the clock passes its end. A swept session
// stays ended.
func TestSessions_ClockChanges(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addUser("ada", auth.Admin)
	token, _ := f.signIn("ada")
	f.clock.Advance(-365 * 24 * time.Hour)
	if f.ended(token) {
		t.Error("the session ended when the clock was set back")
	}
	f.clock.Advance(365*24*time.Hour + auth.SessionLife)
	if !f.ended(token) {
		t.Error("the session continues past its end")
	}
	if err := f.Sessions.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.clock.Advance(-auth.SessionLife)
	if !f.ended(token) {
		t.Error("a swept session continues")
	}
}
