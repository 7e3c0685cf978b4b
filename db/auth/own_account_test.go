package auth_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/auth"
)

// renew replaces the session by that of the new token, as a browser does.
func (f *fixture) renew(s *auth.Session, token string, err error) error {
	f.t.Helper()
	if err != nil {
		if token != "" {
			f.t.Errorf("got a token with error %v", err)
		}
		return err
	}
	renewed, err := f.Sessions.ByToken(f.t.Context(), token)
	if err != nil {
		f.t.Fatal(err)
	}
	if !renewed.Fresh(f.clock.Now()) {
		f.t.Error("the renewed session is not confirmed")
	}
	*s = renewed
	return nil
}

func (f *fixture) changePassword(s *auth.Session, current, next string) error {
	f.t.Helper()
	token, err := f.Account.ChangePassword(f.t.Context(), s.Actor(), *s, current, next)
	return f.renew(s, token, err)
}

func (f *fixture) removeFactor(s *auth.Session, code string) error {
	f.t.Helper()
	token, err := f.Account.RemoveSecondFactor(f.t.Context(), *s, code)
	return f.renew(s, token, err)
}

func (f *fixture) confirmFactor(s *auth.Session, code string) ([]string, error) {
	f.t.Helper()
	codes, token, err := f.Account.ConfirmSecondFactor(f.t.Context(), *s, code)
	return codes, f.renew(s, token, err)
}

// TestAccount_RenewsSession checks that a change of the password or of the second
// factor gives the session another token and ends the other sessions of the user.
func TestAccount_RenewsSession(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ada := f.addUser("ada", auth.Admin)
	f.addUser("bob", auth.Viewer)
	bobs, _ := f.signIn("bob")
	token, s := f.signIn("ada")
	var key authenticator
	password := rightPassword
	for _, row := range []struct {
		name   string
		change func() error
	}{
		{"a new password", func() error { password = otherPassword; return f.changePassword(&s, rightPassword, otherPassword) }},
		{"a second factor", func() error { key, _ = f.enableSecondFactor(&s); return nil }},
		{"no second factor", func() error { f.clock.Advance(time.Minute); return f.removeFactor(&s, key.code(f.clock.Now())) }},
	} {
		other, _, err := f.Sessions.SignIn(t.Context(), auth.SignInAttempt{Name: "ada", Password: password})
		if row.name == "no second factor" {
			f.clock.Advance(time.Minute)
			other, _, err = f.Sessions.SignIn(t.Context(), auth.SignInAttempt{Name: "ada", Password: password, Code: key.code(f.clock.Now())})
		}
		if row.name == "a new password" {
			other, _, err = f.Sessions.SignIn(t.Context(), auth.SignInAttempt{Name: "ada", Password: rightPassword})
		}
		if err != nil {
			t.Fatal(row.name, err)
		}
		before := s.ID()
		if err := row.change(); err != nil {
			t.Fatal(row.name, err)
		}
		if !f.ended(token) || !f.ended(other) || f.ended(bobs) || s.ID() == before {
			t.Errorf("%s: ended: its token %v, the other session %v, bob's %v", row.name, f.ended(token), f.ended(other), f.ended(bobs))
		}
		token = "" // only s knows that of the renewed session
		if all, err := f.Sessions.List(t.Context(), ada.ID); err != nil || len(all) != 1 || all[0].ID() != s.ID() {
			t.Errorf("%s: got %d sessions, %v, want the renewed one", row.name, len(all), err)
		}
	}
}

