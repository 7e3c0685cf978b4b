package auth_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"govsvc/db"
	"govsvc/db/auth"
)

// renew goes on with the session of a new token, as a browser does.
func (h *house) renew(s *auth.Session, token string, err error) error {
	h.t.Helper()
	if err != nil {
		if token != "" {
			h.t.Errorf("a token is returned with %v", err)
		}
		return err
	}
	renewed, err := h.auth.Sessions.ByToken(h.t.Context(), token)
	if err != nil {
		h.t.Fatal(err)
	}
	if !renewed.Fresh(h.now()) {
		h.t.Error("the renewed session is not confirmed")
	}
	*s = renewed
	return nil
}

func (h *house) changePassword(s *auth.Session, current, next string) error {
	h.t.Helper()
	token, err := h.auth.Account.ChangePassword(h.t.Context(), s.Actor(), *s, current, next)
	return h.renew(s, token, err)
}

func (h *house) removeFactor(s *auth.Session, code string) error {
	h.t.Helper()
	token, err := h.auth.Account.RemoveSecondFactor(h.t.Context(), *s, code)
	return h.renew(s, token, err)
}

func (h *house) confirmFactor(s *auth.Session, code string) ([]string, error) {
	h.t.Helper()
	codes, token, err := h.auth.Account.ConfirmSecondFactor(h.t.Context(), *s, code)
	return codes, h.renew(s, token, err)
}

// TestSessionRenewal: a change of the password or of the second factor gives
// the session another token and ends all others of the user.
func TestSessionRenewal(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ada := h.user("ada", auth.Admin)
	h.user("bob", auth.Viewer)
	bobs, _ := h.signIn("bob")
	token, s := h.signIn("ada")
	var key app
	password := rightPassword
	for _, row := range []struct {
		name   string
		change func() error
	}{
		{"a new password", func() error { password = otherPassword; return h.changePassword(&s, rightPassword, otherPassword) }},
		{"a second factor", func() error { key, _ = h.enrol(&s); return nil }},
		{"no second factor", func() error { h.pass(time.Minute); return h.removeFactor(&s, key.code(h.now())) }},
	} {
		other, _, err := h.auth.Sessions.SignIn(t.Context(), auth.SignInAttempt{Name: "ada", Password: password})
		if row.name == "no second factor" {
			h.pass(time.Minute)
			other, _, err = h.auth.Sessions.SignIn(t.Context(), auth.SignInAttempt{Name: "ada", Password: password, Code: key.code(h.now())})
		}
		if row.name == "a new password" {
			other, _, err = h.auth.Sessions.SignIn(t.Context(), auth.SignInAttempt{Name: "ada", Password: rightPassword})
		}
		if err != nil {
			t.Fatal(row.name, err)
		}
		before := s.ID()
		if err := row.change(); err != nil {
			t.Fatal(row.name, err)
		}
		if !h.ended(token) || !h.ended(other) || h.ended(bobs) || s.ID() == before {
			t.Errorf("%s: ended: its token %v, the other session %v, bob's %v", row.name, h.ended(token), h.ended(other), h.ended(bobs))
		}
		token = "" // of the renewed session, which is known by s alone
		if all, err := h.auth.Sessions.List(t.Context(), ada.ID); err != nil || len(all) != 1 || all[0].ID() != s.ID() {
			t.Errorf("%s: %d sessions are left, %v", row.name, len(all), err)
		}
	}
}