// TestAccount_Confirm checks that a password or a code is fresh for ten minutes.
// Attempts are limited, and the audit log records them.
func TestAccount_Confirm(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	f.addUser("ada", auth.Admin)
	token, s := f.signIn("ada")
	session := func() auth.Session {
		t.Helper()
		s, err := f.Sessions.ByToken(ctx, token)
		if err != nil {
			t.Fatal(err)
		}
		return s.From("192.0.2.7", "req_x")
	}
	f.clock.Advance(auth.ConfirmedFor - time.Millisecond)
	if !session().Fresh(f.clock.Now()) {
		t.Error("a sign-in is not fresh for ten minutes")
	}
	f.clock.Advance(time.Millisecond)
	if session().Fresh(f.clock.Now()) {
		t.Error("a sign-in is fresh after ten minutes")
	}
	before := len(f.events())
	err := f.Account.Confirm(ctx, session().Actor(), session(), "wrong")
	wantError(t, "a wrong password", err, db.Invalid, "secret", "this is not your password")
	if session().Fresh(f.clock.Now()) {
		t.Error("a wrong password confirms")
	}
	if err := f.Account.Confirm(ctx, session().Actor(), session(), rightPassword); err != nil || !session().Fresh(f.clock.Now()) {
		t.Errorf("the right password: %v, fresh %v", err, session().Fresh(f.clock.Now()))
	}
	s = session()
	key, _ := f.enableSecondFactor(&s)
	f.clock.Advance(auth.ConfirmedFor)
	wantError(t, "the password where a code is on", f.Account.Confirm(ctx, s.Actor(), s, rightPassword), db.Invalid, "secret", "this code is wrong")
	if err := f.Account.Confirm(ctx, s.Actor(), s, key.code(f.clock.Now())); err != nil {
		t.Errorf("the code: %v", err)
	}
	f.wantEvents(
		before,
		`user.check_refused authentication 5: ada on user ada {"address":"192.0.2.7","reason":"wrong_password","request_id":"req_x"}`,
		`user.confirmed authentication 3: ada on user ada {"address":"192.0.2.7","method":"password","request_id":"req_x"}`,
		`user.second_factor_added authentication 5: ada on user ada {"address":"192.0.2.7","request_id":"req_x","sessions_ended":0}`,
		codeRefused("ada"),
		`user.confirmed authentication 3: ada on user ada {"method":"code"}`,
	)
	f.clock.Advance(2 * time.Hour)
	for i := range 5 {
		token, s, err := f.Sessions.SignIn(ctx, auth.SignInAttempt{Name: "ada", Password: rightPassword, Code: key.code(f.clock.Now()), Address: fmt.Sprint(i)})
		if err != nil || token == "" {
			t.Fatal(err)
		}
		f.clock.Advance(time.Minute)
		wantError(t, "a guess", f.Account.Confirm(ctx, s.Actor(), s, "000000"), db.Invalid, "secret", "is wrong")
		if i == 0 {
			for range 4 {
				wantError(t, "a guess", f.Account.Confirm(ctx, s.Actor(), s, "000000"), db.Invalid, "secret", "is wrong")
			}
			wantError(t, "the sixth attempt", f.Account.Confirm(ctx, s.Actor(), s, key.code(f.clock.Now())), db.Throttled, "", "wait")
			return
		}
	}
}

// TestSessions_End checks that a user lists the own sessions and ends one or all others.
func TestSessions_End(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	ada := f.addUser("ada", auth.Admin)
	f.addUser("bob", auth.Viewer)
	bobs, bob := f.signIn("bob")
	var tokens []string
	for i, browser := range []string{"Firefox", strings.Repeat("x", 1000), "\xff<script>"} {
		f.clock.Advance(time.Second)
		token, _, err := f.Sessions.SignIn(ctx, auth.SignInAttempt{Name: "ada", Password: rightPassword, Address: fmt.Sprint("192.0.2.", i), Browser: browser})
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, token)
	}
	first, err := f.Sessions.ByToken(ctx, tokens[0])
	if err != nil {
		t.Fatal(err)
	}
	first = first.From("198.51.100.1", "")
	all, err := f.Sessions.List(ctx, ada.ID)
	if err != nil || len(all) != 3 || all[0].Browser != "<script>" || len(all[1].Browser) != 300 || all[2].Address != "192.0.2.0" || all[2].Browser != "Firefox" {
		t.Fatalf("the sessions are %+v, %v", all, err)
	}
	before := len(f.events())
	wantError(t, "its own", f.Sessions.End(ctx, first, first.ID()), db.Conflict, "", "sign out to end it")
	wantError(t, "bob's", f.Sessions.End(ctx, first, bob.ID()), db.NotFound, "", "has ended already")
	wantError(t, "none", f.Sessions.End(ctx, first, ""), db.NotFound, "", "has ended already")
	if err := f.Sessions.End(ctx, first, all[0].ID()); err != nil || !f.ended(tokens[2]) || f.ended(tokens[1]) {
		t.Errorf("one: %v", err)
	}
	if n, err := f.Sessions.EndOthers(ctx, first); err != nil || n != 1 || !f.ended(tokens[1]) || f.ended(tokens[0]) || f.ended(bobs) {
		t.Errorf("the others: %d, %v", n, err)
	}
	added := f.events()[before:]
	if len(added) != 2 || !strings.Contains(added[0], `user.session_ended authentication 3: ada on user ada {"address":"198.51.100.1","browser":"`) ||
		!strings.Contains(added[0], `"session_address":"192.0.2.2","started_at":"`) || !strings.Contains(added[1], `"session_address":"192.0.2.1"`) {
		t.Errorf("got audit events %q", added)
	}
}