// TestConfirmSession: a password or a code is fresh for ten minutes. Tries are
// throttled and told to the audit log.
func TestConfirmSession(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	h.user("ada", auth.Admin)
	token, s := h.signIn("ada")
	session := func() auth.Session {
		t.Helper()
		s, err := h.auth.Sessions.ByToken(ctx, token)
		if err != nil {
			t.Fatal(err)
		}
		return s.From("192.0.2.7", "req_x")
	}
	h.pass(auth.ConfirmedFor - time.Millisecond)
	if !session().Fresh(h.now()) {
		t.Error("a sign-in is not fresh for ten minutes")
	}
	h.pass(time.Millisecond)
	if session().Fresh(h.now()) {
		t.Error("a sign-in is fresh after ten minutes")
	}
	before := len(h.log())
	err := h.auth.Account.Confirm(ctx, session().Actor(), session(), "wrong")
	want(t, "a wrong password", err, db.Invalid, "secret", "this is not your password")
	if session().Fresh(h.now()) {
		t.Error("a wrong password confirms")
	}
	if err := h.auth.Account.Confirm(ctx, session().Actor(), session(), rightPassword); err != nil || !session().Fresh(h.now()) {
		t.Errorf("the right password: %v, fresh %v", err, session().Fresh(h.now()))
	}
	s = session()
	key, _ := h.enrol(&s)
	h.pass(auth.ConfirmedFor)
	want(t, "the password where a code is on", h.auth.Account.Confirm(ctx, s.Actor(), s, rightPassword), db.Invalid, "secret", "this code is wrong")
	if err := h.auth.Account.Confirm(ctx, s.Actor(), s, key.code(h.now())); err != nil {
		t.Errorf("the code: %v", err)
	}
	h.told(
		before,
		`user.check_refused authentication 5: ada on user ada {"address":"192.0.2.7","reason":"wrong_password","request_id":"req_x"}`,
		`user.confirmed authentication 3: ada on user ada {"address":"192.0.2.7","method":"password","request_id":"req_x"}`,
		`user.second_factor_added authentication 5: ada on user ada {"address":"192.0.2.7","request_id":"req_x","sessions_ended":0}`,
		`user.check_refused authentication 5: ada on user ada {"reason":"wrong_code"}`,
		`user.confirmed authentication 3: ada on user ada {"method":"code"}`,
	)
	h.pass(2 * time.Hour)
	for i := range 5 {
		token, s, err := h.auth.Sessions.SignIn(ctx, auth.SignInAttempt{Name: "ada", Password: rightPassword, Code: key.code(h.now()), Address: fmt.Sprint(i)})
		if err != nil || token == "" {
			t.Fatal(err)
		}
		h.pass(time.Minute)
		want(t, "a guess", h.auth.Account.Confirm(ctx, s.Actor(), s, "000000"), db.Invalid, "secret", "is wrong")
		if i == 0 {
			for range 4 {
				want(t, "a guess", h.auth.Account.Confirm(ctx, s.Actor(), s, "000000"), db.Invalid, "secret", "is wrong")
			}
			want(t, "the sixth try", h.auth.Account.Confirm(ctx, s.Actor(), s, key.code(h.now())), db.Throttled, "", "wait")
			return
		}
	}
}

// TestEndSessions: a user sees its sessions and ends one of them or all others.
func TestEndSessions(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx := t.Context()
	ada := h.user("ada", auth.Admin)
	h.user("bob", auth.Viewer)
	bobs, bob := h.signIn("bob")
	var tokens []string
	for i, browser := range []string{"Firefox", strings.Repeat("x", 1000), "\xff<script>"} {
		h.pass(time.Second)
		token, _, err := h.auth.Sessions.SignIn(ctx, auth.SignInAttempt{Name: "ada", Password: rightPassword, Address: fmt.Sprint("192.0.2.", i), Browser: browser})
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, token)
	}
	first, err := h.auth.Sessions.ByToken(ctx, tokens[0])
	if err != nil {
		t.Fatal(err)
	}
	first = first.From("198.51.100.1", "")
	all, err := h.auth.Sessions.List(ctx, ada.ID)
	if err != nil || len(all) != 3 || all[0].Browser != "<script>" || len(all[1].Browser) != 300 || all[2].Address != "192.0.2.0" || all[2].Browser != "Firefox" {
		t.Fatalf("the sessions are %+v, %v", all, err)
	}
	before := len(h.log())
	want(t, "its own", h.auth.Sessions.End(ctx, first, first.ID()), db.Conflict, "", "sign out to end it")
	want(t, "bob's", h.auth.Sessions.End(ctx, first, bob.ID()), db.NotFound, "", "has ended already")
	want(t, "none", h.auth.Sessions.End(ctx, first, ""), db.NotFound, "", "has ended already")
	if err := h.auth.Sessions.End(ctx, first, all[0].ID()); err != nil || !h.ended(tokens[2]) || h.ended(tokens[1]) {
		t.Errorf("one: %v", err)
	}
	if n, err := h.auth.Sessions.EndOthers(ctx, first); err != nil || n != 1 || !h.ended(tokens[1]) || h.ended(tokens[0]) || h.ended(bobs) {
		t.Errorf("the others: %d, %v", n, err)
	}
	told := h.log()[before:]
	if len(told) != 2 || !strings.Contains(told[0], `user.session_ended authentication 3: ada on user ada {"address":"198.51.100.1","browser":"`) ||
		!strings.Contains(told[0], `"session_address":"192.0.2.2","started_at":"`) || !strings.Contains(told[1], `"session_address":"192.0.2.1"`) {
		t.Errorf("the audit log tells %q", told)
	}
}
